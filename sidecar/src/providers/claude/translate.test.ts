// Golden tests over recorded traffic of the real SDK. Run with UPDATE_GOLDEN=1
// to write what translation says now, and read the difference before you keep it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

import type { ProviderEvent } from '../../protocol.js'
import { initial, translate, withApplied, type End, type State } from './translate.js'

const folder = fileURLToPath(new URL('../../../testdata/claude/', import.meta.url))
const captures = readdirSync(folder).filter((name) => /^sdk-.*(?<!\.golden)\.jsonl$/.test(name))

/** What a host would have received, with the ends of turns between. */
function play(
  messages: readonly unknown[],
  from: State = initial,
): (ProviderEvent | { end: End })[] {
  let state = from
  const out: (ProviderEvent | { end: End })[] = []
  for (const message of messages) {
    const t = translate(state, message)
    state = t.state
    out.push(...t.events)
    if (t.end !== undefined) out.push({ end: t.end })
  }
  return out
}

function capture(name: string): unknown[] {
  return readFileSync(`${folder}${name}`, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line))
}

describe('recorded traffic', () => {
  test.each(captures)('%s', (name) => {
    const got = play(capture(name)).map((e) => `${JSON.stringify(e)}\n`)
    const golden = `${folder}${name.replace('.jsonl', '.golden.jsonl')}`
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, got.join(''))
    expect(got.join('')).toBe(readFileSync(golden, 'utf8'))
  })

  test.each(captures)(
    '%s: at most one end a turn, thinking closed, no message mutates state',
    (name) => {
      let state: State = initial
      let thinking = false
      for (const message of capture(name)) {
        const before = JSON.stringify([
          ...state.tools,
          ...state.streamed,
          state.tasks,
          state.thinking,
        ])
        const t = translate(state, message)
        expect(
          JSON.stringify([...state.tools, ...state.streamed, state.tasks, state.thinking]),
        ).toBe(before)
        for (const event of t.events) {
          if (event.type === 'thinking') thinking = true
          else if (event.type === 'thinking_stop') thinking = false
          else if (event.type !== 'rate_limited') expect(thinking).toBe(false)
        }
        const ends = t.events.filter((e) => e.type === 'done' || e.type === 'error')
        expect(ends.length).toBe(t.end === undefined || t.end === 'unknown_resume' ? 0 : 1)
        state = t.state
      }
    },
  )
})

const call = (id: string, name: string, input: unknown, agent: string | null = null): unknown => ({
  type: 'assistant',
  parent_tool_use_id: agent,
  message: {
    id: `m-${id}`,
    model: 'm',
    content: [{ type: 'tool_use', id, name, input }],
    usage: { input_tokens: 10, output_tokens: 1 },
  },
})

const answer = (id: string, content: unknown, more: Record<string, unknown> = {}): unknown => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
  ...more,
})

const ended = { type: 'result', subtype: 'success', is_error: false, session_id: 's', usage: {} }

test('TaskUpdate changes and removes what TaskCreate made; the list outlives the turn', () => {
  const out = play([
    call('1', 'TaskCreate', { subject: 'one', activeForm: 'Doing one' }),
    answer('1', 'ok', { tool_use_result: { task: { id: '7' } } }),
    ended,
    call('2', 'TaskUpdate', { taskId: '7', status: 'in_progress' }),
    answer('2', 'ok'),
    call('3', 'TaskUpdate', { taskId: '8', status: 'completed' }),
    answer('3', 'no such task'),
    call('4', 'TaskUpdate', { taskId: '7', status: 'deleted' }),
    answer('4', 'ok'),
  ])
  const plans = out.flatMap((e) => ('type' in e && e.type === 'plan_block' ? [e.items] : []))
  expect(plans).toEqual([
    [{ id: '7', content: 'one', status: 'pending', activeForm: 'Doing one' }],
    [{ id: '7', content: 'one', status: 'in_progress', activeForm: 'Doing one' }],
  ])
})

test('plan items take their text and status from what is there', () => {
  const todos = [
    { activeForm: 'Doing', status: 'started' },
    { subject: 'third choice', status: 'completed' },
    { status: 'pending' },
    'no item',
  ]
  expect(play([call('1', 'TodoWrite', { todos })])).toContainEqual({
    type: 'plan_block',
    items: [
      { content: 'Doing', status: 'pending', activeForm: 'Doing' },
      { content: 'third choice', status: 'completed' },
    ],
  })
  expect(play([call('1', 'TodoWrite', { todos: [] })])).toHaveLength(1)
})

test('a sub-agent shows its calls, is counted apart, and its words are not the answer', () => {
  const usage = (output: number): unknown => ({ input_tokens: 10, output_tokens: output })
  const out = play([
    call('task', 'Agent', { prompt: 'look' }),
    {
      type: 'assistant',
      parent_tool_use_id: 'task',
      message: { id: 'x', model: 'm', content: [{ type: 'text', text: 'inner' }], usage: usage(1) },
    },
    {
      type: 'stream_event',
      parent_tool_use_id: 'task',
      api_message_id: 'x',
      event: { type: 'message_delta', usage: usage(30) },
    },
    call('read', 'Read', { file_path: '/f' }, 'task'),
    answer('read', 'text', { parent_tool_use_id: 'task' }),
    answer('task', 'found it'),
    { ...ended, usage: { input_tokens: 5, output_tokens: 6 } },
  ])
  expect(JSON.stringify(out)).not.toContain('inner')
  expect(out.filter((e) => 'type' in e && e.type === 'turn_summary')).toEqual([
    {
      type: 'turn_summary',
      // Two messages: x with its last count, and the one with the call.
      inputTokens: 20,
      outputTokens: 31,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      address: 'task',
    },
    {
      type: 'turn_summary',
      inputTokens: 5,
      outputTokens: 6,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
    },
  ])
})

test('what sub-agents spent beyond what was seen is shared by their requests', () => {
  const said = (agent: string, id: string): unknown => ({
    type: 'assistant',
    parent_tool_use_id: agent,
    message: { id, model: 'm', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
  })
  const out = play([
    said('a', 'm1'),
    said('b', 'm2'),
    said('b', 'm3'),
    {
      ...ended,
      usage: { input_tokens: 5, output_tokens: 6 },
      model_usage_since_last_result: {
        one: { inputTokens: 30, outputTokens: 50 },
        two: { inputTokens: 5, outputTokens: 59 },
      },
    },
  ])
  const summaries = out.flatMap((e) =>
    'type' in e && e.type === 'turn_summary' ? [[e.address, e.inputTokens, e.outputTokens]] : [],
  )
  expect(summaries).toEqual([
    ['a', 10, 34],
    ['b', 20, 69],
    [undefined, 5, 6],
  ])
})

test('text that did not stream is taken from the whole message', () => {
  const whole = {
    type: 'assistant',
    message: { id: 'm1', model: 'm', content: [{ type: 'text', text: 'all of it' }] },
  }
  const begun = { type: 'stream_event', event: { type: 'message_start', message: { id: 'm1' } } }
  expect(play([whole])).toEqual([{ type: 'chunk', text: 'all of it' }])
  expect(play([begun, whole])).toEqual([])
})

test('a delta never ends inside a character (F01)', () => {
  const delta = (text: string): unknown => ({
    type: 'stream_event',
    event: { type: 'content_block_delta', delta: { type: 'text_delta', text } },
  })
  expect(play([delta('a\ud83d'), delta('\ude00b')])).toEqual([
    { type: 'chunk', text: 'a' },
    { type: 'chunk', text: '\u{1F600}b' },
  ])
})

test('a result that is no text is JSON, and text blocks are lines', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'image', source: { data: 'x' } },
    { type: 'text', text: 'two' },
  ]
  expect(play([answer('1', content)])).toEqual([
    {
      type: 'tool_result',
      toolUseId: '1',
      output: 'one\n{"type":"image","source":{"data":"x"}}\ntwo',
      isError: false,
    },
  ])
})

test('a call whose file we wrote has not failed', () => {
  const t = translate(initial, call('1', 'Write', { file_path: '/f', content: 'x' }))
  const refused = {
    type: 'user',
    message: {
      content: [{ type: 'tool_result', tool_use_id: '1', content: 'no', is_error: true }],
    },
  }
  expect(play([refused], withApplied(t.state, '1'))).toMatchObject([
    { type: 'tool_result', isError: false },
    { type: 'tool_output_extended', modifiedPaths: ['/f'] },
  ])
  expect(play([refused], t.state)).toMatchObject([{ type: 'tool_result', isError: true }])
})

test('an interrupted shell has no exit code', () => {
  const out = play([
    call('1', 'Bash', { command: 'sleep' }),
    answer('1', 'partly', { tool_use_result: { stdout: 'partly', stderr: '', interrupted: true } }),
  ])
  expect(out.at(-1)).toEqual({
    type: 'tool_output_extended',
    toolUseId: '1',
    stdout: 'partly',
    stderr: '',
  })
})

// Any shape of message: nothing throws, and a turn that never began ends nowhere.
test('no damaged message throws', () => {
  const values: unknown[] = [undefined, null, 0, '', 'x', [], {}, [null], { type: 'text' }]
  const keys = ['event', 'message', 'errors', 'usage', 'tool_use_result', 'content', 'delta']
  let state: State = initial
  for (const type of ['stream_event', 'assistant', 'user', 'system', 'result', 'other', 7]) {
    for (const key of keys) {
      for (const value of values) {
        for (const inner of values) {
          const message = {
            type,
            subtype: 'api_retry',
            [key]: value,
            message: { content: [inner] },
          }
          state = translate(state, { ...message, [key]: value }).state
          state = translate(state, { type, event: { type: key, [key]: inner, usage: value } }).state
        }
      }
    }
  }
  expect(state.thinking).toBe(false)
})
