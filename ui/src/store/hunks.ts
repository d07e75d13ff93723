// Hunks: the pieces of a change that are kept or undone one by one, and the
// text that comes of it. Pure. The text is put together from the lines of both
// sides with their ends, so that what nobody touched stays as it is, to the
// byte. A view shows hunks; what is written is decided here.

import { editScript, withEnds } from './diff'

/** One line of a hunk; numbers count from 1, text has no line end. */
export type HunkLine =
  | { type: 'same'; before: number; after: number; text: string }
  | { type: 'add'; after: number; text: string }
  | { type: 'del'; before: number; text: string }

export interface Hunk {
  /** Where it begins, as a person counts: the first line it changes. */
  line: number
  added: number
  removed: number
  /** Changed lines and what stands between them, in order. */
  lines: HunkLine[]
  /** Unchanged lines in front of and behind it, at most three each. */
  lead: HunkLine[]
  trail: HunkLine[]
}

/** A hunk as texts: count lines of before from `at` become `added`. */
interface Piece {
  at: number
  count: number
  added: string[]
}

interface Change {
  hunks: Hunk[]
  pieces: Piece[]
}

// Changes this close cannot be judged apart: they are one hunk. Lines.
const joined = 2
const contextLines = 3

const bare = (line: string): string => line.replace(/\r?\n$/, '')

function changeOf(before: string, after: string): Change {
  const a = withEnds(before)
  const b = withEnds(after)
  const ops = editScript(a, b)
  let i = 0
  let j = 0
  const all = ops.map((op): HunkLine => {
    if (op === 'same') return { type: 'same', before: ++i, after: ++j, text: bare(b[j - 1] ?? '') }
    if (op === 'add') return { type: 'add', after: ++j, text: bare(b[j - 1] ?? '') }
    return { type: 'del', before: ++i, text: bare(a[i - 1] ?? '') }
  })
  const spans = spansOf(all)
  const hunks: Hunk[] = []
  const pieces: Piece[] = []
  let beforeAt = 0
  let afterAt = 0
  let at = 0
  spans.forEach(([from, to], n) => {
    beforeAt += from - at
    afterAt += from - at
    const lines = all.slice(from, to)
    const removed = lines.filter((l) => l.type === 'del').length
    const added = lines.filter((l) => l.type === 'add').length
    const same = lines.length - removed - added
    const previous = spans[n - 1]?.[1] ?? 0
    // What leads to the next hunk is shown there.
    const next = spans[n + 1]?.[0]
    const end = next === undefined ? all.length : Math.max(to, next - contextLines)
    hunks.push({
      line: (removed > 0 ? beforeAt : afterAt) + 1,
      added,
      removed,
      lines,
      // A line between two hunks is shown once, with the second of them.
      lead: all.slice(Math.max(previous, from - contextLines), from),
      trail: all.slice(to, Math.min(to + contextLines, end)),
    })
    pieces.push({
      at: beforeAt,
      count: same + removed,
      added: b.slice(afterAt, afterAt + same + added),
    })
    beforeAt += same + removed
    afterAt += same + added
    at = to
  })
  return { hunks, pieces }
}

/** Runs of changed lines, [from, to), those close to each other as one. */
function spansOf(lines: HunkLine[]): [number, number][] {
  const spans: [number, number][] = []
  lines.forEach((line, i) => {
    if (line.type === 'same') return
    const last = spans.at(-1)
    if (last && i - last[1] <= joined) last[1] = i + 1
    else spans.push([i, i + 1])
  })
  return spans
}

/** The hunks between two texts, in order; none when they are equal. */
export function hunksOf(before: string, after: string): Hunk[] {
  return changeOf(before, after).hunks
}

/**
 * The text in which the hunks that are kept stand as in after, and the others
 * as in before. keep has one entry per hunk of hunksOf(before, after); one
 * that is missing counts as kept.
 */
export function mergeHunks(before: string, after: string, keep: readonly boolean[]): string {
  const lines = withEnds(before)
  const out: string[] = []
  let at = 0
  changeOf(before, after).pieces.forEach((piece, n) => {
    out.push(...lines.slice(at, piece.at))
    at = piece.at + piece.count
    out.push(...(keep[n] === false ? lines.slice(piece.at, at) : piece.added))
  })
  return out.concat(lines.slice(at)).join('')
}
