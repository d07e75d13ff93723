import { describe, expect, it } from 'vitest'
import { hunksOf, mergeHunks } from './hunks'

/** Numbers that are the same in every run. */
function dice(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * n)
  }
}

/** A text of up to `most` lines out of few words, with ends of every kind. */
function text(roll: (n: number) => number, most: number): string {
  const ends = ['\n', '\n', '\n', '\r\n']
  const lines = Array.from(
    { length: roll(most) },
    () => (['a', 'b', '', '  c', 'ü'][roll(5)] ?? '') + (ends[roll(4)] ?? ''),
  )
  return lines.join('') + (roll(3) === 0 ? 'no end' : '')
}

/** An edit of a text: some lines replaced, dropped or put in. */
function edited(roll: (n: number) => number, before: string): string {
  return (before.match(/[^\n]*\n|[^\n]+$/g) ?? [])
    .flatMap((line) => {
      const what = roll(8)
      if (what === 0) return []
      if (what === 1) return ['new\n', line]
      return what === 2 ? ['changed\n'] : [line]
    })
    .join('')
}

const pairs: [string, string][] = (() => {
  const roll = dice(11)
  return Array.from({ length: 600 }, (_, i): [string, string] => {
    const before = text(roll, 40)
    return [before, i % 3 === 0 ? text(roll, 40) : edited(roll, before)]
  })
})()

describe('mergeHunks', () => {
  it('gives the new text when all are kept and the old one when none is', () => {
    for (const [before, after] of pairs) {
      const n = hunksOf(before, after).length
      expect(mergeHunks(before, after, Array(n).fill(true))).toBe(after)
      expect(mergeHunks(before, after, Array(n).fill(false))).toBe(before)
      expect(mergeHunks(before, after, [])).toBe(after)
    }
  })
  it('changes just the lines of the hunks that are kept', () => {
    const roll = dice(5)
    for (const [before, after] of pairs) {
      const hunks = hunksOf(before, after)
      const keep = hunks.map(() => roll(2) === 0)
      const merged = mergeHunks(before, after, keep)
      const kept = hunks.filter((_, i) => keep[i])
      const count = (s: string): number => (s.match(/[^\n]*\n|[^\n]+$/g) ?? []).length
      const grown = kept.reduce((n, h) => n + h.added - h.removed, 0)
      // A last line without an end takes the next one along with it.
      if (/\n$/.test(before) && /\n$/.test(after)) {
        expect(count(merged)).toBe(count(before) + grown)
      }
      if (kept.length === 0) expect(merged).toBe(before)
      if (kept.length === hunks.length) expect(merged).toBe(after)
    }
  })
  it('undoes one hunk after the other until the old text is back', () => {
    for (const [before, after] of pairs) {
      let now = after
      for (let left = hunksOf(before, now).length; left > 0;) {
        now = mergeHunks(before, now, [false])
        const next = hunksOf(before, now).length
        expect(next).toBeLessThan(left)
        left = next
      }
      expect(now).toBe(before)
    }
  })
  it('keeps two of five', () => {
    const before = Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join('')
    const after = [5, 15, 25, 35, 45].reduce(
      (s, n) => s.replace(`line ${n}\n`, `changed ${n}\n`),
      before,
    )
    expect(hunksOf(before, after).map((h) => h.line)).toEqual([6, 16, 26, 36, 46])
    const merged = mergeHunks(before, after, [false, true, false, true, false])
    expect(merged).toBe(
      before.replace('line 15\n', 'changed 15\n').replace('line 35\n', 'changed 35\n'),
    )
  })
  it('leaves line ends and a missing last one as they are', () => {
    const before = 'a\r\nb\r\nc\r\nd\r\ne\r\nf'
    const after = 'A\r\nb\r\nc\r\nd\r\ne\r\nf\r\n'
    expect(hunksOf(before, after)).toHaveLength(2)
    expect(mergeHunks(before, after, [true, false])).toBe('A\r\nb\r\nc\r\nd\r\ne\r\nf')
    expect(mergeHunks(before, after, [false, true])).toBe('a\r\nb\r\nc\r\nd\r\ne\r\nf\r\n')
  })
})

describe('hunksOf', () => {
  it('tells nothing of equal texts and one hunk of a new file', () => {
    expect(hunksOf('a\n', 'a\n')).toEqual([])
    expect(hunksOf('', 'a\nb\n')).toMatchObject([{ line: 1, added: 2, removed: 0 }])
  })
  it('joins changes that two lines or fewer lie between', () => {
    const lines = (changed: number[]) =>
      Array.from({ length: 9 }, (_, i) => (changed.includes(i) ? `x${i}\n` : `${i}\n`)).join('')
    expect(hunksOf(lines([]), lines([2, 5]))).toHaveLength(1)
    expect(hunksOf(lines([]), lines([2, 6]))).toHaveLength(2)
  })
  it('shows each unchanged line at most once', () => {
    for (const [before, after] of pairs) {
      const shown = hunksOf(before, after).flatMap((h) => [...h.lead, ...h.lines, ...h.trail])
      const numbers = shown.flatMap((l) => (l.type === 'add' ? [] : [l.before]))
      expect(numbers).toEqual([...new Set(numbers)].sort((x, y) => x - y))
    }
  })
  it('stays quick for a file that was rewritten as a whole', () => {
    const before = Array.from({ length: 5000 }, (_, i) => `old ${i}\n`).join('')
    const after = Array.from({ length: 5000 }, (_, i) => `new ${i}\n`).join('')
    expect(hunksOf(before, after)).toHaveLength(1)
    expect(mergeHunks(before, after, [false])).toBe(before)
  })
})
