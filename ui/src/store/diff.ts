// A line diff for the card of a waiting edit. Pure and bounded: it is for
// reading, the service writes what was proposed. Myers' greedy algorithm on
// the lines between the common head and tail.

export type DiffLine =
  | { type: 'same'; before: number; after: number; text: string }
  | { type: 'add'; after: number; text: string }
  | { type: 'del'; before: number; text: string }
  | { type: 'skip'; count: number }

// Beyond this many differing lines the middle is shown as one replacement,
// because the exact answer would cost more time than a person would wait.
const maxEdits = 1500
const contextLines = 3

function split(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

// Bounds the search of changedLines as the service bounds its own, so that
// both give one number. Source: actors/turn/lines.go.
const maxDistance = 2000

/** Lines with their ends, so that a last line that only gained one has changed. */
export function withEnds(text: string): string[] {
  return text === '' ? [] : (text.match(/[^\n]*\n|[^\n]+$/g) ?? [])
}

/**
 * How many lines were added and removed, as few as possible; beyond
 * maxDistance every line between the first and the last difference counts.
 * Only lengths of paths are kept, no path.
 */
export function changedLines(before: string, after: string): { added: number; removed: number } {
  const whole = { a: withEnds(before), b: withEnds(after) }
  let head = 0
  while (head < whole.a.length && whole.a[head] === whole.b[head]) head++
  let tail = 0
  const most = Math.min(whole.a.length, whole.b.length) - head
  while (tail < most && whole.a.at(-1 - tail) === whole.b.at(-1 - tail)) tail++
  const a = whole.a.slice(head, whole.a.length - tail)
  const b = whole.b.slice(head, whole.b.length - tail)
  if (a.length === 0 || b.length === 0) return { added: b.length, removed: a.length }
  const limit = Math.min(a.length + b.length, maxDistance)
  const middle = limit + 1
  const reach = new Int32Array(2 * limit + 3)
  const at = (k: number): number => reach[middle + k] ?? 0
  for (let d = 0; d <= limit; d++) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(k - 1) < at(k + 1))
      let x = down ? at(k + 1) : at(k - 1) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      reach[middle + k] = x
      if (x >= a.length && x - k >= b.length) {
        const added = (d + b.length - a.length) / 2
        return { added, removed: d - added }
      }
    }
  }
  return { added: b.length, removed: a.length }
}

export type Op = 'same' | 'add' | 'del'

/** Equal lines get one number, so that comparing them costs one step. */
function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const names = new Map<string, number>()
  const number = (line: string): number => {
    const known = names.get(line)
    if (known !== undefined) return known
    names.set(line, names.size)
    return names.size - 1
  }
  return [Int32Array.from(a, number), Int32Array.from(b, number)]
}

/** What turns a into b, line by line; both without their common ends. */
function middle(a: Int32Array, b: Int32Array): Op[] {
  const n = a.length
  const m = b.length
  const replaced = [
    ...Array.from({ length: n }, (): Op => 'del'),
    ...Array.from({ length: m }, (): Op => 'add'),
  ]
  if (n === 0 || m === 0) return replaced
  const limit = Math.min(n + m, maxEdits)
  const zero = limit + 1
  const reach = new Int32Array(2 * limit + 3)
  // The reach before each step, around its zero, for the way back.
  const trace: Int32Array[] = []
  for (let d = 0; d <= limit; d++) {
    trace.push(reach.slice(zero - d - 1, zero + d + 2))
    for (let k = -d; k <= d; k += 2) {
      const left = reach[zero + k - 1] ?? 0
      const above = reach[zero + k + 1] ?? 0
      const down = k === -d || (k !== d && left < above)
      let x = down ? above : left + 1
      while (x < n && x - k < m && a[x] === b[x - k]) x++
      reach[zero + k] = x
      if (x >= n && x - k >= m) return walk(trace, d, n, m)
    }
  }
  return replaced
}

function walk(trace: Int32Array[], steps: number, n: number, m: number): Op[] {
  const ops: Op[] = []
  let x = n
  let y = m
  for (let d = steps; d > 0; d--) {
    const at = (k: number): number => trace[d]?.[k + d + 1] ?? 0
    const k = x - y
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1))
    const fromX = down ? at(k + 1) : at(k - 1)
    const fromY = fromX - (down ? k + 1 : k - 1)
    const stepX = down ? fromX : fromX + 1
    for (; x > stepX; x--, y--) ops.push('same')
    ops.push(down ? 'add' : 'del')
    x = fromX
    y = fromY
  }
  for (; x > 0; x--) ops.push('same')
  return ops.reverse()
}

/** The shortest way from one list of lines to the other, bounded by maxEdits. */
export function editScript(before: readonly string[], after: readonly string[]): Op[] {
  const [a, b] = numbered(before, after)
  const most = Math.min(a.length, b.length)
  let head = 0
  while (head < most && a[head] === b[head]) head++
  let tail = 0
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  return [
    ...Array.from({ length: head }, (): Op => 'same'),
    ...middle(a.subarray(head, a.length - tail), b.subarray(head, b.length - tail)),
    ...Array.from({ length: tail }, (): Op => 'same'),
  ]
}

/** All lines of both texts in order, unchanged runs folded to three lines. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = split(before)
  const b = split(after)
  const ops = editScript(a, b)
  let i = 0
  let j = 0
  const lines = ops.map((op): DiffLine => {
    if (op === 'same') return { type: 'same', before: ++i, after: ++j, text: b[j - 1] ?? '' }
    if (op === 'add') return { type: 'add', after: ++j, text: b[j - 1] ?? '' }
    return { type: 'del', before: ++i, text: a[i - 1] ?? '' }
  })
  return fold(lines)
}

function fold(lines: DiffLine[]): DiffLine[] {
  const near = lines.map(() => false)
  lines.forEach((line, i) => {
    if (line.type === 'same') return
    for (let k = Math.max(0, i - contextLines); k <= i + contextLines && k < near.length; k++) {
      near[k] = true
    }
  })
  const out: DiffLine[] = []
  lines.forEach((line, i) => {
    if (near[i]) {
      out.push(line)
      return
    }
    const last = out.at(-1)
    if (last?.type === 'skip') out.splice(-1, 1, { type: 'skip', count: last.count + 1 })
    else out.push({ type: 'skip', count: 1 })
  })
  return out
}
