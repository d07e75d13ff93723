import { expect, test } from 'vitest'

import { LineSplitter } from './lines.js'

function collect(limit?: number): { splitter: LineSplitter; lines: (string | undefined)[] } {
  const lines: (string | undefined)[] = []
  const splitter = new LineSplitter((line) => lines.push(line?.toString('utf8')), limit)
  return { splitter, lines }
}

test('100 KB in one-byte reads is one line (F68)', () => {
  const { splitter, lines } = collect()
  const text = 'x'.repeat(100_000)
  for (const byte of Buffer.from(`${text}\n`)) splitter.push(Buffer.of(byte))
  expect(lines).toEqual([text])
})

test('a large frame behind another one arrives whole (F69)', () => {
  const { splitter, lines } = collect()
  const large = 'y'.repeat(300_000)
  splitter.push(Buffer.from(`first\n${large}\nthi`))
  splitter.push(Buffer.from('rd'))
  expect(lines).toEqual(['first', large])
  splitter.end()
  expect(lines.at(-1)).toBe('third')
})

test('a character that is split between two reads stays whole (F01)', () => {
  const { splitter, lines } = collect()
  splitter.push(Buffer.from([0xe2]))
  splitter.push(Buffer.from([0x80, 0x94, 0x0a]))
  expect(lines).toEqual(['\u2014'])
})

test('a line over the limit is dropped, the next one is not (F66, F67)', () => {
  const { splitter, lines } = collect(4)
  splitter.push(Buffer.from('12345'))
  splitter.push(Buffer.from('678\nfour\n\n'))
  expect(lines).toEqual([undefined, 'four', ''])
})

test('any cut of any bytes gives the same lines', () => {
  const bytes = Buffer.from('a\n\nbb\n{"x":"\u{1F600}"}\nlast')
  const whole = collect()
  whole.splitter.push(bytes)
  whole.splitter.end()
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const { splitter, lines } = collect()
    splitter.push(bytes.subarray(0, cut))
    splitter.push(bytes.subarray(cut))
    splitter.end()
    expect(lines).toEqual(whole.lines)
  }
})
