// Cuts a long Markdown text into pieces that read the same one by one, so that
// only the last piece is parsed again while an answer grows. Pure.

/** A text in pieces; joined they are the text. */
export interface Split {
  text: string
  /** Pieces that no longer change, whatever is appended. */
  settled: string[]
  /** Where the last piece begins. UTF-16 code units. */
  from: number
}

// A piece is at least this long; shorter texts stay whole. Code units.
const pieceLength = 1500

const fence = /^ {0,3}(`{3,}|~{3,})/
// Lines that may belong to what stood before an empty line.
const goesOn = /^(?:\s|[-*+] |\d+[.)] |>|\||\[|<)/
// A definition is read by the whole text; such a text is not cut.
const definition = /^ {0,3}\[[^\]]+\]:/m

const whole = (text: string): Split => ({ text, settled: [], from: 0 })

/**
 * Splits a text; before is what an earlier call gave for the beginning of it,
 * and spares reading that part again.
 */
export function splitMarkdown(text: string, before?: Split): Split {
  const known = before && text.startsWith(before.text.slice(0, before.from)) ? before : whole('')
  const tail = text.slice(known.from)
  if (definition.test(tail)) return whole(text)
  const settled = [...known.settled]
  let from = known.from
  let open = ''
  let at = known.from
  let blank = false
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    // The last line may still grow into something else.
    if (end < 0) break
    const line = text.slice(at, end)
    const mark = fence.exec(line)?.[1]
    if (open !== '') {
      const closes = mark && mark.startsWith(open) && line.trim() === mark
      if (closes) open = ''
    } else {
      if (blank && at - from >= pieceLength && line.trim() !== '' && !goesOn.test(line)) {
        settled.push(text.slice(from, at))
        from = at
      }
      if (mark) open = mark
    }
    blank = open === '' && line.trim() === ''
    at = end + 1
  }
  return { text, settled, from }
}

/** All pieces in order, the one that may still change last. */
export function piecesOf(split: Split): string[] {
  const last = split.text.slice(split.from)
  return last === '' ? split.settled : [...split.settled, last]
}
