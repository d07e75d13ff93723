import { expect, test } from 'vitest'

import type { ProviderEvent } from '../../protocol.js'
import {
  begun,
  ended,
  initial,
  modelEvent,
  runEvent,
  say,
  settled,
  type State,
} from './translate.js'

/** Plays events of the model and of the run; returns what is sent and the state. */
function play(events: readonly unknown[], from: State = initial): [ProviderEvent[], State] {
  let state = from
  const out: ProviderEvent[] = []
  for (const event of events) {
    for (const translate of [modelEvent, runEvent]) {
      const step = translate(state, event)
      state = step.state
      out.push(...step.events)
    }
  }
  return [out, state]
}

const raw = (event: object): object => ({ type: 'model', event })
const delta = (text: string): object => ({ type: 'output_text_delta', delta: text })
const chat = (d: object, finish_reason: string | null = null): object =>
  raw({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: d, finish_reason }] })
const item = (name: string, rawItem: object, more: object = {}): object => ({
  type: 'run_item_stream_event',
  name,
  item: { rawItem, ...more },
})
const called = (callId: string, args = '{}'): object =>
  item('tool_called', { type: 'function_call', callId, name: 'bash', arguments: args })

test('parts of a summary are paragraphs of one run of thinking', () => {
  const part = (summary_index: number): object =>
    raw({ type: 'response.reasoning_summary_part.added', summary_index })
  const words = (text: string): object =>
    raw({ type: 'response.reasoning_summary_text.delta', delta: text })
  const [events] = play([part(0), words('one'), part(1), words('two'), delta('so')])
  expect(events).toEqual([
    { type: 'thinking', text: 'one' },
    { type: 'thinking', text: '\n\n' },
    { type: 'thinking', text: 'two' },
    { type: 'thinking_stop' },
    { type: 'chunk', text: 'so' },
  ])
})

test.each([
  ['a Chat server', chat({ reasoning_content: 'hm' })],
  ['another Chat server', chat({ reasoning: 'hm' })],
  ['raw reasoning', raw({ type: 'response.reasoning_text.delta', delta: 'hm' })],
])('reasoning of %s', (_, event) => {
  expect(play([event, called('c')])[0]).toEqual([
    { type: 'thinking', text: 'hm' },
    { type: 'thinking_stop' },
    { type: 'tool_start', toolUseId: 'c', name: 'bash' },
  ])
})

test('a call is shown once and has one result, whoever is first', () => {
  const [, one] = play([called('c', '{"command":"x"}')])
  expect(begun(one, 'c', 'bash', {}).events).toEqual([])
  const two = ended(one, 'c', 'out', false)
  expect(two.events).toEqual([
    {
      type: 'tool_result',
      toolUseId: 'c',
      output: 'out',
      isError: false,
      name: 'bash',
      input: { command: 'x' },
    },
  ])
  expect(play([item('tool_output', { callId: 'c' }, { output: 'late' })], two.state)[0]).toEqual([])
  expect(ended(initial, 'nobody', 'x', false).events).toEqual([])
})

test('a result that only the stream has is a refusal', () => {
  const [events] = play([called('c'), item('tool_output', { callId: 'c' }, { output: 'denied' })])
  expect(events.at(-1)).toMatchObject({ type: 'tool_result', output: 'denied', isError: true })
  const [broken] = play([called('c', '{'), item('tool_output', { callId: 'c' }, { output: 'x' })])
  expect(broken.at(-1)).toMatchObject({ output: 'Error: invalid arguments', input: '{' })
})

test('the end closes the thinking and every call, in the order of the calls', () => {
  const [, state] = play([called('a'), called('b'), chat({ reasoning: 'hm' })])
  const { state: after } = ended(state, 'a', 'fine', false)
  const [, thinking] = play([chat({ reasoning: 'more' })], after)
  expect(settled(thinking, 'over').events.map((e) => e.type)).toEqual([
    'thinking_stop',
    'tool_result',
  ])
  expect(settled(initial, 'over').events).toEqual([])
})

test('a Chat answer is complete with its finish reason only', () => {
  expect(play([chat({ content: 'x' })])[1].unfinished).toBe(true)
  expect(play([chat({ content: 'x' }), chat({}, 'stop')])[1].unfinished).toBe(false)
  // The chunk with the counts has no choices.
  const counts = raw({ object: 'chat.completion.chunk', choices: [] })
  expect(play([chat({}, 'stop'), counts])[1].unfinished).toBe(false)
})

test('the answer so far is known until it is complete', () => {
  const begin = { type: 'response_started' }
  const done = { type: 'response_done', response: { output: [] } }
  expect(play([begin, delta('a'), delta('b')])[1].partial).toBe('ab')
  expect(play([begin, delta('a'), done])[1].partial).toBe('')
  // The SDK takes a Chat stream that broke off for a whole answer.
  expect(play([begin, chat({ content: 'a' }), delta('a'), done])[1].partial).toBe('a')
})

test.each([
  [{ type: 'response.failed', response: { error: { message: 'why' } } }, 'why'],
  [{ type: 'response.failed' }, 'It gave no reason.'],
  [
    {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    },
    'The answer was cut short (max_output_tokens).',
  ],
  [{ type: 'error', message: 'why' }, 'why'],
])('a failure inside the stream is kept: %j', (event, want) => {
  expect(play([raw(event)])[1].failure).toBe(want)
})

// A decoder of somebody else's values: nothing throws, whatever they are.
test('no event throws, and thinking is closed before anything else', () => {
  let seed = 7
  const next = (n: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 8) % n
  }
  const leaves = [undefined, null, 0, -1, '', 'x', 'c', true, [], {}, 'reasoning', '{"a":1}', '{']
  const types = [
    'model',
    'output_text_delta',
    'response_done',
    'response_started',
    'run_item_stream_event',
    'tool_called',
    'tool_output',
    'function_call',
    'response.reasoning_text.delta',
    'response.output_item.added',
    'response.failed',
    'error',
  ]
  const keys =
    'type name item rawItem callId arguments output response event delta choices object text finish_reason'.split(
      ' ',
    )
  const value = (depth: number): unknown => {
    if (depth === 0 || next(3) === 0) return leaves[next(leaves.length)]
    if (next(6) === 0) return [value(depth - 1), value(depth - 1)]
    const out: Record<string, unknown> = {}
    for (const key of keys) if (next(2) === 0) out[key] = value(depth - 1)
    if (next(4) > 0) out['type'] = types[next(types.length)]
    if (next(3) === 0) out['object'] = 'chat.completion.chunk'
    return out
  }
  for (let run = 0; run < 300; run += 1) {
    const [events, state] = play(Array.from({ length: 20 }, () => value(4)))
    let thinking = false
    for (const event of [...events, ...say(state, { type: 'chunk', text: 'end' }).events]) {
      if (event.type === 'thinking') thinking = true
      else if (event.type === 'thinking_stop') thinking = false
      else expect(thinking).toBe(false)
    }
  }
})
