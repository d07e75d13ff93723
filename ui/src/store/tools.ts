// What a tool call is about, for the card that shows it. One classifier
// decides what is rolled up, so that no call is shown twice or not at all.

import { readInput } from '../contract/guards'
import type { ToolCall } from '../contract/model'
import { changedLines } from './diff'

export type ToolFamily = 'read' | 'search' | 'list' | 'edit' | 'shell' | 'other'

// Names of every transport's tools. Source: ui.md 7.
const families: Record<string, ToolFamily> = {
  read_file: 'read',
  Read: 'read',
  grep: 'search',
  Grep: 'search',
  glob: 'search',
  Glob: 'search',
  search: 'search',
  list_directory: 'list',
  list_files: 'list',
  LS: 'list',
  ls: 'list',
  write_file: 'edit',
  edit_file: 'edit',
  Write: 'edit',
  Edit: 'edit',
  MultiEdit: 'edit',
  NotebookEdit: 'edit',
  apply_patch: 'edit',
  bash: 'shell',
  Bash: 'shell',
  shell: 'shell',
}

export function familyOf(name: string): ToolFamily {
  return families[name] ?? 'other'
}

export function isExploration(name: string): boolean {
  const f = familyOf(name)
  return f === 'read' || f === 'search' || f === 'list'
}

const text = (v: unknown): string => (typeof v === 'string' ? v : '')

/** The one thing a call is about: a command, a path, a pattern, an address. */
export function targetOf(name: string, input: string): string {
  const r = readInput(input)
  const keys = ['command', 'file_path', 'notebook_path', 'path', 'pattern', 'query', 'url', 'task']
  for (const key of keys) {
    const value = text(r[key])
    if (value !== '') return value
  }
  return familyOf(name) === 'list' ? '.' : ''
}

/** The command of a shell call; empty for another tool. */
export function commandOf(name: string, input: string): string {
  return familyOf(name) === 'shell' ? text(readInput(input).command) : ''
}

/** Makes a path relative to the project, so that one file has one name. */
export function projectRelative(path: string, project: string): string {
  const root = project.endsWith('/') ? project : project + '/'
  return project !== '' && path.startsWith(root) ? path.slice(root.length) : path
}

/**
 * Lines added and removed by an edit call: what the service counted, else as
 * far as the input tells. Then a whole file counts as added unless its earlier
 * text is known.
 */
export function editSize(
  call: ToolCall,
  before: string | null | undefined,
): { added: number; removed: number } {
  if (call.lines_added !== undefined) {
    return { added: call.lines_added, removed: call.lines_removed ?? 0 }
  }
  const r = readInput(call.input)
  const from = text(r.old_string ?? r.old_text)
  const to = text(r.new_string ?? r.new_text)
  if (from !== '' || to !== '') return changedLines(from, to)
  return changedLines(before ?? '', text(r.content))
}

/** Whether an edit was made whose size only the service knows for certain. */
export function lacksSize(calls: ToolCall[]): boolean {
  return calls.some(
    (t) => familyOf(t.name) === 'edit' && t.status === 'done' && t.lines_added === undefined,
  )
}

/**
 * The exit code of a shell call: the reported one, else the one that ends the
 * result of our own bash tool, which reports only failures as errors; else
 * unknown. Source: tools-permissions.md 1.
 */
export function exitCodeOf(call: ToolCall): number | undefined {
  if (call.exit_code !== undefined) return call.exit_code
  const said = /\[exit code: (-?\d+)\]\s*$/.exec(call.content.slice(-100))
  if (said?.[1] !== undefined) return Number(said[1])
  return call.status === 'done' ? 0 : undefined
}

/** Pretty JSON of an input, or the text itself when it is none. */
export function prettyInput(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2)
  } catch {
    return input
  }
}
