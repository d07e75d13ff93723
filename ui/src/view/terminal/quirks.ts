// What xterm.js 6.0.0 gets wrong and a program can meet. Each goes with the
// version that mends it.

import type { IModes, IParser } from '@xterm/xterm'
import { isRecord } from '../../contract/guards'

/** The part of a terminal that is mended; the headless build has it too. */
export interface Mendable {
  readonly cols: number
  readonly rows: number
  readonly modes: IModes
  readonly parser: IParser
  readonly buffer: {
    readonly active: { readonly cursorX: number; readonly cursorY: number; readonly length: number }
  }
  input(data: string, wasUserInput?: boolean): void
}

/**
 * Mends a terminal:
 *
 * - erasing above (ED 1) in the last column of the last row throws where there
 *   is no line below, and with that the terminal stands still for good. All of
 *   the screen is erased then, which ED 2 does as well;
 * - a question for a mode (DECRQM) is answered here, since the published build
 *   does not survive every minifier.
 */
export function mend(term: Mendable): () => void {
  const cornered = (): boolean => {
    const b = term.buffer.active
    return b.cursorX >= term.cols - 1 && b.cursorY >= term.rows - 1 && b.length <= term.rows
  }
  const eraseAll = (params: (number | number[])[]): boolean => {
    if (params[0] !== 1 || !cornered()) return false
    const core: unknown = Reflect.get(term, '_core')
    const input: unknown = isRecord(core) ? Reflect.get(core, '_inputHandler') : undefined
    const erase: unknown = isRecord(input) ? Reflect.get(input, 'eraseInDisplay') : undefined
    // Without it the screen keeps what was to go, which is less than a standstill.
    if (typeof erase === 'function') Reflect.apply(erase, input, [{ params: [2], length: 1 }])
    return true
  }
  const handlers = [
    term.parser.registerCsiHandler({ final: 'J' }, eraseAll),
    term.parser.registerCsiHandler({ prefix: '?', final: 'J' }, eraseAll),
    term.parser.registerCsiHandler({ intermediates: '$', final: 'p' }, (params) => {
      term.input(`\x1b[${numberOf(params)};${ansiMode(term.modes, numberOf(params))}$y`, false)
      return true
    }),
    term.parser.registerCsiHandler({ prefix: '?', intermediates: '$', final: 'p' }, (params) => {
      term.input(`\x1b[?${numberOf(params)};${decMode(term.modes, numberOf(params))}$y`, false)
      return true
    }),
  ]
  return () => {
    for (const h of handlers) h.dispose()
  }
}

const numberOf = (params: (number | number[])[]): number =>
  typeof params[0] === 'number' ? params[0] : 0

// What DECRPM says of a mode. Source: VT510, DECRPM.
const unknown = 0
const set = 1
const unset = 2
const onOff = (on: boolean): number => (on ? set : unset)

const ansiMode = (m: IModes, mode: number): number => (mode === 4 ? onOff(m.insertMode) : unknown)

/** The modes that xterm tells of; of the others it says that it does not know. */
function decMode(m: IModes, mode: number): number {
  switch (mode) {
    case 1:
      return onOff(m.applicationCursorKeysMode)
    case 6:
      return onOff(m.originMode)
    case 7:
      return onOff(m.wraparoundMode)
    case 9:
      return onOff(m.mouseTrackingMode === 'x10')
    case 45:
      return onOff(m.reverseWraparoundMode)
    case 66:
      return onOff(m.applicationKeypadMode)
    case 1000:
      return onOff(m.mouseTrackingMode === 'vt200')
    case 1002:
      return onOff(m.mouseTrackingMode === 'drag')
    case 1003:
      return onOff(m.mouseTrackingMode === 'any')
    case 1004:
      return onOff(m.sendFocusMode)
    case 2004:
      return onOff(m.bracketedPasteMode)
    case 2026:
      return onOff(m.synchronizedOutputMode)
    default:
      return unknown
  }
}
