// What the palette offers: pure, from what the window knows. `>` leaves only
// commands, `@` only conversations. It leads to a prompt and never answers one.
// Source: design 6.

import type { Summary } from '../../contract/model'
import { markOf } from '../../store/sections'
import type { IconName } from '../Icon'

export type PaletteGroup = 'Now' | 'Go to' | 'Do'

export interface PaletteRow {
  key: string
  group: PaletteGroup
  kind: 'command' | 'conversation'
  icon: IconName
  label: string
  note: string
  hue: 'amber' | 'blue' | 'red' | ''
  keys: string
  run: () => void
}

const groups: readonly PaletteGroup[] = ['Now', 'Go to', 'Do']

// Conversations that are listed; more are found by typing.
const mostConversations = 8

/** A conversation as a row. */
export function conversationRow(s: Summary, run: () => void): PaletteRow {
  const mark = markOf(s)
  return {
    key: `c:${s.session_id}`,
    group: 'Go to',
    kind: 'conversation',
    icon: 'agents',
    label: s.title || 'Untitled',
    note: mark.kind === 'need' ? 'needs you' : mark.kind === 'idle' ? '' : mark.words,
    hue:
      mark.kind === 'need'
        ? 'amber'
        : mark.kind === 'run'
          ? 'blue'
          : mark.kind === 'fail'
            ? 'red'
            : '',
    keys: '',
    run,
  }
}

/** Takes the prefix off a query. */
export function readQuery(typed: string): { only: PaletteRow['kind'] | ''; words: string } {
  const words = typed.trimStart()
  if (words.startsWith('>')) return { only: 'command', words: words.slice(1).trim() }
  if (words.startsWith('@')) return { only: 'conversation', words: words.slice(1).trim() }
  return { only: '', words: words.trim() }
}

/** Where the words stand in a label: at the start of a word first, -1 if not. */
export function placeOf(label: string, words: string): number {
  const at = ` ${label.toLowerCase()}`.indexOf(` ${words.toLowerCase()}`)
  return at >= 0 ? at : label.toLowerCase().indexOf(words.toLowerCase())
}

/** The rows of a query, in the order of their groups. */
export function search(rows: readonly PaletteRow[], typed: string): PaletteRow[] {
  const { only, words } = readQuery(typed)
  const found = rows.filter(
    (r) => (only === '' || r.kind === only) && (words === '' || placeOf(r.label, words) >= 0),
  )
  return groups.flatMap((g) => {
    const mine = found.filter((r) => r.group === g)
    const first = mine.filter((r) => r.kind === 'command')
    const listed = mine.filter((r) => r.kind === 'conversation').slice(0, mostConversations)
    return [...listed, ...first]
  })
}
