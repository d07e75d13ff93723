// The few keys that a terminal leaves to the page. All others are the
// program's. Source: ui.md 2, design 6.

export type TerminalChord = 'copy' | 'find' | 'zoom' | 'leave' | 'left' | 'right' | 'up' | 'down'

export interface KeyStroke {
  type: string
  key: string
  code: string
  altKey: boolean
  ctrlKey: boolean
  metaKey: boolean
  shiftKey: boolean
}

const moves: Record<string, TerminalChord> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Escape: 'leave',
}

/** The chord of the page that a stroke is; undefined for a key of the program. */
export function chordOf(e: KeyStroke): TerminalChord | undefined {
  const { altKey: alt, shiftKey: shift } = e
  if (e.code === 'KeyC' && e.ctrlKey && !alt && !e.metaKey) return 'copy'
  if (e.code === 'KeyF' && shift && !alt && e.ctrlKey !== e.metaKey) return 'find'
  if (!alt || e.ctrlKey || e.metaKey) return undefined
  if (e.code === 'KeyZ' && !shift) return 'zoom'
  return shift ? moves[e.key] : undefined
}

/** As they are drawn on the page of shortcuts. */
export const terminalKeys: readonly [string, string][] = [
  ['Ctrl+C', 'Copy the selection; without one, the program gets the key'],
  ['Ctrl+Shift+F', 'Search in the scrollback'],
  ['Ctrl+click', 'Open a link'],
  ['Alt+Shift+arrow', 'To the tile beside'],
  ['Alt+Z', 'Zoom the tile, and back'],
  ['Alt+Shift+Esc', 'Out of the terminal, to the buttons of its tile'],
]
