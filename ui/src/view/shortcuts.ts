// The keys of the page: one table, read by the handler, the palette and the
// shortcuts page. Chords match the physical key, so that every layout has
// them, and none that a browser keeps for itself. Source: ui.md 2, design 6.

import { isTyping } from './answerKeys'
import { treeKeys } from './ops/keys'
import { terminalKeys } from './terminal/keys'

/** A chord; key is a physical code, such as KeyN, or a character such as `?`. */
export interface Chord {
  code?: string
  char?: string
  alt?: boolean
  /** Ctrl, or Command where the keyboard has it. */
  mod?: boolean
  shift?: boolean
}

export type ShortcutId =
  | 'palette'
  | 'agents'
  | 'work'
  | 'ops'
  | 'history'
  | 'settings'
  | 'newAgent'
  | 'project'
  | 'next'
  | 'search'
  | 'transcript'
  | 'shortcuts'

export interface Shortcut {
  id: ShortcutId
  chord: Chord
  /** As it is drawn. */
  keys: string
  does: string
  where: string
  /** Whether it also works while somebody types. */
  typing: boolean
}

/** The keys that work in the whole page. */
export const shortcuts: readonly Shortcut[] = [
  {
    id: 'palette',
    chord: { code: 'KeyK', mod: true },
    keys: 'Ctrl/⌘+K',
    does: 'Command palette',
    where: 'everywhere but a focused terminal',
    typing: true,
  },
  {
    id: 'agents',
    chord: { code: 'Digit1', mod: true, shift: true },
    keys: 'Ctrl+Shift+1',
    does: 'Agents',
    where: 'everywhere',
    typing: true,
  },
  {
    id: 'work',
    chord: { code: 'KeyW', alt: true },
    keys: 'Alt+W',
    does: 'Workspaces',
    where: 'everywhere but a focused terminal',
    typing: true,
  },
  {
    id: 'ops',
    chord: { code: 'KeyO', alt: true },
    keys: 'Alt+O',
    does: 'Ops: the live tree',
    where: 'everywhere but a focused terminal',
    typing: true,
  },
  {
    id: 'history',
    chord: { code: 'KeyH', alt: true },
    keys: 'Alt+H',
    does: 'History',
    where: 'outside fields',
    typing: false,
  },
  {
    id: 'settings',
    chord: { code: 'Comma', alt: true },
    keys: 'Alt+,',
    does: 'Settings',
    where: 'outside fields',
    typing: false,
  },
  {
    id: 'newAgent',
    chord: { code: 'KeyN', alt: true },
    keys: 'Alt+N',
    does: 'New agent',
    where: 'outside fields',
    typing: false,
  },
  {
    id: 'project',
    chord: { code: 'KeyP', alt: true },
    keys: 'Alt+P',
    does: 'Pick a project for a new agent',
    where: 'everywhere',
    typing: true,
  },
  {
    id: 'next',
    chord: { code: 'KeyJ', alt: true },
    keys: 'Alt+J',
    does: 'Next thing that needs you, in any conversation',
    where: 'everywhere',
    typing: true,
  },
  {
    id: 'search',
    chord: { char: '/' },
    keys: '/',
    does: 'Search conversations, or settings there',
    where: 'outside fields',
    typing: false,
  },
  {
    id: 'transcript',
    chord: { code: 'KeyO', mod: true, shift: true },
    keys: 'Ctrl/⌘+Shift+O',
    does: 'Next density of the transcript',
    where: 'outside fields',
    typing: false,
  },
  {
    id: 'shortcuts',
    chord: { char: '?' },
    keys: '?',
    does: 'This page',
    where: 'outside fields',
    typing: false,
  },
]

/** Keys that belong to one place; their places handle them. */
export const placeKeys: readonly { place: string; rows: readonly [string, string][] }[] = [
  {
    place: 'Composer',
    rows: [
      ['Enter', 'Send; a newline on touch'],
      ['Ctrl/⌘+Enter', 'Send, also on touch'],
      ['Shift+Enter', 'Newline'],
      ['Shift+Tab', 'Next posture'],
      ['↑ ↓', 'Older and newer turns of yours, in an empty field'],
      ['@', 'Mention a file'],
      ['/', 'Commands'],
      ['Enter or Tab', 'Pick the highlighted row of an open list'],
      ['Esc', 'Close the list; leave the older turns'],
    ],
  },
  {
    place: 'Conversation, outside fields',
    rows: [
      ['Y', 'Allow what waits first; else keep the edit'],
      ['N', 'Deny what waits first; else undo the edit'],
      ['1 to 4', 'Choose how to go on from a plan'],
      ['Alt+R', 'Open the review, or close it'],
      ['Ctrl/⌘+F', 'Search in the conversation'],
    ],
  },
  {
    place: 'Review',
    rows: [
      ['J K', 'Next and previous hunk'],
      ['↑ ↓', 'Line of the hunk'],
      ['X', 'Keep the hunk, or not'],
      ['C', 'Comment on the line'],
      ['V', 'Viewed, or not'],
      ['Y N', 'Keep and undo the file that waits'],
      ['Esc', 'Close'],
    ],
  },
  {
    place: 'Workspace',
    rows: terminalKeys,
  },
  {
    place: 'Ops tree',
    rows: treeKeys,
  },
  {
    place: 'List',
    rows: [
      ['F2', 'Rename'],
      ['↑ ↓', 'Move'],
      ['Enter', 'Open'],
    ],
  },
]

interface Stroke {
  key: string
  code: string
  altKey: boolean
  ctrlKey: boolean
  metaKey: boolean
  shiftKey: boolean
}

/** Whether a stroke is the chord; a character brings its own shift. */
export function strikes(c: Chord, e: Stroke): boolean {
  if (e.altKey !== (c.alt ?? false)) return false
  if ((e.ctrlKey || e.metaKey) !== (c.mod ?? false)) return false
  if (c.char !== undefined) return e.key === c.char
  return e.code === c.code && e.shiftKey === (c.shift ?? false)
}

/**
 * Listens for the keys of the page until the disposer runs. run says whether
 * it took the stroke; what it leaves keeps its meaning for the browser.
 */
export function installShortcuts(doc: Document, run: (id: ShortcutId) => boolean): () => void {
  const onKey = (e: KeyboardEvent): void => {
    if (e.defaultPrevented || e.isComposing) return
    const hit = shortcuts.find((s) => strikes(s.chord, e))
    if (!hit) return
    if (isTyping(e.target) && (!hit.typing || isLetter(hit.chord))) return
    if (inTerminal(e.target)) return
    if (doc.querySelector('[role="dialog"]') && hit.id !== 'palette') return
    if (run(hit.id)) e.preventDefault()
  }
  doc.addEventListener('keydown', onKey)
  return () => doc.removeEventListener('keydown', onKey)
}

/** On a Mac, Option and a key write a letter into the field that has them. */
const isLetter = (c: Chord): boolean => c.alt === true && /Mac/.test(navigator.userAgent)

/** A terminal takes every key itself. */
const inTerminal = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('.xterm, [data-terminal]') !== null

/** The drawn keys of one shortcut. */
export function keysOf(id: ShortcutId): string {
  return shortcuts.find((s) => s.id === id)?.keys ?? ''
}
