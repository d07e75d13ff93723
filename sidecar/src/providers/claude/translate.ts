// Turns what the Claude Agent SDK says into protocol events. Pure: the state
// goes in and comes out, there is no clock and no I/O, and a message of any
// shape is at worst ignored.
//
// Text and thinking come from the partial messages; the whole `assistant`
// messages that repeat them give only tool calls. Source: sidecar-protocol.md
// 12.2, and the recorded traffic in testdata/claude.
import { countOf, fieldsOf, listOf, textOf, type Fields } from '../../fields.js'
import type { PlanItem, ProviderEvent } from '../../protocol.js'

/** Tokens of one request or of several. */
interface Usage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheCreation: number
  readonly reasoning: number | undefined
}

interface Tool {
  readonly name: string
  readonly input: unknown
}

/** What translation remembers between two messages. */
export interface State {
  /** Whether a thinking run is open. */
  readonly thinking: boolean
  /** The first half of a surrogate pair that a delta ended with. */
  readonly half: string
  /** Ids of the provider's messages that came in deltas. */
  readonly streamed: ReadonlySet<string>
  /** Calls of this turn, by tool use id. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Calls whose edit was written by us, with the person's changes. */
  readonly applied: ReadonlySet<string>
  /** The list that TaskCreate and TaskUpdate maintain; it outlives a turn. */
  readonly tasks: readonly PlanItem[]
  /** Usage of sub-agents, by the tool use that started them, then by message id. */
  readonly agents: ReadonlyMap<string, ReadonlyMap<string, Usage>>
}

/** The state of a session that has said nothing. */
export const initial: State = {
  thinking: false,
  half: '',
  streamed: new Set(),
  tools: new Map(),
  applied: new Set(),
  tasks: [],
  agents: new Map(),
}

/**
 * How a turn ended. `unknown_resume` emits nothing: the SDK does not know the
 * session that it was asked to resume, and the turn is to be tried without.
 */
export type End = 'done' | 'error' | 'cancelled' | 'unknown_resume'

/** The outcome of one message. */
export interface Translated {
  readonly state: State
  readonly events: readonly ProviderEvent[]
  /** The SDK's session id, where the message told it. */
  readonly sessionId?: string
  /** Present on the last message of a turn. */
  readonly end?: End
}

/** Tools that write files; the edit bridge stands before them. */
export const writeTools: ReadonlySet<string> = new Set([
  'Write',
  'Edit',
  'MultiEdit',
  'NotebookEdit',
])

/** The path a write tool works on. */
export function pathOf(input: unknown): string | undefined {
  const f = fieldsOf(input)
  const path = textOf(f?.['file_path']) ?? textOf(f?.['notebook_path'])
  return path === '' ? undefined : path
}

/** Notes that we wrote a call's file ourselves, so that its result is no failure. */
export function withApplied(state: State, toolUseId: string): State {
  return { ...state, applied: new Set(state.applied).add(toolUseId) }
}

/** Translates one message of the SDK. */
export function translate(state: State, message: unknown): Translated {
  const m = fieldsOf(message)
  switch (m?.['type']) {
    case 'stream_event':
      return partial(state, m)
    case 'assistant':
      return assistant(state, m)
    case 'user':
      return user(state, m)
    case 'system':
      return system(state, m)
    case 'result':
      return result(state, m)
    default:
      return { state, events: [] }
  }
}

function partial(state: State, m: Fields): Translated {
  const event = fieldsOf(m['event'])
  const agent = textOf(m['parent_tool_use_id'])
  switch (event?.['type']) {
    case 'message_start': {
      const started = fieldsOf(event['message'])
      const id = textOf(started?.['id'])
      if (id === undefined) return { state, events: [] }
      if (agent !== undefined) return counted(state, agent, id, started?.['usage'])
      return { state: { ...state, streamed: new Set(state.streamed).add(id) }, events: [] }
    }
    case 'message_delta': {
      const id = textOf(m['api_message_id'])
      if (agent === undefined || id === undefined) return { state, events: [] }
      return counted(state, agent, id, event['usage'])
    }
    case 'content_block_start': {
      const block = fieldsOf(event['content_block'])
      if (agent !== undefined || block?.['type'] === 'thinking') return { state, events: [] }
      return stopThinking(state)
    }
    case 'content_block_stop':
      return agent === undefined ? stopThinking(state) : { state, events: [] }
    case 'content_block_delta': {
      // A sub-agent's words are not the answer; its calls and its result are shown.
      if (agent !== undefined) return { state, events: [] }
      const delta = fieldsOf(event['delta'])
      if (delta?.['type'] === 'text_delta') return text(state, textOf(delta['text']) ?? '')
      if (delta?.['type'] === 'thinking_delta') return think(state, textOf(delta['thinking']) ?? '')
      return { state, events: [] }
    }
    default:
      return { state, events: [] }
  }
}

function text(state: State, piece: string): Translated {
  const stopped = stopThinking(state)
  const [whole, half] = holdBack(stopped.state.half + piece)
  return {
    state: half === stopped.state.half ? stopped.state : { ...stopped.state, half },
    events: whole === '' ? stopped.events : [...stopped.events, { type: 'chunk', text: whole }],
  }
}

function think(state: State, piece: string): Translated {
  const [whole, half] = holdBack((state.thinking ? state.half : '') + piece)
  if (whole === '') return { state: { ...state, half }, events: [] }
  return {
    state: state.thinking && half === state.half ? state : { ...state, thinking: true, half },
    events: [{ type: 'thinking', text: whole }],
  }
}

function stopThinking(state: State): Translated {
  if (!state.thinking) return { state, events: [] }
  return { state: { ...state, thinking: false, half: '' }, events: [{ type: 'thinking_stop' }] }
}

/** A delta never ends inside a character. */
function holdBack(piece: string): [whole: string, half: string] {
  const last = piece.charCodeAt(piece.length - 1)
  if (last >= 0xd800 && last < 0xdc00) return [piece.slice(0, -1), piece.slice(-1)]
  return [piece, '']
}

function assistant(state: State, m: Fields): Translated {
  const message = fieldsOf(m['message'])
  // Text that the program itself wrote; it is the error that `result` carries.
  if (message === undefined || message['model'] === '<synthetic>') return { state, events: [] }
  const agent = textOf(m['parent_tool_use_id'])
  const id = textOf(message['id']) ?? ''
  const events: ProviderEvent[] = []
  let next = state
  if (agent !== undefined) next = counted(next, agent, id, message['usage']).state
  const add = (t: Translated): void => {
    next = t.state
    events.push(...t.events)
  }
  for (const block of listOf(message['content'])) {
    switch (block['type']) {
      case 'text':
        // Without partial messages (the SDK fell back to a plain request) this is the only copy.
        if (agent === undefined && !state.streamed.has(id))
          add(text(next, textOf(block['text']) ?? ''))
        break
      case 'thinking':
        if (agent === undefined && !state.streamed.has(id)) {
          add(think(next, textOf(block['thinking']) ?? ''))
          add(stopThinking(next))
        }
        break
      case 'tool_use':
      case 'server_tool_use':
        add(call(next, block, agent))
        break
      default: {
        // Results of tools that ran at the provider come inside its own message.
        const of = textOf(block['tool_use_id'])
        if (of !== undefined) add(outcome(next, of, block['content'], false, undefined))
      }
    }
  }
  return { state: next, events }
}

function call(state: State, block: Fields, agent: string | undefined): Translated {
  const toolUseId = textOf(block['id'])
  const name = textOf(block['name']) ?? ''
  if (toolUseId === undefined || state.tools.has(toolUseId)) return { state, events: [] }
  const input = block['input'] ?? {}
  const stopped = stopThinking(state)
  const events: ProviderEvent[] = [
    ...stopped.events,
    { type: 'tool_start', toolUseId, name, input },
  ]
  if (name === 'TodoWrite' && agent === undefined) {
    const items = planItems(fieldsOf(input)?.['todos'])
    if (items.length > 0) events.push({ type: 'plan_block', items })
  }
  const tools = new Map(state.tools).set(toolUseId, { name, input })
  return { state: { ...stopped.state, tools }, events }
}

function user(state: State, m: Fields): Translated {
  // setModel and others put words into the user's mouth.
  if (m['isReplay'] === true) return { state, events: [] }
  const results = listOf(fieldsOf(m['message'])?.['content']).filter(
    (block) => block['type'] === 'tool_result',
  )
  // The structured result belongs to one call; with several it is nobody's.
  const details = results.length === 1 ? m['tool_use_result'] : undefined
  let next = state
  const events: ProviderEvent[] = []
  for (const block of results) {
    const toolUseId = textOf(block['tool_use_id'])
    if (toolUseId === undefined) continue
    const t = outcome(next, toolUseId, block['content'], block['is_error'] === true, details)
    next = t.state
    events.push(...t.events)
  }
  return { state: next, events }
}

function outcome(
  state: State,
  toolUseId: string,
  content: unknown,
  failed: boolean,
  details: unknown,
): Translated {
  const tool = state.tools.get(toolUseId)
  const isError = failed && !state.applied.has(toolUseId)
  const output = outputOf(content)
  const events: ProviderEvent[] = [
    {
      type: 'tool_result',
      toolUseId,
      output,
      isError,
      ...(tool === undefined ? {} : { name: tool.name, input: tool.input }),
    },
  ]
  if (tool === undefined) return { state, events }
  const extended = extendedOf(tool, output, isError, fieldsOf(details))
  if (extended !== undefined) {
    events.push({ type: 'tool_output_extended', toolUseId, ...extended })
  }
  if (isError) return { state, events }
  const tasks = tasksAfter(state.tasks, tool, fieldsOf(details))
  if (tasks === state.tasks) return { state, events }
  // An empty list is no event (sidecar-protocol.md 12.2, plan items).
  if (tasks.length > 0) events.push({ type: 'plan_block', items: [...tasks] })
  return { state: { ...state, tasks }, events }
}

/** Text blocks joined with a newline, others as JSON. */
function outputOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === undefined || content === null) return ''
  if (!Array.isArray(content)) return JSON.stringify(content)
  return content
    .map((block) => {
      const f = fieldsOf(block)
      return f?.['type'] === 'text' ? (textOf(f['text']) ?? '') : JSON.stringify(block)
    })
    .join('\n')
}

interface Extended {
  exitCode?: number
  modifiedPaths?: string[]
  stdout?: string
  stderr?: string
}

function extendedOf(
  tool: Tool,
  output: string,
  isError: boolean,
  details: Fields | undefined,
): Extended | undefined {
  const path = pathOf(tool.input)
  if (writeTools.has(tool.name)) {
    return isError || path === undefined ? undefined : { modifiedPaths: [path] }
  }
  if (tool.name !== 'Bash') return undefined
  const extended: Extended = {}
  const code = /^Exit code (\d{1,3})\b/.exec(output)?.[1]
  if (isError && code !== undefined) extended.exitCode = Number(code)
  if (!isError && details !== undefined && details['interrupted'] !== true) extended.exitCode = 0
  const stdout = textOf(details?.['stdout'])
  const stderr = textOf(details?.['stderr'])
  if (stdout !== undefined) extended.stdout = stdout
  if (stderr !== undefined) extended.stderr = stderr
  return Object.keys(extended).length === 0 ? undefined : extended
}

function planItems(list: unknown): PlanItem[] {
  return listOf(list).flatMap((f) => {
    const item = planItem(f, textOf(f['id']))
    return item === undefined ? [] : [item]
  })
}

function planItem(f: Fields, id: string | undefined): PlanItem | undefined {
  const activeForm = textOf(f['activeForm'])
  const content = textOf(f['content']) ?? activeForm ?? textOf(f['subject'])
  if (content === undefined) return undefined
  return {
    ...(id === undefined ? {} : { id }),
    content,
    status: statusOf(f['status']) ?? 'pending',
    ...(activeForm === undefined ? {} : { activeForm }),
  }
}

function statusOf(value: unknown): PlanItem['status'] | undefined {
  return value === 'pending' || value === 'in_progress' || value === 'completed' ? value : undefined
}

function tasksAfter(
  tasks: readonly PlanItem[],
  tool: Tool,
  details: Fields | undefined,
): readonly PlanItem[] {
  const input = fieldsOf(tool.input)
  if (input === undefined) return tasks
  if (tool.name === 'TaskCreate') {
    const id = textOf(fieldsOf(details?.['task'])?.['id'])
    const content = textOf(input['subject'])
    const item = planItem({ ...input, content }, id)
    return item === undefined ? tasks : [...tasks, item]
  }
  if (tool.name !== 'TaskUpdate') return tasks
  const id = textOf(input['taskId'])
  if (id === undefined || !tasks.some((t) => t.id === id)) return tasks
  if (input['status'] === 'deleted') return tasks.filter((t) => t.id !== id)
  const content = textOf(input['subject'])
  const activeForm = textOf(input['activeForm'])
  return tasks.map((t) =>
    t.id === id
      ? {
          ...t,
          status: statusOf(input['status']) ?? t.status,
          ...(content === undefined ? {} : { content }),
          ...(activeForm === undefined ? {} : { activeForm }),
        }
      : t,
  )
}

function system(state: State, m: Fields): Translated {
  const sessionId = textOf(m['session_id'])
  if (m['subtype'] === 'init') {
    return { state, events: [], ...(sessionId === undefined ? {} : { sessionId }) }
  }
  // 529 is the provider's way to say the same (faults.md F12).
  const limited =
    m['error'] === 'rate_limit' || m['error'] === 'overloaded' || m['error_status'] === 529
  if (m['subtype'] !== 'api_retry' || !limited) return { state, events: [] }
  const delay = countOf(m['retry_delay_ms'])
  return {
    state,
    events: [
      { type: 'rate_limited', ...(delay === undefined ? {} : { retryAfterSeconds: delay / 1000 }) },
    ],
  }
}

function result(state: State, m: Fields): Translated {
  const errors = Array.isArray(m['errors']) ? m['errors'].flatMap((e) => textOf(e) ?? []) : []
  if (errors.some((e) => e.includes('No conversation found with session ID'))) {
    return { state: afterTurn(state), events: [], end: 'unknown_resume' }
  }
  const events: ProviderEvent[] = [...stopThinking(state).events]
  for (const [address, usage] of agentUsage(state.agents, m)) {
    events.push({ type: 'turn_summary', ...counts(usage), address })
  }
  const aborted = textOf(m['terminal_reason'])?.startsWith('aborted_') === true
  const failed = m['is_error'] === true && !aborted
  const usage = usageOfTurn(m, state.agents.size > 0)
  if (!failed || spent(usage)) events.push({ type: 'turn_summary', ...counts(usage) })
  const sessionId = textOf(m['session_id'])
  const base = { state: afterTurn(state), ...(sessionId === undefined ? {} : { sessionId }) }
  if (failed) {
    events.push({ type: 'error', message: errorText(m, errors) })
    return { ...base, events, end: 'error' }
  }
  const { reasoningTokens: _reasoning, ...totals } = counts(usage)
  events.push({
    type: 'done',
    ...totals,
    ...(aborted ? { cancelled: true } : {}),
    ...(sessionId === undefined ? {} : { resumeToken: sessionId }),
  })
  return { ...base, events, end: aborted ? 'cancelled' : 'done' }
}

/** What of the state outlives a turn, however it ended. */
export function afterTurn(state: State): State {
  return { ...initial, tasks: state.tasks }
}

/**
 * The counts of the turn. An interrupted turn reports zeros although its request
 * was billed; then the sum over models since the last result is taken, unless
 * sub-agents ran, which it would count again.
 */
function usageOfTurn(m: Fields, agents: boolean): Usage {
  const usage = usageOf(m['usage'])
  return spent(usage) || agents ? usage : usageOfModels(m)
}

/** Everything that was spent since the last result, whoever spent it. */
function usageOfModels(m: Fields): Usage {
  return Object.values(fieldsOf(m['model_usage_since_last_result']) ?? {})
    .map((value) => {
      const f = fieldsOf(value) ?? {}
      return {
        input: countOf(f['inputTokens']) ?? 0,
        output: countOf(f['outputTokens']) ?? 0,
        cacheRead: countOf(f['cacheReadInputTokens']) ?? 0,
        cacheCreation: countOf(f['cacheCreationInputTokens']) ?? 0,
        reasoning: undefined,
      }
    })
    .reduce(sum, usageOf(undefined))
}

/**
 * The usage of each sub-agent. Their messages are seen before their output was
 * counted; what the result knows beyond them is shared out by their number of
 * requests, so that the sum is right, and each share where only one ran.
 */
function agentUsage(agents: State['agents'], m: Fields): [address: string, usage: Usage][] {
  const seen = [...agents].map(([address, messages]) => ({
    address,
    requests: messages.size,
    usage: [...messages.values()].reduce(sum, usageOf(undefined)),
  }))
  const known = seen.map((a) => a.usage).reduce(sum, usageOf(m['usage']))
  const all = usageOfModels(m)
  let requests = seen.reduce((n, a) => n + a.requests, 0)
  let rest: Usage = {
    input: Math.max(0, all.input - known.input),
    output: Math.max(0, all.output - known.output),
    cacheRead: Math.max(0, all.cacheRead - known.cacheRead),
    cacheCreation: Math.max(0, all.cacheCreation - known.cacheCreation),
    reasoning: undefined,
  }
  return seen.map((agent) => {
    const part = (n: number): number => Math.round((n * agent.requests) / Math.max(1, requests))
    const share: Usage = {
      input: part(rest.input),
      output: part(rest.output),
      cacheRead: part(rest.cacheRead),
      cacheCreation: part(rest.cacheCreation),
      reasoning: undefined,
    }
    requests -= agent.requests
    rest = {
      input: rest.input - share.input,
      output: rest.output - share.output,
      cacheRead: rest.cacheRead - share.cacheRead,
      cacheCreation: rest.cacheCreation - share.cacheCreation,
      reasoning: undefined,
    }
    return [agent.address, sum(agent.usage, share)]
  })
}

function usageOf(value: unknown): Usage {
  const f = fieldsOf(value) ?? {}
  return {
    input: countOf(f['input_tokens']) ?? 0,
    output: countOf(f['output_tokens']) ?? 0,
    cacheRead: countOf(f['cache_read_input_tokens']) ?? 0,
    cacheCreation: countOf(f['cache_creation_input_tokens']) ?? 0,
    reasoning: countOf(fieldsOf(f['output_tokens_details'])?.['thinking_tokens']),
  }
}

function spent(u: Usage): boolean {
  return u.input + u.output + u.cacheRead + u.cacheCreation > 0
}

function sum(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheCreation: a.cacheCreation + b.cacheCreation,
    reasoning:
      a.reasoning === undefined && b.reasoning === undefined
        ? undefined
        : (a.reasoning ?? 0) + (b.reasoning ?? 0),
  }
}

function most(a: Usage, b: Usage): Usage {
  return {
    input: Math.max(a.input, b.input),
    output: Math.max(a.output, b.output),
    cacheRead: Math.max(a.cacheRead, b.cacheRead),
    cacheCreation: Math.max(a.cacheCreation, b.cacheCreation),
    reasoning: b.reasoning ?? a.reasoning,
  }
}

/** One request reports its usage several times, each time a little later. */
function counted(state: State, agent: string, messageId: string, usage: unknown): Translated {
  if (fieldsOf(usage) === undefined) return { state, events: [] }
  const messages = new Map(state.agents.get(agent))
  const now = usageOf(usage)
  const before = messages.get(messageId)
  messages.set(messageId, before === undefined ? now : most(before, now))
  return { state: { ...state, agents: new Map(state.agents).set(agent, messages) }, events: [] }
}

function counts(u: Usage): {
  inputTokens: number
  outputTokens: number
  cacheReadInputTokens: number
  cacheCreationInputTokens: number
  reasoningTokens?: number
} {
  return {
    inputTokens: u.input,
    outputTokens: u.output,
    cacheReadInputTokens: u.cacheRead,
    cacheCreationInputTokens: u.cacheCreation,
    ...(u.reasoning === undefined ? {} : { reasoningTokens: u.reasoning }),
  }
}

/** What happened, what to do, and the vendor's own words in brackets. */
function errorText(m: Fields, errors: readonly string[]): string {
  const vendor = (
    textOf(m['result']) ?? errors.filter((e) => !e.startsWith('[ede_diagnostic]')).join(' ')
  ).trim()
  const said = vendor === '' ? '' : ` (${vendor})`
  const status = countOf(m['api_error_status'])
  switch (status) {
    case 401:
    case 403:
      return `The model provider did not accept the API key (${status}). Set another one in Settings > API Keys.${said}`
    case 404:
      return `The model provider does not know this model (404). Choose another model.${said}`
    case 429:
      return `The model provider limits your requests (429). Wait a moment, then send again.${said}`
    case 529:
      return `The model provider is overloaded (529). Wait a moment, then send again.${said}`
    default:
  }
  if (m['api_error'] === 'connection_failed') {
    return `The model provider cannot be reached. Check the network, then send again.${said}`
  }
  switch (m['subtype']) {
    case 'error_max_turns':
      return `The agent reached its limit of steps for one turn. Send again to let it go on.${said}`
    case 'error_max_budget_usd':
      return `The agent reached its budget for one turn. Send again to let it go on.${said}`
    default:
      return vendor === '' ? 'The agent stopped without a reason. Send again to retry.' : vendor
  }
}
