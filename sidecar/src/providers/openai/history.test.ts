import type { AgentInputItem } from '@openai/agents'
import { expect, test } from 'vitest'

import { failureText } from './failure.js'
import { assistantItem, repaired, resumedItems, userItem } from './history.js'
import { countsOf } from './usage.js'

const user = userItem({ text: 'hi', attachments: [] })
const call = (callId: string): AgentInputItem => ({
  type: 'function_call',
  callId,
  name: 'bash',
  arguments: '{}',
})
const result = (callId: string, text = 'out'): AgentInputItem => ({
  type: 'function_call_result',
  callId,
  name: 'bash',
  status: 'completed',
  output: { type: 'text', text },
})
const reasoning: AgentInputItem = { type: 'reasoning', content: [] }

test.each<[string, AgentInputItem[], AgentInputItem[]]>([
  ['nothing', [], []],
  ['whole', [user, call('a'), result('a')], [user, call('a'), result('a')]],
  ['a call at the end', [user, call('a')], [user, call('a'), result('a', 'x')]],
  [
    'one of two',
    [user, call('a'), call('b'), result('a')],
    [user, call('a'), call('b'), result('a'), result('b', 'x')],
  ],
  ['before the next message', [call('a'), user], [call('a'), result('a', 'x'), user]],
  ['reasoning that led to nothing', [user, reasoning, reasoning], [user]],
  [
    'reasoning that led to a call',
    [reasoning, call('a'), result('a')],
    [reasoning, call('a'), result('a')],
  ],
])('repaired: %s', (_, items, want) => {
  expect(repaired(items, 'x')).toEqual(want)
})

test('a transcript becomes items; blank messages are left out', () => {
  expect(
    resumedItems([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '\n ' },
      { role: 'assistant', content: 'hello' },
      { role: 'system', content: 'note' },
    ]),
  ).toEqual([user, assistantItem('hello'), { role: 'system', content: 'note' }])
})

test('pictures come first, an empty text is left out, other files are refused', () => {
  const attachments = [{ media_type: 'image/png', data_base64: 'aGk=' }]
  expect(userItem({ text: '', attachments })).toEqual({
    role: 'user',
    content: [{ type: 'input_image', image: 'data:image/png;base64,aGk=' }],
  })
  const other = [{ media_type: 'text/html', data_base64: 'aGk=' }]
  expect(() => userItem({ text: 'x', attachments: other })).toThrow(/text\/html is not supported/)
})

test('counts add up the requests of a turn', () => {
  expect(
    countsOf({
      inputTokens: 100,
      outputTokens: 9,
      inputTokensDetails: [{ cached_tokens: 10 }, {}, { cached_tokens: 5 }],
      outputTokensDetails: [{ reasoning_tokens: 2 }],
    }),
  ).toEqual({ inputTokens: 100, outputTokens: 9, cacheReadInputTokens: 15, reasoningTokens: 2 })
  expect(countsOf(undefined)).toEqual({
    inputTokens: 0,
    outputTokens: 0,
    cacheReadInputTokens: 0,
    reasoningTokens: 0,
  })
})

test.each([
  [
    Object.assign(new Error('400 Bad field.'), { status: 400 }),
    /refused the request \(400\): Bad field\.$/,
  ],
  [Object.assign(new Error('404 No model.'), { status: 404 }), /Choose another model/],
  [
    Object.assign(new Error('503 Busy.'), { status: 503 }),
    /OpenAI failed \(503\): Busy\. Send again later\.$/,
  ],
  [
    Object.assign(new Error('401 key sk-abc'), { status: 401 }),
    /^OpenAI refused the API key \(401\)\. Set a valid one in Settings > API Keys, then send again\.$/,
  ],
  [new Error('terminated'), /^Provider stream ended before/],
  [new Error('odd'), /^The OpenAI agent failed: odd$/],
  ['thrown text', /thrown text$/],
])('a failure is a sentence: %s', (thrown, want) => {
  expect(failureText(thrown, 'http://x')).toMatch(want)
})
