// What there is to review in a conversation, and what an answer to it says.
// Pure. Paths are relative to the project everywhere, or one file would show
// twice. Source: ui.md 11.

import type { Conversation, EditedFile, EditedText, Message, PendingEdit } from '../contract/model'
import type { Hunk } from './hunks'
import { hunksOf, mergeHunks } from './hunks'
import { editSize, editedPaths, projectRelative } from './tools'

/** One file that the conversation has changed, as its transcript tells. */
export interface ChangedFile {
  path: string
  added: number
  removed: number
  /** The newest call that changed it. */
  call: string
}

const memo = new WeakMap<Message, ChangedFile[]>()

// Every settled edit of one message; counted once, a message rarely changes.
function editsOf(message: Message, project: string): ChangedFile[] {
  const known = memo.get(message)
  if (known) return known
  const files = message.tool_calls.flatMap((call) => {
    if (call.status !== 'done') return []
    const paths = editedPaths(call)
    const size = editSize(call, undefined)
    return paths.map((path, i) => ({
      path: projectRelative(path, project),
      // The size of a call over several files is not known file by file.
      added: i === 0 ? size.added : 0,
      removed: i === 0 ? size.removed : 0,
      call: call.id,
    }))
  })
  memo.set(message, files)
  return files
}

/** The files that were changed, in the order of their first change. */
export function changedFiles(messages: readonly Message[], project: string): ChangedFile[] {
  const byPath = new Map<string, ChangedFile>()
  for (const message of messages) {
    for (const file of editsOf(message, project)) {
      const known = byPath.get(file.path)
      byPath.set(file.path, {
        path: file.path,
        added: (known?.added ?? 0) + file.added,
        removed: (known?.removed ?? 0) + file.removed,
        call: file.call,
      })
    }
  }
  return [...byPath.values()]
}

/** What the bar says: files in all, their lines, and how many of them wait. */
export interface ReviewCount {
  files: number
  added: number
  removed: number
  waiting: number
}

/** The union of what was applied and what waits; a file in both counts once. */
export function reviewCount(
  edited: readonly ChangedFile[],
  pending: readonly PendingEdit[],
  project: string,
): ReviewCount {
  const paths = new Set(edited.map((f) => f.path))
  let added = edited.reduce((n, f) => n + f.added, 0)
  let removed = edited.reduce((n, f) => n + f.removed, 0)
  for (const edit of pending) {
    paths.add(projectRelative(edit.path, project))
    for (const hunk of pendingHunks(edit)) {
      added += hunk.added
      removed += hunk.removed
    }
  }
  return { files: paths.size, added, removed, waiting: pending.length }
}

const hunkMemo = new WeakMap<PendingEdit, Hunk[]>()

/** The hunks of a parked edit, worked out once. */
export function pendingHunks(edit: PendingEdit): Hunk[] {
  const known = hunkMemo.get(edit)
  if (known) return known
  const hunks = hunksOf(edit.before ?? '', edit.content)
  hunkMemo.set(edit, hunks)
  return hunks
}

/** What answers a parked edit: all of it, the kept part of it, or nothing. */
export type EditAnswer = { decision: 'apply'; merged?: string } | { decision: 'reject' }

/**
 * The answer for the hunks that are ticked; one without a tick mark counts as
 * kept. A new file has no earlier text to go back to: it is taken or left.
 */
export function editAnswer(edit: PendingEdit, ticks: readonly boolean[] = []): EditAnswer {
  const hunks = pendingHunks(edit)
  const kept = keptCount(hunks.length, ticks)
  if (kept === hunks.length || edit.before === undefined) return { decision: 'apply' }
  if (kept === 0) return { decision: 'reject' }
  return { decision: 'apply', merged: mergeHunks(edit.before, edit.content, ticks) }
}

export function keptCount(hunks: number, ticks: readonly boolean[]): number {
  let n = 0
  for (let i = 0; i < hunks; i++) if (ticks[i] !== false) n++
  return n
}

/** "Keep", or "Keep 2/5" when only some of the hunks are kept. */
export function keepLabel(edit: PendingEdit, ticks: readonly boolean[] = []): string {
  const hunks = pendingHunks(edit).length
  const kept = keptCount(hunks, ticks)
  return edit.before === undefined || kept === hunks ? 'Keep' : `Keep ${kept}/${hunks}`
}

/** The prompt that Y and N answer: permissions first, then the edit in view. */
export interface Head {
  kind: 'permission' | 'edit'
  id: string
}

/**
 * The next prompt of a conversation. An edit whose file a review shows goes
 * before the others; openPath is undefined while no review is open.
 */
export function headOf(
  c: Pick<Conversation, 'pending_permissions' | 'pending_edits' | 'project_path'>,
  openPath: string | undefined,
): Head | undefined {
  const permission = c.pending_permissions[0]
  if (permission) return { kind: 'permission', id: permission.id }
  const edit =
    c.pending_edits.find((e) => projectRelative(e.path, c.project_path) === openPath) ??
    c.pending_edits[0]
  return edit ? { kind: 'edit', id: edit.id } : undefined
}

const textMemo = new WeakMap<EditedText, Hunk[]>()

/** The hunks between the text before the first edit and the one on disk. */
export function appliedHunks(text: EditedText): Hunk[] {
  const known = textMemo.get(text)
  if (known) return known
  const hunks = text.file.view === 'size' ? [] : hunksOf(text.before ?? '', text.now ?? '')
  textMemo.set(text, hunks)
  return hunks
}

/** Everything there is to look at in one file, in the order of the surface. */
export type ReviewItem =
  | { section: 'pending'; key: string; path: string; edit: PendingEdit; hunks: Hunk[] }
  | {
      section: 'applied'
      key: string
      path: string
      file: EditedFile
      text: EditedText | undefined
      hunks: Hunk[]
      viewed: boolean
    }

/** Where the keys are: a hunk of an item, -1 for its head. */
export interface Stop {
  item: number
  hunk: number
}

/** Every place that J and K stop at; a folded file is one of them. */
export function stopsOf(items: readonly ReviewItem[]): Stop[] {
  return items.flatMap((it, item) => {
    const folded = it.section === 'applied' && it.viewed
    if (folded || it.hunks.length === 0) return [{ item, hunk: -1 }]
    return it.hunks.map((_, hunk) => ({ item, hunk }))
  })
}
