// Messages -> the rows of a transcript. Pure; a message that did not change
// gives the same row object, so that only the open turn is drawn again.

import type { Outcome } from '../contract/gen'
import type {
  Conversation,
  Message,
  PendingEdit,
  PendingPermission,
  RateLimit,
  ToolCall,
} from '../contract/model'
import type { ConversationState } from './reduce'
import type { OutboxItem } from './outbox'
import { familyOf, isExploration } from './tools'

export type Step =
  | { type: 'thinking'; key: string; text: string; part: number; live: boolean }
  | { type: 'explore'; key: string; calls: ToolCall[]; live: boolean }
  | { type: 'tool'; key: string; call: ToolCall }
  | { type: 'tasks'; key: string; calls: ToolCall[] }
  | { type: 'agent'; key: string; call: ToolCall }
  | { type: 'edits'; key: string; calls: ToolCall[] }
  | { type: 'edited'; key: string; calls: ToolCall[] }
  | { type: 'text'; key: string; text: string; live: boolean }
  | { type: 'permission'; key: string; prompt: PendingPermission }
  | { type: 'edit'; key: string; edit: PendingEdit }
  | { type: 'rate'; key: string; limit: RateLimit }

export type Row =
  | { type: 'user'; key: string; message: Message }
  | {
      type: 'turn'
      key: string
      message: Message
      steps: Step[]
      number: number
      last: boolean
      fate: Fate
    }
  | { type: 'system'; key: string; message: Message }
  | { type: 'prompts'; key: string; steps: Step[] }
  | { type: 'outbox'; key: string; item: OutboxItem }

/** What became of a turn, in a word. A retry keeps the earlier rounds of one. */
export type Fate =
  'running' | 'done' | 'stopped' | 'failed' | 'interrupted' | 'retried' | 'failed, retried'

const fates: Record<Outcome, Fate> = {
  done: 'done',
  cancelled: 'stopped',
  error: 'failed',
  interrupted: 'interrupted',
}

/** Answers without a message of a person in between: the earlier was retried. */
function fateOf(message: Message, next: Message | undefined, failed: string[]): Fate {
  if (message.is_streaming) return 'running'
  // An imported history has no turns and tells nothing of retries.
  const again = next?.role === 'assistant' && next.turn_id !== '' && message.turn_id !== ''
  if (!again) return fates[message.outcome ?? 'done']
  const known = message.outcome === 'error' || failed.includes(message.turn_id)
  return known ? 'failed, retried' : 'retried'
}

// Three settled edits in a message become one card. Source: ui.md 7.
const editsPerCard = 3

/** The text without what the service appends to a failed answer. */
export function withoutError(message: Message): string {
  if (message.error === '') return message.content
  const tail = `Error: ${message.error}`
  if (!message.content.endsWith(tail)) return message.content
  return message.content.slice(0, -tail.length).replace(/\n\n$/, '')
}

// Source: tools-permissions.md 7.
const planHeading = /^\s{0,3}##\s+(?:plan|files to change|steps)\b/im

/** Whether the last answer is a settled plan that may be approved (ui.md 10). */
export function isPlanReady(c: Conversation): boolean {
  if (!c.posture.plan_mode || c.status === 'active') return false
  const last = c.messages.findLast((m) => m.role !== 'system' && !m.queued)
  return (
    last?.role === 'assistant' &&
    !last.is_streaming &&
    last.error === '' &&
    planHeading.test(last.content)
  )
}

/** The steps of one assistant message, in the order they happened. */
export function stepsOf(message: Message): Step[] {
  const live = message.is_streaming
  const content = withoutError(message)
  const byId = new Map(message.tool_calls.map((t) => [t.id, t]))
  // A call still running in a settled message is an orphan: it says nothing.
  const counts = (t: ToolCall): boolean => live || t.status !== 'running'
  const exploration = message.tool_calls.filter((t) => isExploration(t.name) && counts(t))
  const settledEdits = message.tool_calls.filter(
    (t) => familyOf(t.name) === 'edit' && t.status === 'done',
  )
  const oneCard = settledEdits.length >= editsPerCard
  const steps: Step[] = []
  let textAt = 0
  let thoughtAt = 0
  let explored = false
  let carded = false

  const pushTool = (call: ToolCall): void => {
    if (isExploration(call.name)) {
      if (explored || exploration.length === 0) return
      explored = true
      const open = live && exploration.some((t) => t.status === 'running')
      steps.push({ type: 'explore', key: 'explore', calls: exploration, live: open })
      return
    }
    if (familyOf(call.name) === 'edit' && call.status !== 'error') {
      if (oneCard && call.status === 'done') {
        if (!carded) steps.push({ type: 'edited', key: 'edited', calls: settledEdits })
        carded = true
        return
      }
      const last = steps.at(-1)
      if (last?.type === 'edits') {
        steps.splice(-1, 1, { ...last, calls: [...last.calls, call] })
      } else steps.push({ type: 'edits', key: `e:${call.id}`, calls: [call] })
      return
    }
    const family = familyOf(call.name)
    if (family === 'tasks' && call.status !== 'error') {
      // The newest list stands for all of the message, where the first one was.
      const at = steps.findIndex((s) => s.type === 'tasks')
      const known = steps[at]
      if (known?.type === 'tasks') steps[at] = { ...known, calls: [...known.calls, call] }
      else steps.push({ type: 'tasks', key: 'tasks', calls: [call] })
      return
    }
    if (family === 'agent' && !call.denied_by) {
      steps.push({ type: 'agent', key: `t:${call.id}`, call })
      return
    }
    steps.push({ type: 'tool', key: `t:${call.id}`, call })
  }

  message.parts.forEach((part, i) => {
    switch (part.type) {
      case 'text': {
        const text = content.slice(textAt, textAt + part.length)
        textAt += part.length
        if (text.trim() !== '') steps.push({ type: 'text', key: `p:${i}`, text, live: false })
        return
      }
      case 'thinking': {
        const text = message.thinking.slice(thoughtAt, thoughtAt + part.length)
        thoughtAt += part.length
        const last = steps.at(-1)
        if (text.trim() === '') return
        // A part boundary inside one run of thought is not a new thought.
        if (last?.type === 'thinking')
          steps.splice(-1, 1, { ...last, text: last.text + '\n\n' + text })
        else steps.push({ type: 'thinking', key: `p:${i}`, text, part: i, live: false })
        return
      }
      case 'tool': {
        const call = byId.get(part.id)
        if (!call) return
        byId.delete(part.id)
        if (counts(call)) pushTool(call)
        return
      }
      case 'request':
        return
    }
  })
  // A transcript without parts (imported, or of an older file) still reads.
  if (thoughtAt === 0 && message.thinking.trim() !== '') {
    const text = message.thinking
    steps.unshift({ type: 'thinking', key: 'thinking', text, part: -1, live: false })
  }
  for (const call of byId.values()) if (counts(call)) pushTool(call)
  if (textAt === 0 && content.trim() !== '') {
    steps.push({ type: 'text', key: 'text', text: content, live: false })
  }

  const last = steps.at(-1)
  if (live && last && (last.type === 'text' || last.type === 'thinking')) {
    steps.splice(-1, 1, { ...last, live: true })
  }
  return steps
}

const memo = new WeakMap<Message, Step[]>()

function stepsOnce(message: Message): Step[] {
  const known = memo.get(message)
  if (known) return known
  const steps = stepsOf(message)
  memo.set(message, steps)
  return steps
}

/** Puts a prompt where its call is; false when the message does not hold it. */
function place(steps: Step[], message: Message, id: string, step: Step): boolean {
  if (!message.tool_calls.some((t) => t.id === id)) return false
  const at = steps.findIndex(
    (s) =>
      ((s.type === 'tool' || s.type === 'agent') && s.call.id === id) ||
      ((s.type === 'edits' || s.type === 'explore' || s.type === 'tasks') &&
        s.calls.some((c) => c.id === id)),
  )
  const found = steps[at]
  if (!found) {
    steps.push(step)
  } else if (
    found.type === 'tool' ||
    found.type === 'agent' ||
    (found.type === 'edits' && found.calls.length === 1)
  ) {
    // The card stands for the call while it waits.
    steps.splice(at, 1, step)
  } else {
    steps.splice(at + 1, 0, step)
  }
  return true
}

/** A transcript's words: what a search in it looks through. */
export function wordsOf(row: Row): string {
  switch (row.type) {
    case 'user':
    case 'system':
      return row.message.content
    case 'outbox':
      return row.item.text
    case 'turn': {
      const calls = row.message.tool_calls.map((t) => `${t.name} ${t.input} ${t.content}`)
      return [row.message.thinking, row.message.content, ...calls].join('\n')
    }
    case 'prompts':
      return ''
  }
}

const lowered = new WeakMap<object, string>()

/** The rows that hold a text, without regard to case; none for no text. */
export function findRows(rows: readonly Row[], wanted: string): number[] {
  const needle = wanted.trim().toLowerCase()
  if (needle === '') return []
  return rows.flatMap((row, i) => {
    // A message that did not change keeps its object, and so its words.
    const key = 'message' in row ? row.message : row
    let words = lowered.get(key)
    if (words === undefined) {
      words = wordsOf(row).toLowerCase()
      lowered.set(key, words)
    }
    return words.includes(needle) ? [i] : []
  })
}

/** What follows each message: the next one that somebody said. */
function followers(messages: readonly Message[]): (Message | undefined)[] {
  let next: Message | undefined
  return messages
    .toReversed()
    .map((m) => {
      const mine = next
      if (m.role !== 'system' && !m.queued) next = m
      return mine
    })
    .toReversed()
}

type TurnRow = Extract<Row, { type: 'turn' }>

const kept = new WeakMap<Message, Row>()

/** The row that a message had before, when it would be the same. */
function same(row: Row & { message: Message }): Row {
  const known = kept.get(row.message)
  if (known && known.type === row.type && (row.type !== 'turn' || isSame(known, row))) return known
  kept.set(row.message, row)
  return row
}

function isSame(known: Row, row: TurnRow): boolean {
  return (
    known.type === 'turn' &&
    known.steps === row.steps &&
    known.number === row.number &&
    known.last === row.last &&
    known.fate === row.fate
  )
}

/** All rows, oldest first; a message that did not change keeps its row. */
export function deriveRows(state: ConversationState, outbox: OutboxItem[]): Row[] {
  const c = state.conversation
  const messages = c.messages
  const rows: Row[] = []
  const permissions = [...c.pending_permissions]
  const edits = [...c.pending_edits]
  const lastAssistant = messages.findLastIndex((m) => m.role === 'assistant')
  const next = followers(messages)
  let turn = 0
  messages.forEach((message, index) => {
    if (message.role === 'user') {
      rows.push(same({ type: 'user', key: message.id, message }))
      return
    }
    if (message.role === 'system') {
      rows.push(same({ type: 'system', key: message.id, message }))
      return
    }
    turn++
    let steps = stepsOnce(message)
    const waiting = permissions.length + edits.length > 0
    const mine = (
      waiting
        ? [
            ...permissions.map((prompt): [string, Step] => [
              prompt.id,
              { type: 'permission', key: `perm:${prompt.id}`, prompt },
            ]),
            ...edits.map((edit): [string, Step] => [
              edit.id,
              { type: 'edit', key: `edit:${edit.id}`, edit },
            ]),
          ]
        : []
    ).filter(([id]) => message.tool_calls.some((t) => t.id === id))
    if (mine.length > 0) {
      steps = [...steps]
      for (const [id, step] of mine) place(steps, message, id, step)
      for (const [id] of mine) {
        remove(permissions, id)
        remove(edits, id)
      }
    }
    if (index === lastAssistant && c.rate_limited && message.is_streaming) {
      steps = [...steps, { type: 'rate', key: 'rate', limit: c.rate_limited }]
    }
    const key = message.turn_id === '' ? message.id : `turn:${message.turn_id}`
    const fate = fateOf(message, next[index], state.failed)
    const last = index === lastAssistant
    rows.push(same({ type: 'turn', key, message, steps, number: turn, last, fate }))
  })
  if (permissions.length + edits.length > 0) {
    const steps: Step[] = [
      ...permissions.map((prompt): Step => ({
        type: 'permission',
        key: `perm:${prompt.id}`,
        prompt,
      })),
      ...edits.map((edit): Step => ({ type: 'edit', key: `edit:${edit.id}`, edit })),
    ]
    const at = rows.findIndex((r) => r.type === 'user' && r.message.queued)
    rows.splice(at < 0 ? rows.length : at, 0, { type: 'prompts', key: 'prompts', steps })
  }
  for (const item of outbox) rows.push({ type: 'outbox', key: `out:${item.id}`, item })
  return rows
}

function remove(list: { id: string }[], id: string): void {
  const at = list.findIndex((x) => x.id === id)
  if (at >= 0) list.splice(at, 1)
}

const plural = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`

/** The one line that stands for all looking around. Source: ui.md 7. */
export function exploreLine(calls: ToolCall[], live: boolean): { text: string; failed: number } {
  const settled = calls.filter((t) => t.status !== 'running')
  const flying = calls.length - settled.length
  const failed = calls.filter((t) => t.status === 'error').length
  const count = (family: string): number =>
    settled.filter((t) => familyOf(t.name) === family).length
  const parts = [
    [count('read'), 'file', 'files'],
    [count('search'), 'search', 'searches'],
    [count('list'), 'listing', 'listings'],
  ] as const
  const said = parts.filter(([n]) => n > 0).map(([n, one, many]) => plural(n, one, many))
  if (!live) return { text: `Explored ${said.join(', ')}`, failed }
  if (said.length === 0) return { text: `Exploring (${flying} in flight)…`, failed }
  const tail = flying > 0 ? ` (${flying} in flight)` : ''
  return { text: `Exploring ${said.join(', ')}${tail}`, failed }
}

/** What the inline line says while the provider makes us wait. */
export function rateLine(limit: RateLimit): string {
  return limit.seconds === undefined
    ? 'Rate limited — retrying'
    : `Rate limited — retrying in ${Math.ceil(limit.seconds)} s`
}

/** Texts after which the next send resumes. Source: contract.md 7.2. */
export function isSessionLost(error: string): boolean {
  return (
    error.includes('Sidecar restarted') ||
    error.includes('Sidecar crashed and could not restart') ||
    /^SSH sidecar for .+ (exited|wait failed)/.test(error)
  )
}

// As much as is listened to in one go. Characters.
const spoken = 200

/** The end of an answer for those who listen: its last line, in whole words. */
export function lastWords(text: string): string {
  const lines = text.trim().split('\n')
  const line = (lines.findLast((l) => l.trim() !== '') ?? '').trim()
  if (line.length <= spoken) return line
  const tail = line.slice(-spoken)
  if (/\s/.test(line.charAt(line.length - spoken - 1))) return tail.trimStart()
  const space = tail.search(/\s/)
  return space < 0 ? tail : tail.slice(space).trimStart()
}
