import { describe, expect, it } from 'vitest'
import type { LayoutNode, Side } from './layout'
import {
  append,
  arrange,
  beside,
  dividersOf,
  leastShare,
  move,
  neighbour,
  panesOf,
  readLayout,
  reconcile,
  rectsOf,
  resize,
  without,
} from './layout'

const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `p${i}`)

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): () => number {
  let s = seed
  return () => {
    s = (s * 1664525 + 1013904223) % 4294967296
    return s / 4294967296
  }
}

/** Every tile once, no gap, no overlap, nothing without a size. */
function check(n: LayoutNode | undefined, panes: string[]): void {
  expect(panesOf(n).sort()).toEqual([...panes].sort())
  const rects = [...rectsOf(n).values()]
  const area = rects.reduce((sum, r) => sum + r.width * r.height, 0)
  if (panes.length > 0) expect(area).toBeCloseTo(1, 6)
  for (const r of rects) {
    expect(Math.min(r.width, r.height)).toBeGreaterThan(0)
    expect(r.left + r.width).toBeLessThanOrEqual(1 + 1e-9)
    expect(r.top + r.height).toBeLessThanOrEqual(1 + 1e-9)
  }
  rects.forEach((a, i) => {
    for (const b of rects.slice(i + 1)) {
      const x = Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left)
      const y = Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top)
      expect(Math.min(x, y)).toBeLessThan(1e-6)
    }
  })
}

describe('presets', () => {
  it.each([
    [1, 1, 1],
    [2, 1, 2],
    [3, 2, 2],
    [4, 2, 2],
    [5, 2, 3],
    [6, 2, 3],
  ])('%d tiles in %d rows of %d', (count, rows, columns) => {
    const layout = arrange(names(count))
    const rects = [...rectsOf(layout).values()]
    expect(new Set(rects.map((r) => r.top)).size).toBe(rows)
    expect(rects.filter((r) => r.top === 0)).toHaveLength(columns)
    check(layout, names(count))
  })
  it('has nothing for no tiles', () => {
    expect(arrange([])).toBeUndefined()
  })
})

it('keeps every tile once, without gap or overlap, whatever is done', () => {
  const sides: Side[] = ['left', 'right', 'top', 'bottom', 'middle']
  for (let seed = 1; seed <= 60; seed++) {
    const random = numbers(seed)
    const pick = <T>(all: T[]): T | undefined => all[Math.floor(random() * all.length)]
    let panes = names(1 + Math.floor(random() * 6))
    let layout = arrange(panes)
    for (let step = 0; step < 25; step++) {
      const a = pick(panes) ?? ''
      const b = pick(panes) ?? ''
      const what = Math.floor(random() * 5)
      if (what === 0) layout = move(layout, a, b, pick(sides) ?? 'left')
      else if (what === 1 && panes.length < 9) {
        panes = [...panes, `n${seed}-${step}`]
        layout = append(layout, `n${seed}-${step}`)
      } else if (what === 2 && panes.length > 1) {
        panes = panes.filter((p) => p !== a)
        layout = without(layout, a)
      } else if (what === 3) {
        const d = pick(dividersOf(layout))
        if (d && layout) layout = resize(layout, d.path, d.index, random() * 1.4 - 0.2)
      } else {
        layout = readLayout(JSON.parse(JSON.stringify(layout)))
      }
      check(layout, panes)
    }
  }
})

it('splits the tile that another is dropped on', () => {
  const layout = move(arrange(['a', 'b', 'c']), 'c', 'a', 'bottom')
  const r = rectsOf(layout)
  expect(r.get('a')).toEqual({ left: 0, top: 0, width: 0.5, height: 0.5 })
  expect(r.get('c')).toEqual({ left: 0, top: 0.5, width: 0.5, height: 0.5 })
  expect(r.get('b')).toEqual({ left: 0.5, top: 0, width: 0.5, height: 1 })
})

it('changes places in the middle', () => {
  const before = arrange(['a', 'b', 'c', 'd'])
  const r = rectsOf(move(before, 'a', 'd', 'middle'))
  expect(r.get('a')).toEqual(rectsOf(before).get('d'))
  expect(r.get('d')).toEqual(rectsOf(before).get('a'))
})

it('puts a new tile beside one', () => {
  const r = rectsOf(beside(arrange(['a']), 'a', 'b', 'left'))
  expect(r.get('b')).toEqual({ left: 0, top: 0, width: 0.5, height: 1 })
})

it('lets no tile vanish', () => {
  const layout = arrange(['a', 'b'])
  for (const share of [-1, 0, 1, 5]) {
    if (!layout) throw new Error('There is a layout for two tiles.')
    const r = rectsOf(resize(layout, [], 0, share))
    expect(r.get('a')?.width).toBeGreaterThanOrEqual(leastShare - 1e-9)
    expect(r.get('b')?.width).toBeGreaterThanOrEqual(leastShare - 1e-9)
  }
})

it('reconciles a saved layout with the tiles that are', () => {
  const saved = arrange(['a', 'gone', 'b'])
  const layout = reconcile(saved, ['a', 'b', 'new'])
  check(layout, ['a', 'b', 'new'])
  expect(reconcile(undefined, [])).toBeUndefined()
  const twice = readLayout({
    split: 'row',
    parts: [{ pane: 'a' }, { pane: 'a' }],
    shares: [0.5, 0.5],
  })
  check(reconcile(twice, ['a', 'b']), ['a', 'b'])
})

it.each([
  ['a', 'right', 'b'],
  ['a', 'down', 'c'],
  ['d', 'left', 'c'],
  ['d', 'up', 'b'],
  ['a', 'left', undefined],
  ['nobody', 'left', undefined],
] as const)('from %s %s is %s', (from, way, want) => {
  expect(neighbour(arrange(['a', 'b', 'c', 'd']), from, way)).toBe(want)
})

it('reads nothing from nonsense', () => {
  for (const v of [
    null,
    3,
    'x',
    {},
    { pane: '' },
    { split: 'row' },
    { split: 'up', parts: [], shares: [] },
  ])
    expect(readLayout(v)).toBeUndefined()
  expect(readLayout({ split: 'row', parts: [{ pane: 'a' }, 7], shares: [0.5, 0.5] })).toEqual({
    pane: 'a',
  })
  expect(
    readLayout({ split: 'row', parts: [{ pane: 'a' }, { pane: 'b' }], shares: ['x', -1] }),
  ).toEqual({
    split: 'row',
    parts: [{ pane: 'a' }, { pane: 'b' }],
    shares: [0.5, 0.5],
  })
})
