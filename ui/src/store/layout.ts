// How the tiles of a workspace share its room: a tree of splits, as pure
// functions. What is drawn are rectangles in one flat list, so that no change
// of the tree ever makes a tile anew. Source: ui.md 15.

export type Direction = 'row' | 'column'

/** A tile, or a split whose shares sum to 1. */
export type LayoutNode =
  { pane: string } | { split: Direction; parts: LayoutNode[]; shares: number[] }

/** Fractions of the room, 0 to 1. */
export interface Rect {
  left: number
  top: number
  width: number
  height: number
}

/** A line between two neighbours that can be dragged. */
export interface Divider {
  /** The way to its split, by the numbers of the parts. */
  path: number[]
  /** It lies behind this part. */
  index: number
  direction: Direction
  rect: Rect
  /** The share of the part before it, and of that and the next. */
  share: number
  both: number
}

export type Side = 'left' | 'right' | 'top' | 'bottom' | 'middle'

// A tile that is smaller cannot be seen, let alone grown again.
export const leastShare = 0.08

const isLeaf = (n: LayoutNode): n is { pane: string } => 'pane' in n
const leaf = (pane: string): LayoutNode => ({ pane })
const even = (n: number): number[] => Array.from({ length: n }, () => 1 / n)

/** A split; one part is that part, and a part of the same direction is merged. */
function join(split: Direction, parts: LayoutNode[], shares: number[]): LayoutNode | undefined {
  const flat: LayoutNode[] = []
  const sizes: number[] = []
  parts.forEach((part, i) => {
    const share = shares[i] ?? 0
    if (!isLeaf(part) && part.split === split) {
      part.parts.forEach((p, j) => {
        flat.push(p)
        sizes.push(share * (part.shares[j] ?? 0))
      })
      return
    }
    flat.push(part)
    sizes.push(share)
  })
  if (flat.length < 2) return flat[0]
  const sum = sizes.reduce((a, b) => a + b, 0)
  return { split, parts: flat, shares: sum > 0 ? sizes.map((s) => s / sum) : even(flat.length) }
}

/** The tiles of a layout, left to right and top down. */
export function panesOf(n: LayoutNode | undefined): string[] {
  if (!n) return []
  return isLeaf(n) ? [n.pane] : n.parts.flatMap(panesOf)
}

/** The presets: alone, side by side, two by two, three by two. */
export function arrange(panes: readonly string[]): LayoutNode | undefined {
  const columns = panes.length <= 1 ? 1 : panes.length <= 4 ? 2 : 3
  const rows: string[][] = []
  for (let i = 0; i < panes.length; i += columns) rows.push(panes.slice(i, i + columns))
  const lines = rows.flatMap((r) => join('row', r.map(leaf), even(r.length)) ?? [])
  return join('column', lines, even(lines.length))
}

export function without(n: LayoutNode | undefined, pane: string): LayoutNode | undefined {
  if (!n) return undefined
  if (isLeaf(n)) return n.pane === pane ? undefined : n
  const kept = n.parts.map((p) => without(p, pane))
  const parts: LayoutNode[] = []
  const shares: number[] = []
  kept.forEach((p, i) => {
    if (!p) return
    parts.push(p)
    shares.push(n.shares[i] ?? 0)
  })
  return join(n.split, parts, shares)
}

/** Puts a tile beside all others, with the room that one of them has. */
export function append(n: LayoutNode | undefined, pane: string): LayoutNode {
  if (!n) return leaf(pane)
  if (isLeaf(n)) return { split: 'row', parts: [n, leaf(pane)], shares: even(2) }
  const count = n.parts.length
  return {
    split: n.split,
    parts: [...n.parts, leaf(pane)],
    shares: [...n.shares.map((s) => (s * count) / (count + 1)), 1 / (count + 1)],
  }
}

/** Takes away what is no pane any more and appends what is new. */
export function reconcile(
  n: LayoutNode | undefined,
  panes: readonly string[],
): LayoutNode | undefined {
  const wanted = new Set(panes)
  let next = n
  const seen = new Set<string>()
  const drawn = panesOf(n)
  // Nothing in it can be trusted when one tile is at two places.
  if (new Set(drawn).size < drawn.length) return arrange(panes)
  for (const p of drawn) {
    if (!wanted.has(p)) next = without(next, p)
    seen.add(p)
  }
  for (const p of panes) if (!seen.has(p)) next = append(next, p)
  return next
}

/** Splits one tile: the new one takes that half of it. */
export function beside(
  n: LayoutNode | undefined,
  target: string,
  pane: string,
  side: Exclude<Side, 'middle'>,
): LayoutNode | undefined {
  if (!n) return leaf(pane)
  const direction: Direction = side === 'left' || side === 'right' ? 'row' : 'column'
  const first = side === 'left' || side === 'top'
  const put = (at: LayoutNode): LayoutNode => {
    if (isLeaf(at)) {
      if (at.pane !== target) return at
      const both = first ? [leaf(pane), at] : [at, leaf(pane)]
      return { split: direction, parts: both, shares: even(2) }
    }
    return join(at.split, at.parts.map(put), at.shares) ?? at
  }
  return put(n)
}

/** Drops a tile on another one: beside it, or in its place. */
export function move(
  n: LayoutNode | undefined,
  pane: string,
  target: string,
  side: Side,
): LayoutNode | undefined {
  if (!n || pane === target) return n
  if (side === 'middle') return swap(n, pane, target)
  return beside(without(n, pane), target, pane, side)
}

function swap(n: LayoutNode, a: string, b: string): LayoutNode {
  if (isLeaf(n)) return n.pane === a ? leaf(b) : n.pane === b ? leaf(a) : n
  return { ...n, parts: n.parts.map((p) => swap(p, a, b)) }
}

/** Gives the part before a divider another share; none may vanish. */
export function resize(
  n: LayoutNode,
  path: readonly number[],
  index: number,
  share: number,
): LayoutNode {
  if (isLeaf(n)) return n
  const [head, ...rest] = path
  if (head !== undefined) {
    return { ...n, parts: n.parts.map((p, i) => (i === head ? resize(p, rest, index, share) : p)) }
  }
  const both = (n.shares[index] ?? 0) + (n.shares[index + 1] ?? 0)
  const least = Math.min(leastShare, both / 2)
  const first = Math.min(Math.max(share, least), both - least)
  return {
    ...n,
    shares: n.shares.map((s, i) => (i === index ? first : i === index + 1 ? both - first : s)),
  }
}

const whole: Rect = { left: 0, top: 0, width: 1, height: 1 }

function partRects(n: { split: Direction; shares: number[] }, room: Rect): Rect[] {
  let at = 0
  return n.shares.map((share) => {
    const rect =
      n.split === 'row'
        ? { ...room, left: room.left + at * room.width, width: share * room.width }
        : { ...room, top: room.top + at * room.height, height: share * room.height }
    at += share
    return rect
  })
}

/** Where every tile lies. */
export function rectsOf(n: LayoutNode | undefined, room: Rect = whole): Map<string, Rect> {
  const all = new Map<string, Rect>()
  if (!n) return all
  if (isLeaf(n)) return all.set(n.pane, room)
  const rects = partRects(n, room)
  n.parts.forEach((part, i) => {
    for (const [pane, rect] of rectsOf(part, rects[i] ?? room)) all.set(pane, rect)
  })
  return all
}

/** The lines between the tiles. */
export function dividersOf(
  n: LayoutNode | undefined,
  room: Rect = whole,
  path: number[] = [],
): Divider[] {
  if (!n || isLeaf(n)) return []
  const rects = partRects(n, room)
  return n.parts.flatMap((part, i) => {
    const rect = rects[i] ?? room
    const inner = dividersOf(part, rect, [...path, i])
    if (i === n.parts.length - 1) return inner
    const line =
      n.split === 'row'
        ? { ...rect, left: rect.left + rect.width, width: 0 }
        : { ...rect, top: rect.top + rect.height, height: 0 }
    const share = n.shares[i] ?? 0
    const both = share + (n.shares[i + 1] ?? 0)
    return [{ path, index: i, direction: n.split, rect: line, share, both }, ...inner]
  })
}

/** The tile that lies that way, the one with the most border in common. */
export function neighbour(
  n: LayoutNode | undefined,
  pane: string,
  way: 'left' | 'right' | 'up' | 'down',
): string | undefined {
  const rects = rectsOf(n)
  const from = rects.get(pane)
  if (!from) return undefined
  const flat = way === 'left' || way === 'right'
  const near = 1e-6
  let best: { pane: string; gap: number; common: number } | undefined
  for (const [other, r] of rects) {
    if (other === pane) continue
    const gap =
      way === 'left'
        ? from.left - (r.left + r.width)
        : way === 'right'
          ? r.left - (from.left + from.width)
          : way === 'up'
            ? from.top - (r.top + r.height)
            : r.top - (from.top + from.height)
    const common = flat
      ? Math.min(from.top + from.height, r.top + r.height) - Math.max(from.top, r.top)
      : Math.min(from.left + from.width, r.left + r.width) - Math.max(from.left, r.left)
    if (gap < -near || common <= near) continue
    if (!best || gap < best.gap - near || (gap < best.gap + near && common > best.common + near))
      best = { pane: other, gap, common }
  }
  return best?.pane
}

/** Reads a saved layout; undefined for one that makes no sense. */
export function readLayout(v: unknown, depth = 0): LayoutNode | undefined {
  if (typeof v !== 'object' || v === null || depth > 12) return undefined
  const pane: unknown = Reflect.get(v, 'pane')
  if (typeof pane === 'string' && pane !== '') return leaf(pane)
  const split: unknown = Reflect.get(v, 'split')
  const parts: unknown = Reflect.get(v, 'parts')
  const shares: unknown = Reflect.get(v, 'shares')
  if ((split !== 'row' && split !== 'column') || !Array.isArray(parts) || !Array.isArray(shares))
    return undefined
  const read: LayoutNode[] = []
  const sizes: number[] = []
  parts.forEach((p: unknown, i) => {
    const node = readLayout(p, depth + 1)
    const share: unknown = shares[i]
    if (!node) return
    read.push(node)
    sizes.push(typeof share === 'number' && share > 0 && share <= 1 ? share : 1 / parts.length)
  })
  return join(split, read, sizes)
}
