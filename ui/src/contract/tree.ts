// Reads the live tree, what stands beside it, and the text log. The rules are
// those of guards.ts.

import type { Alarm, HouseFacts, LogLines, OpsEvent, WindowFacts } from './gen'
import { alarmKindValues, clientValues, opsWhatValues } from './gen'
import { bool, isRecord, list, num, oneOf, readSidecar, rec, str } from './guards'
import type { SidecarStatus } from './model'

/** A node of the tree as the page keeps it. Source: interface.md 6. */
export interface TreeNode {
  pid: string
  name: string
  kind: 'application' | 'supervisor' | 'actor' | 'meta'
  behavior: string
  state: string
  uptimeSeconds: number
  mailbox: number
  mailboxMax: number
  messagesIn: number
  messagesOut: number
  restarts: number
  restartsInWindow: number
  windowSeconds: number
  /** 0 where nothing counts restarts. */
  maxRestarts: number
  limitReached: boolean
  links: number
  monitors: number
  lastReason: string
  rates: { everySeconds: number; in: number[]; out: number[]; mailbox: number[] } | undefined
  alarms: string[]
  detail: Record<string, unknown>
  children: TreeNode[]
}

export interface House extends Omit<HouseFacts, 'sidecar'> {
  sidecar: SidecarStatus
}

export interface Tree {
  bootId: string
  time: string
  root: TreeNode
  house: House | undefined
  /** The answer as it came, for whoever wants to keep it. */
  raw: unknown
}

const numbers = (v: unknown): number[] => list(v).map(num)
const nodeKinds = ['application', 'supervisor', 'actor', 'meta'] as const

function readNode(v: unknown): TreeNode {
  const r = rec(v)
  return {
    pid: str(r.pid),
    name: str(r.name),
    kind: oneOf(r.kind, nodeKinds, 'actor'),
    behavior: str(r.behavior),
    state: str(r.state),
    uptimeSeconds: num(r.uptime_s),
    mailbox: num(r.mailbox),
    mailboxMax: num(r.mailbox_max_seen),
    messagesIn: num(r.messages_in),
    messagesOut: num(r.messages_out),
    restarts: num(r.restarts),
    restartsInWindow: num(r.restarts_in_window),
    windowSeconds: num(r.window_s),
    maxRestarts: num(r.max_restarts),
    limitReached: bool(r.limit_reached),
    links: num(r.links),
    monitors: num(r.monitors),
    lastReason: str(r.last_reason),
    rates: isRecord(r.rates)
      ? {
          everySeconds: num(r.rates.sample_every),
          in: numbers(r.rates.in),
          out: numbers(r.rates.out),
          mailbox: numbers(r.rates.mailbox),
        }
      : undefined,
    alarms: list(r.alarms).map(str).filter(Boolean),
    detail: rec(r.detail),
    children: list(r.children).map(readNode),
  }
}

export function readAlarm(v: unknown): Alarm {
  const r = rec(v)
  return {
    actor: str(r.actor),
    kind: oneOf(r.kind, alarmKindValues, 'mailbox'),
    text: str(r.text),
    since: str(r.since),
    ...(r.over === true && { over: true }),
  }
}

function readWindow(v: unknown): WindowFacts {
  const r = rec(v)
  return {
    viewer: str(r.viewer),
    role: oneOf(r.role, clientValues, 'monitor'),
    kind: str(r.kind),
    remote: str(r.remote),
    subscriptions: num(r.subscriptions),
    lag: num(r.lag),
    connected_s: num(r.connected_s),
  }
}

function readHouse(v: unknown): House {
  const r = rec(v)
  const log = rec(r.log)
  return {
    log: {
      up: bool(log.up),
      first: num(log.first),
      last: num(log.last),
      bytes: num(log.bytes),
      max_bytes: num(log.max_bytes),
      in_flight: num(log.in_flight),
      waiting: num(log.waiting),
      subjects: list(log.subjects).map((s) => ({
        subject: str(rec(s).subject),
        count: num(rec(s).count),
      })),
    },
    windows: list(r.windows).map(readWindow),
    alarms: list(r.alarms).map(readAlarm),
    awake: num(r.awake),
    stored: num(r.stored),
    actors: num(r.actors),
    sidecar: readSidecar(r.sidecar),
    memory_bytes: num(r.memory_bytes),
    child_bytes: num(r.child_bytes),
    goroutines: num(r.goroutines),
  }
}

export function readTree(v: unknown): Tree {
  const r = rec(v)
  return {
    bootId: str(r.boot_id),
    time: str(r.time),
    root: readNode(r.root),
    house: isRecord(r.house) ? readHouse(r.house) : undefined,
    raw: v,
  }
}

export function readLog(v: unknown): LogLines {
  const r = rec(v)
  return {
    lines: list(r.lines).map((l) => {
      const line = rec(l)
      return {
        n: num(line.n),
        time: str(line.time),
        level: str(line.level),
        text: str(line.text),
        fields: rec(line.fields),
      }
    }),
    last: num(r.last),
    skipped: bool(r.skipped),
    file: str(r.file),
  }
}

/** One event of ops.<what>; undefined for a kind that this page does not know. */
export function readOpsEvent(what: string, data: unknown): OpsEvent | undefined {
  const r = rec(data)
  const kind = opsWhatValues.find((w) => w === what)
  switch (kind) {
    case 'tree-changed':
      return { what: kind, payload: {} }
    case 'restart':
      return {
        what: kind,
        payload: {
          actor: str(r.actor),
          reason: str(r.reason),
          count_in_window: num(r.count_in_window),
        },
      }
    case 'limit-reached':
      return {
        what: kind,
        payload: { supervisor: str(r.supervisor), ...(str(r.actor) && { actor: str(r.actor) }) },
      }
    case 'overflow':
      return { what: kind, payload: { actor: str(r.actor), message: str(r.message) } }
    case 'alarm':
      return { what: kind, payload: readAlarm(r) }
    case undefined:
      return undefined
  }
}
