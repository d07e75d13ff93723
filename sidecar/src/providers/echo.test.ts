import { expect, test } from 'vitest'

import { cut } from './echo.js'

test.each([
  ['', ['', '', '']],
  ['a', ['a', '', '']],
  ['ab', ['a', 'b', '']],
  ['abcd', ['ab', 'cd', '']],
  ['abcdefg', ['abc', 'def', 'g']],
  ['a\u{1F600}bc', ['a\u{1F600}', 'b', 'c']],
  ['\u{1F600}', ['\u{1F600}', '', '']],
  ['\u{1F600}\u{1F600}\u{1F600}', ['\u{1F600}', '\u{1F600}', '\u{1F600}']],
])('%j is cut into %j', (text, pieces) => {
  expect(cut(text)).toEqual(pieces)
})

test('no cut loses or breaks a character', () => {
  for (let n = 0; n < 40; n += 1) {
    const text = 'x\u{1F600}'.repeat(n)
    const pieces = cut(text)
    expect(pieces).toHaveLength(3)
    expect(pieces.join('')).toBe(text)
    for (const piece of pieces) expect(piece.isWellFormed()).toBe(true)
  }
})
