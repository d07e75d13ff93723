// From what the SDK says of one turn to events of the protocol: pure.
//
//   - The answer is read where the model hands it to the SDK: the SDK's own stream
//     drops what it has queued when a request fails.
//   - Text comes once: the SDK also hands on each delta as the provider sent it,
//     which is read for reasoning and refusals only.
//   - A call is shown by whoever sees it first, the stream or the tool itself;
//     its result likewise. Results that only the stream has are refusals: those
//     of calls that a person denied, or that named no tool of ours.
//   - Reasoning is one run that ends before whatever comes next.
//
// Source: sidecar-protocol.md 12.3.
import { countOf, fieldsOf, listOf, textOf } from '../../fields.js'
import type { ProviderEvent } from '../../protocol.js'
import { texts } from './gates.js'

interface Call {
  readonly name: string
  readonly input: unknown
  readonly done: boolean
}

/** What is known of the turn so far. */
export interface State {
  readonly thinking: boolean
  readonly calls: ReadonlyMap<string, Call>
  /** The answer that is being streamed; empty once the provider has completed it. */
  readonly partial: string
  /** A Chat answer has begun and its last chunk has not come. */
  readonly unfinished: boolean
  /** What the provider said inside a stream about its own failure. */
  readonly failure: string | undefined
}

/** Of a turn that has not begun. */
export const initial: State = {
  thinking: false,
  calls: new Map(),
  partial: '',
  unfinished: false,
  failure: undefined,
}

/** What one step adds. */
export interface Step {
  readonly state: State
  readonly events: readonly ProviderEvent[]
}

/** Translates one event of the SDK's run: calls and their results. */
export function runEvent(state: State, event: unknown): Step {
  const f = fieldsOf(event)
  if (f?.['type'] !== 'run_item_stream_event') return nothing(state)
  const raw = fieldsOf(fieldsOf(f['item'])?.['rawItem']) ?? {}
  if (f['name'] === 'tool_called') return called(state, raw)
  const id = textOf(raw['callId'])
  if (f['name'] !== 'tool_output' || id === undefined) return nothing(state)
  const output = fieldsOf(f['item'])?.['output'] ?? raw['output']
  // The stream has the name of a call that was never shown.
  const known = begun(state, id, textOf(raw['name']) ?? '', {})
  // The SDK words this for the model in its own way.
  const readable = fieldsOf(known.state.calls.get(id)?.input) !== undefined
  const text = readable ? outputText(output) : texts.invalidArguments
  return joined(known, ended(known.state, id, text, true))
}

/** A call was seen, or is about to run. */
export function begun(state: State, toolUseId: string, name: string, input: unknown): Step {
  if (state.calls.has(toolUseId)) return nothing(state)
  const calls = new Map(state.calls).set(toolUseId, { name, input, done: false })
  return say({ ...state, calls }, { type: 'tool_start', toolUseId, name })
}

/** A call has its result. The first one counts. */
export function ended(state: State, toolUseId: string, output: string, isError: boolean): Step {
  const call = state.calls.get(toolUseId)
  if (call === undefined || call.done) return nothing(state)
  const { name, input } = call
  const calls = new Map(state.calls).set(toolUseId, { ...call, done: true })
  return say({ ...state, calls }, { type: 'tool_result', toolUseId, output, isError, name, input })
}

/** The turn is over: reasoning ends, and calls without a result get this one. */
export function settled(state: State, output: string): Step {
  let step: Step = say(state)
  for (const [id, call] of state.calls) {
    if (call.done) continue
    const next = ended(step.state, id, output, true)
    step = { state: next.state, events: [...step.events, ...next.events] }
  }
  return step
}

/** Adds events, after the end of a run of reasoning that is still open. */
export function say(state: State, ...events: ProviderEvent[]): Step {
  if (!state.thinking) return { state, events }
  return { state: { ...state, thinking: false }, events: [{ type: 'thinking_stop' }, ...events] }
}

function nothing(state: State): Step {
  return { state, events: [] }
}

/** Translates one event of a model: its answer as it is streamed. */
export function modelEvent(state: State, event: unknown): Step {
  const data = fieldsOf(event) ?? {}
  switch (data['type']) {
    case 'output_text_delta':
      return answer(state, textOf(data['delta']) ?? '')
    case 'response_started':
      return nothing({ ...state, partial: '', failure: undefined })
    case 'response_done':
      // The SDK takes a stream that broke off for a whole answer.
      return answered(
        { ...state, partial: state.unfinished ? state.partial : '' },
        fieldsOf(data['response']) ?? {},
      )
    case 'model': {
      const raw = fieldsOf(data['event']) ?? {}
      return raw['object'] === 'chat.completion.chunk'
        ? chatChunk(state, raw)
        : responsesEvent(state, raw)
    }
    default:
      return nothing(state)
  }
}

/** Calls of an answer, in its order; the tools begin in any. */
function answered(state: State, response: Record<string, unknown>): Step {
  return listOf(response['output'])
    .filter((item) => item['type'] === 'function_call')
    .reduce<Step>((step, item) => joined(step, called(step.state, item)), nothing(state))
}

function called(state: State, raw: Record<string, unknown>): Step {
  const id = textOf(raw['callId'])
  if (id === undefined) return nothing(state)
  return begun(state, id, textOf(raw['name']) ?? '', parsed(textOf(raw['arguments'])))
}

function responsesEvent(state: State, event: Record<string, unknown>): Step {
  switch (event['type']) {
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return thought(state, textOf(event['delta']) ?? '')
    case 'response.reasoning_summary_part.added':
      // Parts of a summary are paragraphs.
      return (countOf(event['summary_index']) ?? 0) > 0 ? thought(state, '\n\n') : nothing(state)
    case 'response.refusal.delta':
      return answer(state, textOf(event['delta']) ?? '')
    case 'response.failed':
      return nothing({ ...state, failure: failureIn(fieldsOf(event['response'])?.['error']) })
    case 'response.incomplete':
      return nothing({ ...state, failure: incompleteIn(event['response']) })
    case 'error':
      return nothing({ ...state, failure: failureIn(event) })
    case 'response.output_item.added':
      return fieldsOf(event['item'])?.['type'] === 'reasoning' ? nothing(state) : say(state)
    default:
      return nothing(state)
  }
}

function failureIn(error: unknown): string {
  return textOf(fieldsOf(error)?.['message']) ?? 'It gave no reason.'
}

function incompleteIn(response: unknown): string {
  const details = fieldsOf(fieldsOf(response)?.['incomplete_details'])
  return `The answer was cut short (${textOf(details?.['reason']) ?? 'no reason given'}).`
}

function chatChunk(state: State, chunk: Record<string, unknown>): Step {
  let step: Step = nothing(state)
  for (const choice of listOf(chunk['choices'])) {
    const delta = fieldsOf(choice['delta']) ?? {}
    // Two names for the same thing among compatible servers.
    const reasoning = textOf(delta['reasoning_content']) ?? textOf(delta['reasoning']) ?? ''
    step = joined(step, thought(step.state, reasoning))
    step = joined(step, answer(step.state, textOf(delta['refusal']) ?? ''))
    const finished = textOf(choice['finish_reason']) !== undefined
    step = { ...step, state: { ...step.state, unfinished: !finished } }
  }
  return step
}

function answer(state: State, text: string): Step {
  if (text === '') return nothing(state)
  return say({ ...state, partial: state.partial + text }, { type: 'chunk', text })
}

function thought(state: State, text: string): Step {
  if (text === '') return nothing(state)
  return { state: { ...state, thinking: true }, events: [{ type: 'thinking', text }] }
}

function joined(first: Step, second: Step): Step {
  return { state: second.state, events: [...first.events, ...second.events] }
}

function outputText(output: unknown): string {
  return textOf(output) ?? textOf(fieldsOf(output)?.['text']) ?? JSON.stringify(output ?? '')
}

/** Arguments as JSON, or the text itself where they are none. */
export function parsed(text: string | undefined): unknown {
  if (text === undefined || text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
