import { expect, test } from 'vitest'

import { encode, MAX_FRAME_BYTES } from './encode.js'
import type { WireEvent } from './protocol.js'

const huge = '\u20ac'.repeat(4_000_000)

test.each<[string, WireEvent, string[]]>([
  [
    'tool_start',
    { type: 'tool_start', sessionId: 'a', toolUseId: 't', name: 'Write', input: { content: huge } },
    ['sessionId', 'toolUseId', 'name'],
  ],
  [
    'tool_result',
    {
      type: 'tool_result',
      sessionId: 'a',
      toolUseId: 't',
      output: huge,
      isError: false,
      input: huge,
    },
    ['output', 'isError'],
  ],
  [
    'permission_request',
    { type: 'permission_request', sessionId: 'a', toolUseId: 't', name: 'X', input: { huge } },
    ['input', 'name'],
  ],
])('a %s over the limit keeps what matters', (_name, event, kept) => {
  const line = encode(event) ?? ''
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_FRAME_BYTES)
  const back = JSON.parse(line) as Record<string, unknown>
  for (const field of kept) expect(back).toHaveProperty(field)
})

test('a baseline over the limit is dropped, because without its text it means a new file', () => {
  const event: WireEvent = { type: 'edit_baseline', sessionId: 'a', path: 'p', before: huge }
  expect(encode(event)).toBeUndefined()
})

test('a frame just under the limit is left alone', () => {
  const text = 'x'.repeat(MAX_FRAME_BYTES - 100)
  const line = encode({ type: 'chunk', sessionId: 'a', text })
  expect(JSON.parse(line ?? '')).toMatchObject({ text })
})
