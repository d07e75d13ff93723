// Reads what is told of terminals. The rules are those of guards.ts.

import type { Terminal, TerminalEvent, TerminalPreset } from './gen'
import { presetKindValues, terminalStateValues, terminalWhatValues } from './gen'
import { bool, isRecord, list, num, oneOf, rec, str, strings } from './guards'

const nullableNumber = (v: unknown): number | null => (typeof v === 'number' ? v : null)
const nullableText = (v: unknown): string | null => (typeof v === 'string' && v !== '' ? v : null)

function readTerminal(v: unknown): Terminal {
  const r = rec(v)
  return {
    terminal_id: str(r.terminal_id),
    command: str(r.command),
    args: strings(r.args),
    cwd: str(r.cwd),
    state: oneOf(r.state, terminalStateValues, 'ended'),
    child_pid: num(r.child_pid),
    cols: num(r.cols),
    rows: num(r.rows),
    title: str(r.title),
    exit_code: nullableNumber(r.exit_code),
    signal: nullableText(r.signal),
    offset: num(r.offset),
    viewers: num(r.viewers),
    started: str(r.started),
  }
}

export const readTerminals = (v: unknown): Terminal[] =>
  list(v)
    .map(readTerminal)
    .filter((t) => t.terminal_id !== '')

export const readPresets = (v: unknown): TerminalPreset[] =>
  list(v)
    .map((p): TerminalPreset => {
      const r = rec(p)
      return {
        id: str(r.id),
        label: str(r.label) || str(r.command),
        kind: oneOf(r.kind, presetKindValues, 'shell'),
        command: str(r.command),
        args: strings(r.args),
        path: str(r.path),
        default: bool(r.default),
      }
    })
    .filter((p) => p.command !== '')

export const readOpenedTerminal = (v: unknown): string => str(rec(v).terminal_id)

/** One event of a terminal; undefined for a kind that this page does not know. */
export function readTerminalEvent(what: string, data: unknown): TerminalEvent | undefined {
  const r = isRecord(data) ? data : {}
  const kind = terminalWhatValues.find((w) => w === what)
  switch (kind) {
    case 'opened':
      return {
        what: kind,
        payload: {
          command: str(r.command),
          args: strings(r.args),
          cwd: str(r.cwd),
          cols: num(r.cols),
          rows: num(r.rows),
        },
      }
    case 'exited':
      return {
        what: kind,
        payload: { exit_code: num(r.exit_code), signal: nullableText(r.signal) },
      }
    case 'resized':
      return { what: kind, payload: { cols: num(r.cols), rows: num(r.rows) } }
    case 'title':
      return { what: kind, payload: { title: str(r.title) } }
    case 'closed':
      return { what: kind, payload: {} }
    case undefined:
      return undefined
  }
}
