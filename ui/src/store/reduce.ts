// What happened to a conversation -> what a window shows of it. Pure: the same
// rules as the service's own transcript (contract.md 3 and 5), so that events
// on top of a snapshot give what the next snapshot would.

import type { DecidedBy, Decision, EditDecision } from '../contract/gen'
import type {
  AgentEvent,
  Conversation,
  Message,
  PendingPermission,
  Tokens,
  ToolCall,
} from '../contract/model'
import { isExploration } from './tools'

/** A prompt that left the queue a moment ago, for the card's last words. */
export interface Resolved {
  id: string
  kind: 'permission' | 'edit'
  decision: Decision | EditDecision
  by: DecidedBy
}

/** What prompt-opened says of the request that follows it. */
type Opened = Pick<PendingPermission, 'tier' | 'destructive' | 'allow_pattern' | 'sources'>

/** When something began and ended, by the service's clock; in ms. */
export interface Span {
  from: number
  to?: number
}

/** A conversation as one window holds it: the snapshot and what came after. */
export interface ConversationState {
  conversation: Conversation
  seq: number
  /** prompt-opened comes before its permission-request; kept until then. */
  opened: Record<string, Opened>
  resolved: Resolved[]
  /** Content before the first edit, by path; null: the file did not exist. */
  baselines: Record<string, string | null>
  /** Turns that failed before they were retried; the retry forgets it. */
  failed: string[]
  /** Calls by id, and thoughts by thoughtKey, as far as this window saw them. */
  times: Record<string, Span>
  /** What each sub-agent has used, by the call that sent it. */
  agents: Record<string, Tokens>
  /** Rises when files were written or restored: what review shows is old. */
  edits: number
  deleted: boolean
  /** The events cannot be applied; the snapshot has to be read again. */
  stale: boolean
}

/**
 * A snapshot as a state. What only this window knows is taken along from what
 * it showed before: last words of cards, baselines, turns that had failed.
 */
export function fromSnapshot(
  conversation: Conversation,
  seq: number,
  before?: ConversationState,
): ConversationState {
  return {
    conversation,
    seq,
    opened: {},
    resolved: before?.resolved ?? [],
    baselines: before?.baselines ?? {},
    failed: before ? failedTurns(before) : [],
    times: before?.times ?? {},
    agents: before?.agents ?? {},
    edits: (before?.edits ?? 0) + 1,
    deleted: false,
    stale: false,
  }
}

/** Names one run of thought: the message, and the part that it is. */
export function thoughtKey(messageId: string, part: number): string {
  return `${messageId}/${part}`
}

function failedTurns(s: ConversationState): string[] {
  const ids = s.conversation.messages.flatMap((m) =>
    m.role === 'assistant' && m.outcome === 'error' ? [m.turn_id] : [],
  )
  return [...new Set([...s.failed, ...ids])]
}

export function reduceAll(state: ConversationState, events: AgentEvent[]): ConversationState {
  return events.reduce(reduce, state)
}

const patch = (s: ConversationState, change: Partial<Conversation>): ConversationState => ({
  ...s,
  conversation: { ...s.conversation, ...change },
})

const emptyMessage: Omit<Message, 'id' | 'role'> = {
  content: '',
  thinking: '',
  timestamp: 0,
  turn_id: '',
  error: '',
  is_streaming: false,
  queued: false,
  tool_calls: [],
  parts: [],
  attachments: [],
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
}

/** Inserts before the first queued bubble: those wait behind everything. */
function insert(messages: Message[], m: Message): Message[] {
  const at = messages.findIndex((x) => x.queued)
  return at < 0 || m.queued
    ? [...messages, m]
    : [...messages.slice(0, at), m, ...messages.slice(at)]
}

const streamingIndex = (messages: Message[]): number =>
  messages.findLastIndex((m) => m.role === 'assistant' && m.is_streaming)

/** Whether an event came from a turn that is over already (contract.md O14). */
function late(s: ConversationState, turn: string): boolean {
  return (
    turn !== '' &&
    s.conversation.messages.some(
      (m) => m.role === 'assistant' && m.turn_id === turn && !m.is_streaming,
    )
  )
}

/** Changes the message that receives this turn's output; makes it if needed. */
function onLive(
  s: ConversationState,
  e: { turn: string; time: number },
  change: (m: Message) => Message,
): ConversationState {
  if (late(s, e.turn)) return s
  const messages = s.conversation.messages
  const at = streamingIndex(messages)
  const m = messages[at]
  if (m) return patch(s, { messages: messages.with(at, change(m)) })
  const fresh: Message = {
    ...emptyMessage,
    // The service calls an assistant's message like its turn.
    id: e.turn || `a:${e.time}`,
    role: 'assistant',
    turn_id: e.turn,
    timestamp: e.time,
    is_streaming: true,
  }
  return patch(s, { messages: insert(messages, change(fresh)) })
}

/** Changes a message wherever it is; -1 changes nothing. */
function at(
  s: ConversationState,
  index: number,
  change: (m: Message) => Message,
): ConversationState {
  const m = s.conversation.messages[index]
  if (!m) return s
  return patch(s, { messages: s.conversation.messages.with(index, change(m)) })
}

function grow(m: Message, type: 'text' | 'thinking', text: string): Message {
  const last = m.parts.at(-1)
  const parts =
    last && last.type === type
      ? m.parts.with(-1, { type, length: last.length + text.length })
      : [...m.parts, { type, length: text.length }]
  return type === 'text'
    ? { ...m, content: m.content + text, parts }
    : { ...m, thinking: m.thinking + text, parts }
}

const counts = (t: Tokens) => ({
  input_tokens: t.input,
  output_tokens: t.output,
  cache_read_tokens: t.cacheRead,
  cache_write_tokens: t.cacheWrite,
})

function withTool(m: Message, call: ToolCall): Message {
  return {
    ...m,
    tool_calls: [...m.tool_calls, call],
    parts: [...m.parts, { type: 'tool', id: call.id }],
  }
}

function changeTool(m: Message, id: string, change: (t: ToolCall) => ToolCall): Message {
  return { ...m, tool_calls: m.tool_calls.map((t) => (t.id === id ? change(t) : t)) }
}

const holder = (messages: Message[], id: string): number =>
  messages.findLastIndex((m) => m.tool_calls.some((t) => t.id === id))

// Long outputs stay in the service's file; a window keeps what a card can
// show (ui.md 24, row 13). Characters.
const keptOutput = 200_000

function onResult(
  s: ConversationState,
  e: Extract<AgentEvent, { kind: 'tool-result' }>,
): ConversationState {
  const status = e.isError ? 'error' : 'done'
  const content = e.content.slice(0, keptOutput)
  const index = holder(s.conversation.messages, e.id)
  if (index >= 0) {
    return at(s, index, (m) =>
      changeTool(m, e.id, (t) => ({
        ...t,
        status,
        content,
        name: e.name || t.name,
        // The input that arrived first stays.
        input: t.input || e.input,
      })),
    )
  }
  const call: ToolCall = {
    id: e.id,
    name: e.name,
    status,
    file: '',
    summary: '',
    content,
    input: e.input,
  }
  const newest = s.conversation.messages.findLastIndex((m) => m.role === 'assistant')
  if (newest < 0) return onLive(s, e, (m) => withTool(m, call))
  return at(s, newest, (m) => withTool(m, call))
}

/** A delta, or anything else of the turn, ends the wait for a rate limit. */
function resumed(s: ConversationState): ConversationState {
  if (!s.conversation.rate_limited) return s
  const { rate_limited: _over, ...rest } = s.conversation
  return { ...s, conversation: rest }
}

function settle(
  s: ConversationState,
  e: { turn: string },
  change: (m: Message) => Message,
): ConversationState {
  const index = streamingIndex(s.conversation.messages)
  if (index < 0 || late(s, e.turn)) return s
  return at(s, index, (m) => ({ ...change(m), is_streaming: false }))
}

/** Applies one event. Unknown ids and late events change nothing. */
export function reduce(s: ConversationState, e: AgentEvent): ConversationState {
  switch (e.kind) {
    case 'chunk':
      return onLive(resumed(s), e, (m) => grow(m, 'text', e.text))
    case 'thinking':
      return thought(
        onLive(resumed(s), e, (m) => grow(m, 'thinking', e.text)),
        e.time,
      )
    case 'thinking-stop':
      return thought(s, e.time)
    case 'tool-start': {
      const known = holder(s.conversation.messages, e.id)
      if (known >= 0) {
        return at(s, known, (m) =>
          changeTool(m, e.id, (t) => ({ ...t, name: t.name || e.name, input: t.input || e.input })),
        )
      }
      const call: ToolCall = {
        id: e.id,
        name: e.name,
        status: 'running',
        file: '',
        summary: '',
        content: '',
        input: e.input,
      }
      return spanned(
        onLive(resumed(s), e, (m) => withTool(m, call)),
        e.id,
        { from: e.time },
      )
    }
    case 'tool-result':
      return wrote(over(onResult(resumed(s), e), e.id, e.time), e)
    case 'tool-output-extended': {
      const index = holder(s.conversation.messages, e.id)
      const { exit_code, modified_paths, stdout, stderr } = e
      return at(s, index, (m) =>
        changeTool(m, e.id, (t) => ({
          ...t,
          ...(exit_code !== undefined && { exit_code }),
          ...(modified_paths && { modified_paths }),
          ...(stdout !== undefined && { stdout: stdout.slice(0, keptOutput) }),
          ...(stderr !== undefined && { stderr: stderr.slice(0, keptOutput) }),
        })),
      )
    }
    case 'prompt-opened': {
      const { id, tier, destructive, allow_pattern, sources } = e
      const details = { tier, destructive, sources, ...(allow_pattern && { allow_pattern }) }
      return { ...s, opened: { ...s.opened, [id]: details } }
    }
    case 'permission-request': {
      const details = s.opened[e.id]
      const prompt: PendingPermission = {
        id: e.id,
        name: e.name,
        arguments: e.arguments,
        tier: 'blocking',
        destructive: false,
        sources: [],
        opened_at: e.time,
        ...(e.batch_size !== undefined && { batch_size: e.batch_size }),
        ...details,
      }
      const others = s.conversation.pending_permissions.filter((p) => p.id !== e.id)
      // A call announced without its input is known by what it asks for.
      const named = at(resumed(s), holder(s.conversation.messages, e.id), (m) =>
        changeTool(m, e.id, (t) => ({ ...t, input: t.input || e.arguments })),
      )
      return patch(named, { pending_permissions: [...others, prompt] })
    }
    case 'prompt-resolved': {
      const known = s.conversation.pending_permissions.some((p) => p.id === e.id)
      const next = patch(s, {
        pending_permissions: s.conversation.pending_permissions.filter((p) => p.id !== e.id),
      })
      const denied =
        e.decision === 'deny'
          ? at(next, holder(next.conversation.messages, e.id), (m) =>
              changeTool(m, e.id, (t) => ({ ...t, denied_by: e.by })),
            )
          : next
      if (!known) return denied
      const word: Resolved = { id: e.id, kind: 'permission', decision: e.decision, by: e.by }
      return { ...denied, resolved: [...denied.resolved, word] }
    }
    case 'pending-edit': {
      const { id, path, content, before } = e
      const others = s.conversation.pending_edits.filter((p) => p.id !== id)
      const edit = { id, path, content, opened_at: e.time, ...(before !== undefined && { before }) }
      return remember(patch(s, { pending_edits: [...others, edit] }), path, before)
    }
    case 'edit-resolved': {
      const known = s.conversation.pending_edits.some((p) => p.id === e.id)
      const left = patch(s, {
        pending_edits: s.conversation.pending_edits.filter((p) => p.id !== e.id),
      })
      const next =
        e.decision === 'reject'
          ? at(left, holder(left.conversation.messages, e.id), (m) =>
              changeTool(m, e.id, (t) => ({ ...t, denied_by: e.by })),
            )
          : left
      if (!known) return next
      const word: Resolved = { id: e.id, kind: 'edit', decision: e.decision, by: e.by }
      return { ...next, resolved: [...next.resolved, word] }
    }
    case 'edit-baseline':
      return remember(s, e.path, e.before)
    case 'plan-block':
      return patch(s, { plan: e.items })
    case 'turn-summary':
      if (e.address !== '') return { ...s, agents: { ...s.agents, [e.address]: e.tokens } }
      return onLive(s, e, (m) => ({ ...m, ...counts(e.tokens) }))
    case 'mcp-sources':
      return s
    case 'rate-limited': {
      const { seconds, message } = e
      const limit = { message, ...(seconds !== undefined && { seconds }) }
      return patch(s, { rate_limited: limit })
    }
    case 'done':
      return settle(resumed(s), e, (m) => ({
        ...m,
        ...(e.tokens.input + e.tokens.output > 0 && counts(e.tokens)),
        outcome: e.cancelled ? 'cancelled' : 'done',
      }))
    case 'error': {
      // A part of its own, as in the service's snapshot.
      const failed = (m: Message): Message => {
        const text = `${m.content === '' ? '' : '\n\n'}Error: ${e.message}`
        return {
          ...m,
          content: m.content + text,
          parts: [...m.parts, { type: 'text', length: text.length }],
          error: e.message,
          outcome: 'error',
        }
      }
      // Without a turn it is about the session behind the conversation; the
      // transcript gets a notice of its own.
      if (e.turn === '' || late(s, e.turn)) return s
      return settle(onLive(resumed(s), e, failed), e, (m) => m)
    }
    case 'created':
      return s
    case 'updated': {
      const { reload, plan_approved: _plan, edits, ...change } = e.patch
      return {
        ...patch(s, change),
        stale: s.stale || reload === true,
        edits: s.edits + (edits === true ? 1 : 0),
      }
    }
    case 'deleted':
      return { ...s, deleted: true }
    case 'user-turn': {
      const m: Message = {
        ...emptyMessage,
        id: e.message_id,
        role: 'user',
        content: e.content,
        timestamp: e.time,
        attachments: e.attachments,
        queued: e.queued,
      }
      const others = s.conversation.messages.filter((x) => x.id !== m.id)
      return patch(s, { messages: insert(others, m) })
    }
    case 'turn-started': {
      const started = patch(s, { turn_id: e.turn_id, status: 'active', stopping: false })
      return onLive(started, { turn: e.turn_id, time: e.time }, (m) => m)
    }
    case 'turn-ended': {
      const index = s.conversation.messages.findLastIndex(
        (m) => m.role === 'assistant' && m.turn_id === e.turn_id,
      )
      const ended = at(s, index, (m) => ({ ...m, is_streaming: false, outcome: e.outcome }))
      return patch(resumed(ended), {
        turn_id: '',
        stopping: false,
        status: e.outcome === 'error' ? 'failed' : 'idle',
      })
    }
    case 'queue-changed': {
      const ids = new Set(e.items.map((q) => q.message_id))
      // One that left to be sent is announced again by its own user-turn.
      const messages = s.conversation.messages.filter((m) => !m.queued || ids.has(m.id))
      return patch(s, { queue: e.items, messages, queued: e.items.length })
    }
    case 'posture-changed':
      return patch(s, { posture: e.posture })
    case 'notice': {
      const m: Message = {
        ...emptyMessage,
        id: e.message_id,
        role: 'system',
        content: e.text,
        timestamp: e.time,
        level: e.level,
      }
      const index = s.conversation.messages.findIndex((x) => x.id === m.id)
      if (index >= 0) return at(s, index, () => m)
      return patch(s, { messages: insert(s.conversation.messages, m) })
    }
  }
}

function spanned(s: ConversationState, key: string, span: Span): ConversationState {
  return { ...s, times: { ...s.times, [key]: span } }
}

/** Ends what was seen to begin; of anything else no time is known. */
function over(s: ConversationState, key: string, time: number): ConversationState {
  const known = s.times[key]
  return known && known.to === undefined ? spanned(s, key, { ...known, to: time }) : s
}

/** Notes how long the newest thought has taken so far. */
function thought(s: ConversationState, time: number): ConversationState {
  const m = s.conversation.messages[streamingIndex(s.conversation.messages)]
  const at = m?.parts.findLastIndex((p) => p.type === 'thinking') ?? -1
  if (!m || at < 0 || at !== m.parts.length - 1) return s
  const key = thoughtKey(m.id, at)
  return spanned(s, key, { from: s.times[key]?.from ?? time, to: time })
}

/** A call that may have written a file makes what review shows old. */
function wrote(
  s: ConversationState,
  e: Extract<AgentEvent, { kind: 'tool-result' }>,
): ConversationState {
  return e.isError || isExploration(e.name) ? s : { ...s, edits: s.edits + 1 }
}

function remember(
  s: ConversationState,
  path: string,
  before: string | undefined,
): ConversationState {
  if (path in s.baselines) return s
  return { ...s, baselines: { ...s.baselines, [path]: before ?? null } }
}
