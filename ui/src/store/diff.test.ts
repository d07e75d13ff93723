import { describe, expect, it } from 'vitest'
import { changedLines, diffLines } from './diff'

/** Rebuilds both texts from a diff without folded lines. */
function rebuild(before: string, after: string): [string[], string[]] {
  const lines = diffLines(before, after)
  const a = before === '' ? [] : before.split('\n')
  if (a.at(-1) === '') a.pop()
  let at = 0
  const left: string[] = []
  const right: string[] = []
  for (const line of lines) {
    if (line.type === 'skip') {
      for (let i = 0; i < line.count; i++) {
        left.push(a[at] ?? '')
        right.push(a[at] ?? '')
        at++
      }
    } else if (line.type === 'same') {
      left.push(line.text)
      right.push(line.text)
      at++
    } else if (line.type === 'del') {
      left.push(line.text)
      at++
    } else right.push(line.text)
  }
  return [left, right]
}

const linesOf = (text: string): string[] => {
  const lines = text === '' ? [] : text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

describe('diffLines', () => {
  it('gives back both texts, for a thousand random pairs', () => {
    let seed = 7
    const random = (n: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed % n
    }
    for (let i = 0; i < 1000; i++) {
      const make = (): string =>
        Array.from({ length: random(14) }, () => 'abcd'[random(4)] + '\n').join('')
      const before = make()
      const after = make()
      expect(rebuild(before, after)).toEqual([linesOf(before), linesOf(after)])
    }
  })
  it('is short: one changed line is one removed and one added', () => {
    const lines = diffLines('a\nb\nc\n', 'a\nx\nc\n')
    expect(lines.filter((l) => l.type === 'add')).toHaveLength(1)
    expect(lines.filter((l) => l.type === 'del')).toHaveLength(1)
  })
  it('folds what is far from a change', () => {
    const many = Array.from({ length: 50 }, (_, i) => `line ${i}`).join('\n')
    const lines = diffLines(many, many.replace('line 25', 'changed'))
    expect(lines.filter((l) => l.type === 'skip')).toHaveLength(2)
    expect(lines.filter((l) => l.type === 'same')).toHaveLength(6)
  })
  it('numbers the lines of both sides', () => {
    expect(diffLines('a\n', 'b\na\n')).toEqual([
      { type: 'add', after: 1, text: 'b' },
      { type: 'same', before: 1, after: 2, text: 'a' },
    ])
  })
  it('stays bounded on texts that share nothing', () => {
    const make = (word: string): string =>
      Array.from({ length: 4000 }, (_, i) => `${word} ${i}`).join('\n')
    const lines = diffLines(make('a'), make('b'))
    expect(lines.filter((l) => l.type === 'add')).toHaveLength(4000)
  })
})

describe('changedLines', () => {
  const many = (letter: string) =>
    Array.from({ length: 3000 }, (_, i) => `${letter}${i}\n`).join('')
  // The rows of the service's own test of its count.
  it.each([
    ['', 'a\nb\n', 2, 0],
    ['', 'a\nb', 2, 0],
    ['', '', 0, 0],
    ['a\nb\n', '', 0, 2],
    ['a\nb\n', 'a\nb\n', 0, 0],
    ['a\nb\nc\n', 'a\nB\nc\n', 1, 1],
    ['a\nb\nc\nd\ne\n', 'A\nb\nc\nd\nE\nf\n', 3, 2],
    ['a\nb', 'a\nb\n', 1, 1],
    ['a\na\na\n', 'a\na\n', 0, 1],
    ['a\n\nb\n', 'a\nb\n', 0, 1],
    [many('a'), many('b'), 3000, 3000],
  ])('of %j and %j is +%i -%i', (before, after, added, removed) => {
    expect(changedLines(before, after)).toEqual({ added, removed })
  })
})
