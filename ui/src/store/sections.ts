// The list of conversations: filters, search, sections. Pure. Source: ui.md 13.

import type { Summary } from '../contract/model'
import { baseName } from './format'

export type Filter = 'all' | 'active' | 'done' | 'archived'

export const filters: readonly { id: Filter; label: string }[] = [
  { id: 'all', label: 'All' },
  { id: 'active', label: 'Active' },
  { id: 'done', label: 'Done' },
  { id: 'archived', label: 'Archived' },
]

export function passes(s: Summary, filter: Filter): boolean {
  switch (filter) {
    case 'archived':
      return s.archived
    case 'all':
      return !s.archived
    case 'active':
      return !s.archived && (s.status === 'active' || s.status === 'idle')
    case 'done':
      return !s.archived && (s.status === 'done' || s.status === 'failed')
  }
}

/** The project of a row: a worktree belongs to the project it came from. */
export function homeOf(s: Summary): string {
  return s.worktree?.base_path || s.project_path
}

export interface Section {
  key: string
  title: string
  need: boolean
  rows: Summary[]
}

const order = (a: Summary, b: Summary): number =>
  Number(b.pinned) - Number(a.pinned) || b.updated_at.localeCompare(a.updated_at)

/**
 * Needs you first, then one section per project. A search looks at every
 * conversation, archived ones too, and is not split by need; said are those
 * whose messages hold the words, as far as the service has answered.
 */
export function sectionsOf(
  all: Summary[],
  filter: Filter,
  search: string,
  said: readonly string[] = [],
): Section[] {
  const wanted = search.trim().toLowerCase()
  const found = all.filter((s) =>
    wanted === ''
      ? passes(s, filter)
      : s.title.toLowerCase().includes(wanted) ||
        s.project_path.toLowerCase().includes(wanted) ||
        said.includes(s.session_id),
  )
  const rows = [...found].sort(order)
  const needs = wanted === '' && filter !== 'archived' ? rows.filter((s) => s.needs_you > 0) : []
  const rest = rows.filter((s) => !needs.includes(s))
  const groups = new Map<string, Summary[]>()
  for (const s of rest) groups.set(homeOf(s), [...(groups.get(homeOf(s)) ?? []), s])
  return [
    ...(needs.length > 0 ? [{ key: 'need', title: 'Needs you', need: true, rows: needs }] : []),
    ...[...groups].map(([path, group]) => ({
      key: `local:${path}`,
      title: path === '' ? '(no project)' : baseName(path),
      need: false,
      rows: group,
    })),
  ]
}

export function counts(all: Summary[]): Record<Filter, number> {
  const count = (f: Filter): number => all.filter((s) => passes(s, f)).length
  return {
    all: count('all'),
    active: count('active'),
    done: count('done'),
    archived: count('archived'),
  }
}

export type MarkKind = 'need' | 'run' | 'stop' | 'fail' | 'done' | 'idle'

/** One sign for one fact: the most urgent one wins. */
export function markOf(s: { needs_you: number; status: Summary['status'] }): {
  kind: MarkKind
  words: string
} {
  if (s.needs_you > 0) return { kind: 'need', words: 'waiting for your answer' }
  switch (s.status) {
    case 'active':
      return { kind: 'run', words: 'running' }
    case 'failed':
      return { kind: 'fail', words: 'failed' }
    case 'done':
      return { kind: 'done', words: 'done' }
    case 'idle':
      return { kind: 'idle', words: 'idle' }
  }
}

/** The second line of a row that needs somebody. */
export function whyOf(s: Summary): string {
  return s.needs_you === 1
    ? '1 thing waits for your answer'
    : `${s.needs_you} things wait for your answer`
}

/** The next conversation that needs somebody, round from the current one. */
export function nextNeed(all: Summary[], current: string): Summary | undefined {
  const need = all.filter((s) => s.needs_you > 0 && !s.archived).sort(order)
  const at = need.findIndex((s) => s.session_id === current)
  return need[(at + 1) % need.length]
}
