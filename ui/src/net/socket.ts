// One WebSocket to the service: calls, subscriptions, and what happens when it
// breaks.
//
// A subscription survives a lost connection: it is made again since the last
// sequence number seen, so its handler sees every event once and in order. It
// ends in two cases, told by `onLost`: the log no longer holds what was missed
// (gap), or another start of the service answers (boot). Then the caller reads
// the snapshot again and subscribes anew.

import { isRecord, readEnvelope, readSession } from '../contract/guards'
import type { Envelope, SessionInfo } from '../contract/model'

/** What the connection is doing. retryAt is in ms since 1970. */
export type LinkState =
  | { phase: 'connecting' }
  | { phase: 'open' }
  | { phase: 'waiting'; retryAt: number }
  | { phase: 'unauthorized'; retryAt: number }

/** The part of a browser's WebSocket that is used, so that tests can be one. */
export interface SocketLike {
  onopen: (() => void) | null
  onmessage: ((e: { data: unknown }) => void) | null
  onclose: (() => void) | null
  onerror: (() => void) | null
  send(data: string): void
  close(): void
}

export interface LinkOptions {
  open: () => SocketLike
  /** Asks over HTTP why a socket could not open; 401 must be told apart. */
  probe: () => Promise<'unauthorized' | 'other'>
  random?: () => number
}

/** A failed call. code is the JSON-RPC code, 0 when the connection failed. */
export class CallError extends Error {
  constructor(
    message: string,
    readonly code: number,
    readonly data: unknown = undefined,
    /** Whether the request may have reached the service. */
    readonly sent: boolean = true,
  ) {
    super(message)
  }
}

export interface Handlers {
  onEvents: (events: Envelope[]) => void
  onLost: (reason: 'gap' | 'boot') => void
}

export interface Link {
  call: (method: string, params?: object) => Promise<unknown>
  /**
   * Returns a disposer. since is the first sequence wanted, "new", or "all" for
   * everything that the log still holds.
   */
  subscribe: (subjects: string[], since: number | 'new' | 'all', handlers: Handlers) => () => void
  state: () => LinkState
  session: () => SessionInfo | undefined
  onState: (f: (s: LinkState) => void) => () => void
  /** Runs after each connect, before waiting calls; boot changes included. */
  onSession: (f: (s: SessionInfo) => void) => () => void
  retryNow: () => void
  /** Checks at once whether the other side still answers. */
  nudge: () => void
  close: () => void
}

// Capped exponential with jitter. Source: ui.md 19.
const firstDelayMs = 500
const maxDelayMs = 10_000
// A quiet connection is asked for a sign of life; a browser cannot send pings.
const quietMs = 5_000
const answerMs = 4_000

/** The n-th wait, in ms: doubled each time, spread, within 0.5 s and 10 s. */
export function retryDelay(attempt: number, random: number): number {
  const base = Math.min(maxDelayMs, firstDelayMs * 2 ** attempt)
  return Math.round(Math.min(maxDelayMs, Math.max(firstDelayMs, base * (0.5 + random))))
}

interface Sub {
  subjects: string[]
  since: number | 'new' | 'all'
  last: number
  handlers: Handlers
  /** The service's name for it; empty until it has answered. */
  remote: string
  /** Whether this connection was asked for it. */
  asked: boolean
}

interface Waiting {
  resolve: (v: unknown) => void
  reject: (e: CallError) => void
}

export function createLink(options: LinkOptions): Link {
  const random = options.random ?? Math.random
  const subs = new Set<Sub>()
  const waiting = new Map<number, Waiting>()
  const stateListeners = new Set<(s: LinkState) => void>()
  const sessionListeners = new Set<(s: SessionInfo) => void>()
  let state: LinkState = { phase: 'connecting' }
  let session: SessionInfo | undefined
  let socket: SocketLike | undefined
  let nextId = 1
  let attempt = 0
  let closed = false
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let quietTimer: ReturnType<typeof setTimeout> | undefined
  // Events may overtake the answer that names their subscription.
  let early: { remote: string; events: Envelope[] }[] = []

  const setState = (next: LinkState): void => {
    state = next
    for (const f of stateListeners) f(next)
  }

  const request = (method: string, params: object): Promise<unknown> => {
    const target = socket
    if (!target) {
      return Promise.reject(new CallError('The connection is down.', 0, undefined, false))
    }
    const id = nextId++
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      target.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  const failAll = (): void => {
    const lost = [...waiting.values()]
    waiting.clear()
    for (const w of lost) w.reject(new CallError('The connection was lost before the answer.', 0))
  }

  const drop = (s: SocketLike): void => {
    if (socket !== s) return
    const wasOpen = state.phase === 'open'
    socket = undefined
    clearTimeout(quietTimer)
    s.onopen = s.onmessage = s.onclose = s.onerror = null
    s.close()
    for (const sub of subs) {
      sub.remote = ''
      sub.asked = false
    }
    early = []
    failAll()
    if (closed) return
    if (wasOpen) attempt = 0
    void later(wasOpen)
  }

  const later = async (wasOpen: boolean): Promise<void> => {
    const delay = retryDelay(attempt++, random())
    const retryAt = Date.now() + delay
    const refused = state.phase === 'unauthorized'
    setState(refused ? { phase: 'unauthorized', retryAt } : { phase: 'waiting', retryAt })
    clearTimeout(retryTimer)
    retryTimer = setTimeout(connect, delay)
    if (wasOpen) return
    const reason = await options.probe()
    // Only while still waiting: a connect may have won in the meantime.
    if (state.phase === 'waiting' && reason === 'unauthorized') {
      setState({ phase: 'unauthorized', retryAt: state.retryAt })
    } else if (state.phase === 'unauthorized' && reason !== 'unauthorized') {
      setState({ phase: 'waiting', retryAt: state.retryAt })
    }
  }

  const deliver = (sub: Sub, events: Envelope[]): void => {
    const fresh = events.filter((e) => e.seq > sub.last)
    const newest = fresh.at(-1)
    if (!newest) return
    sub.last = newest.seq
    sub.handlers.onEvents(fresh)
  }

  const start = async (sub: Sub): Promise<void> => {
    const since = sub.last > 0 ? sub.last + 1 : sub.since
    const result = await request('subscribe', { subjects: sub.subjects, since })
    const answer = isRecord(result) ? result : {}
    const remote = typeof answer.subscription === 'string' ? answer.subscription : ''
    if (!subs.has(sub)) {
      await request('unsubscribe', { subscription: remote })
      return
    }
    sub.remote = remote
    // A subscription that has heard nothing yet still knows where it began.
    if (sub.since === 'new' && sub.last === 0 && typeof answer.head === 'number') {
      sub.last = answer.head
    }
    const mine = early.filter((e) => e.remote === remote)
    early = early.filter((e) => e.remote !== remote)
    for (const e of mine) deliver(sub, e.events)
  }

  // A refused or lost subscribe is made again with the next connection; a
  // refused one for good ends it, and the owner reads its snapshot again.
  const startSafely = (sub: Sub): void => {
    if (sub.asked) return
    sub.asked = true
    start(sub).catch((e: unknown) => {
      if (e instanceof CallError && e.code !== 0 && subs.delete(sub)) sub.handlers.onLost('gap')
    })
  }

  const lose = (sub: Sub, reason: 'gap' | 'boot'): void => {
    if (!subs.delete(sub)) return
    if (reason === 'gap' && sub.remote !== '') {
      request('unsubscribe', { subscription: sub.remote }).catch(() => undefined)
    }
    sub.handlers.onLost(reason)
  }

  const onNotification = (method: unknown, params: unknown): void => {
    if (!isRecord(params) || typeof params.subscription !== 'string') return
    const remote = params.subscription
    const sub = [...subs].find((s) => s.remote === remote)
    if (method === 'event' && Array.isArray(params.events)) {
      const events = params.events.map(readEnvelope)
      if (sub) deliver(sub, events)
      else if ([...subs].some((s) => s.remote === '')) early.push({ remote, events })
    } else if (method === 'gap' && sub) {
      lose(sub, 'gap')
    }
  }

  const onFrame = (data: unknown): void => {
    if (typeof data !== 'string') return
    let frame: unknown
    try {
      frame = JSON.parse(data)
    } catch {
      return
    }
    if (!isRecord(frame)) return
    if (typeof frame.method === 'string') {
      onNotification(frame.method, frame.params)
      return
    }
    if (typeof frame.id !== 'number') return
    const w = waiting.get(frame.id)
    if (!w) return
    waiting.delete(frame.id)
    if (isRecord(frame.error)) {
      const { message, code, data: details } = frame.error
      w.reject(
        new CallError(
          typeof message === 'string' ? message : 'The service refused without a reason.',
          typeof code === 'number' ? code : -32603,
          details,
        ),
      )
      return
    }
    w.resolve(frame.result)
  }

  const watch = (s: SocketLike): void => {
    clearTimeout(quietTimer)
    quietTimer = setTimeout(() => check(s), quietMs)
  }

  const check = (s: SocketLike): void => {
    if (socket !== s) return
    clearTimeout(quietTimer)
    const limit = setTimeout(() => drop(s), answerMs)
    request('get_session', {})
      .catch(() => undefined)
      .finally(() => {
        clearTimeout(limit)
        if (socket === s) watch(s)
      })
  }

  const greet = async (s: SocketLike): Promise<void> => {
    const next = readSession(await request('get_session', {}))
    if (socket !== s) return
    const changed = session !== undefined && session.boot_id !== next.boot_id
    session = next
    attempt = 0
    setState({ phase: 'open' })
    for (const f of sessionListeners) f(next)
    for (const sub of [...subs]) {
      if (changed) lose(sub, 'boot')
      else startSafely(sub)
    }
  }

  function connect(): void {
    clearTimeout(retryTimer)
    if (closed || socket) return
    if (state.phase === 'waiting') setState({ phase: 'connecting' })
    const s = options.open()
    socket = s
    const limit = setTimeout(() => drop(s), maxDelayMs)
    s.onopen = () => {
      clearTimeout(limit)
      watch(s)
      greet(s).catch(() => drop(s))
    }
    s.onmessage = (e) => {
      watch(s)
      onFrame(e.data)
    }
    s.onclose = () => {
      clearTimeout(limit)
      drop(s)
    }
    s.onerror = () => {
      clearTimeout(limit)
      drop(s)
    }
  }

  connect()

  return {
    call: (method, params = {}) =>
      state.phase === 'open'
        ? request(method, params)
        : Promise.reject(new CallError('The connection is down.', 0, undefined, false)),
    subscribe: (subjects, since, handlers) => {
      const last = typeof since === 'number' ? Math.max(0, since - 1) : 0
      const sub: Sub = { subjects, since, last, handlers, remote: '', asked: false }
      subs.add(sub)
      if (state.phase === 'open') startSafely(sub)
      return () => {
        if (!subs.delete(sub) || sub.remote === '') return
        request('unsubscribe', { subscription: sub.remote }).catch(() => undefined)
      }
    },
    state: () => state,
    session: () => session,
    onState: (f) => {
      stateListeners.add(f)
      return () => stateListeners.delete(f)
    },
    onSession: (f) => {
      sessionListeners.add(f)
      return () => sessionListeners.delete(f)
    },
    retryNow: () => {
      if (state.phase === 'waiting' || state.phase === 'unauthorized') connect()
    },
    nudge: () => {
      if (socket && state.phase === 'open') check(socket)
      else if (state.phase === 'waiting') connect()
    },
    close: () => {
      closed = true
      clearTimeout(retryTimer)
      if (socket) drop(socket)
    },
  }
}

/**
 * The link of this page: same origin, authenticated by its cookie. A Monitor
 * asks for the lesser role, also where an owner's cookie is there.
 */
export function openPageLink(monitor: boolean): Link {
  const role = monitor ? '?role=monitor' : ''
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return createLink({
    open: () => adopt(new WebSocket(`${scheme}//${location.host}/ws${role}`)),
    probe: async () => {
      try {
        const answer = await fetch(`/rpc${role}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'get_session', params: {} }),
        })
        return answer.status === 401 ? 'unauthorized' : 'other'
      } catch {
        return 'other'
      }
    },
  })
}

/** Narrows a browser socket to what the link uses. */
function adopt(ws: WebSocket): SocketLike {
  const s: SocketLike = {
    onopen: null,
    onmessage: null,
    onclose: null,
    onerror: null,
    send: (data) => ws.send(data),
    close: () => ws.close(),
  }
  ws.onopen = () => s.onopen?.()
  ws.onmessage = (e) => s.onmessage?.(e)
  ws.onclose = () => s.onclose?.()
  ws.onerror = () => s.onerror?.()
  return s
}
