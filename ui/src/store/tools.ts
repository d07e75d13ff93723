// What a tool call is about, for the card that shows it. One classifier
// decides what is rolled up, so that no call is shown twice or not at all.

import { isRecord, readInput } from '../contract/guards'
import type { ToolCall } from '../contract/model'
import { changedLines } from './diff'

export type ToolFamily =
  'read' | 'search' | 'list' | 'edit' | 'shell' | 'tasks' | 'agent' | 'web' | 'mcp' | 'other'

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
  NotebookRead: 'read',
  TodoWrite: 'tasks',
  task_list: 'tasks',
  task_create: 'tasks',
  task_update: 'tasks',
  spawn_subagent: 'agent',
  Task: 'agent',
  task: 'agent',
  web_fetch: 'web',
  web_search: 'web',
  WebFetch: 'web',
  WebSearch: 'web',
}

export function familyOf(name: string): ToolFamily {
  const known = families[name]
  if (known) return known
  if (name.startsWith('mcp__')) return 'mcp'
  return name.startsWith('agent_') ? 'agent' : 'other'
}

/** What a card calls a tool: one of a server with its server, others as they are. */
export function titleOf(name: string): string {
  if (!name.startsWith('mcp__')) return name
  const [server = '', ...tool] = name.slice(5).split('__')
  return tool.length === 0 ? server : `${server} · ${tool.join('__')}`
}

/** One line of a list of tasks. */
export interface Task {
  text: string
  state: 'pending' | 'in_progress' | 'completed'
}

const marks: Record<string, Task['state']> = { ' ': 'pending', '~': 'in_progress', x: 'completed' }

/** The tasks that a call lists, from its input or its Markdown checklist. */
export function tasksOf(call: ToolCall): Task[] {
  const todos = readInput(call.input).todos
  if (Array.isArray(todos)) {
    return todos.flatMap((todo) => {
      const r = isRecord(todo) ? todo : {}
      const state = r.status === 'completed' || r.status === 'in_progress' ? r.status : 'pending'
      const now = state === 'in_progress' ? text(r.activeForm) : ''
      const words = now || text(r.content)
      return words === '' ? [] : [{ text: words, state }]
    })
  }
  return [...call.content.matchAll(/^\s*- \[([ ~x])\] (.+)$/gm)].map((m) => ({
    text: m[2] ?? '',
    state: marks[m[1] ?? ' '] ?? 'pending',
  }))
}

/** A replacement that an edit call asks for; before is '' for a whole text. */
export interface Replacement {
  before: string
  after: string
}

/** What an edit call would change, as far as its input tells; else nothing. */
export function replacementsOf(name: string, input: string): Replacement[] {
  if (familyOf(name) !== 'edit') return []
  const r = readInput(input)
  const all = Array.isArray(r.edits) ? r.edits : [r]
  return all.flatMap((e) => {
    const one = isRecord(e) ? e : {}
    const before = text(one.old_string ?? one.old_text)
    const after = text(one.new_string ?? one.new_text ?? one.content ?? one.new_source)
    return before === '' && after === '' ? [] : [{ before, after }]
  })
}

/** What a sub-agent was sent to do, in a line. */
export function errandOf(call: ToolCall): string {
  const r = readInput(call.input)
  const words = text(r.description) || text(r.task) || text(r.prompt)
  return words.split('\n')[0] ?? ''
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

/** The files that an edit call names; none for another tool. */
export function editedPaths(call: ToolCall): string[] {
  if (familyOf(call.name) !== 'edit') return []
  if (call.modified_paths && call.modified_paths.length > 0) return call.modified_paths
  const r = readInput(call.input)
  const patch = text(r.patch ?? r.input)
  const named = [...patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)]
  if (named.length > 0) return named.map((m) => (m[1] ?? '').trim())
  const path = targetOf(call.name, call.input)
  return path === '' ? [] : [path]
}

/** The command of a shell call; empty for another tool. */
export function commandOf(name: string, input: string): string {
  return familyOf(name) === 'shell' ? text(readInput(input).command) : ''
}

/** Makes a path relative to the project, so that one file has one name. */
export function projectRelative(path: string, project: string): string {
  if (project === '') return path
  const root = project.replace(/[\\/]$/, '')
  const inside = path.startsWith(root) && /^[\\/]/.test(path.slice(root.length))
  if (!inside) return path
  const rest = path.slice(root.length + 1)
  // Only where a backslash divides folders; elsewhere it is a letter of a name.
  return /^[A-Za-z]:/.test(project) ? rest.replaceAll('\\', '/') : rest
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
  // Several replacements in one call count together.
  if (Array.isArray(r.edits)) {
    const sizes = r.edits.map((e) => replaced(isRecord(e) ? e : {}))
    return {
      added: sizes.reduce((n, x) => n + x.added, 0),
      removed: sizes.reduce((n, x) => n + x.removed, 0),
    }
  }
  if (text(r.new_source) !== '') return changedLines(before ?? '', text(r.new_source))
  const one = replaced(r)
  if (one.added + one.removed > 0) return one
  return changedLines(before ?? '', text(r.content))
}

function replaced(r: Record<string, unknown>): { added: number; removed: number } {
  const from = text(r.old_string ?? r.old_text)
  const to = text(r.new_string ?? r.new_text)
  return changedLines(from, to)
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
