// What this window knows of reviews: where one is open, which hunks are
// ticked, which files were looked at, and the files as the service last read
// them. Nothing here writes a file: the service does, when it is asked to and
// the file still holds the text that was shown. Source: ui.md 11.

import type { StoreApi } from 'zustand/vanilla'
import { createStore } from 'zustand/vanilla'
import type { DiffComment } from '../contract/gen'
import type { EditedFile, EditedText, PendingEdit } from '../contract/model'
import type { Commands } from '../net/command'
import { sentence } from '../net/command'
import { mergeHunks } from './hunks'
import { pendingHunks } from './review'
import { readStored, writeStored } from './storage'

/** Something that is read from the service: what was read stays meanwhile. */
export interface Read<T> {
  loading: boolean
  /** Why the newest reading failed; '' when it did not. */
  reason: string
  value: T | undefined
}

export interface ReviewsState {
  /** The file to show first, by conversation; '' for the first of all. */
  open: Record<string, string>
  /** Which hunks of a parked edit are kept, by the edit's id. */
  ticks: Record<string, boolean[]>
  /** By conversation: path to the hash of the text that was looked at. */
  viewed: Record<string, Record<string, string>>
  /** What a conversation has written, by conversation. */
  files: Record<string, Read<EditedFile[]>>
  /** Both texts of a file, by fileKey. */
  texts: Record<string, Read<EditedText>>
  /** Files that are being restored, by fileKey. */
  busy: Record<string, boolean>
  /** Why the last thing that was asked for failed, by fileKey or edit id. */
  errors: Record<string, string>
}

type FileCommands = Pick<Commands, 'listEdits' | 'getEdit' | 'undoEdit' | 'setDiffComments'>

export interface Reviews {
  store: StoreApi<ReviewsState>
  /** Opens the review of a conversation, at a file if one is named. */
  show: (id: string, path?: string) => void
  close: (id: string) => void
  /** Turns one hunk of a parked edit around: kept, or not. */
  tick: (edit: PendingEdit, hunk: number) => void
  /** Reads the list of edits again. */
  loadFiles: (id: string) => Promise<void>
  loadText: (id: string, path: string) => Promise<void>
  /** Restores a file, or one hunk of it, as long as it is what was shown. */
  undo: (id: string, text: EditedText, hunk?: number) => Promise<void>
  /** Marks a file as looked at while its text has that hash; '' takes it back. */
  view: (id: string, path: string, hash: string) => void
  fail: (key: string, reason: string) => void
  /** Replaces the remarks of a conversation; the reason when that failed. */
  setComments: (id: string, comments: DiffComment[]) => Promise<string>
  /** Forgets what was kept of a conversation that was deleted. */
  forget: (id: string) => void
}

export function fileKey(id: string, path: string): string {
  return `${id}\n${path}`
}

const without = <T>(map: Record<string, T>, key: string): Record<string, T> => {
  const { [key]: _gone, ...rest } = map
  return rest
}

export function createReviews(commands: FileCommands): Reviews {
  const store = createStore<ReviewsState>(() => ({
    open: {},
    ticks: {},
    viewed: {},
    files: {},
    texts: {},
    busy: {},
    errors: {},
  }))
  const { getState: get, setState: set } = store
  const newest = new Map<string, number>()

  const begin = (key: string): number => {
    const mine = (newest.get(key) ?? 0) + 1
    newest.set(key, mine)
    return mine
  }

  const putFiles = (id: string, read: Read<EditedFile[]>): void =>
    set((s) => ({ files: { ...s.files, [id]: read } }))

  const putText = (key: string, read: Read<EditedText>): void =>
    set((s) => ({ texts: { ...s.texts, [key]: read } }))

  const loadFiles = async (id: string): Promise<void> => {
    const key = `files ${id}`
    const mine = begin(key)
    const value = get().files[id]?.value
    putFiles(id, { loading: true, reason: '', value })
    const read = await commands.listEdits(id).then(
      (files): Read<EditedFile[]> => ({ loading: false, reason: '', value: files }),
      (e: unknown): Read<EditedFile[]> => ({ loading: false, reason: sentence(e), value }),
    )
    // A later reading has begun: this one is old.
    if (newest.get(key) === mine) putFiles(id, read)
  }

  const loadText = async (id: string, path: string): Promise<void> => {
    const key = fileKey(id, path)
    const mine = begin(key)
    const value = get().texts[key]?.value
    putText(key, { loading: true, reason: '', value })
    const read = await commands.getEdit(id, path).then(
      (text): Read<EditedText> => ({ loading: false, reason: '', value: text }),
      (e: unknown): Read<EditedText> => ({ loading: false, reason: sentence(e), value }),
    )
    if (newest.get(key) === mine) putText(key, read)
  }

  const fail = (key: string, reason: string): void =>
    set((s) => ({
      errors: reason === '' ? without(s.errors, key) : { ...s.errors, [key]: reason },
    }))

  const undo = async (id: string, text: EditedText, hunk?: number): Promise<void> => {
    const { path, hash } = text.file
    const key = fileKey(id, path)
    if (get().busy[key]) return
    set((s) => ({ busy: { ...s.busy, [key]: true } }))
    fail(key, '')
    begin(key)
    try {
      const merged = hunk === undefined ? undefined : textWithout(text, hunk)
      const now = await commands.undoEdit(id, path, hash, merged)
      putText(key, { loading: false, reason: '', value: now })
    } catch (e) {
      fail(key, sentence(e))
      // Most often the file is not what was shown any more: show what it is.
      void loadText(id, path)
    } finally {
      set((s) => ({ busy: without(s.busy, key) }))
      void loadFiles(id)
    }
  }

  return {
    store,
    show: (id, path = '') =>
      set((s) => ({
        open: { ...s.open, [id]: path },
        viewed: { ...s.viewed, [id]: s.viewed[id] ?? readViewed(id) },
      })),
    close: (id) => set((s) => ({ open: without(s.open, id) })),
    tick: (edit, hunk) =>
      set((s) => {
        const before = s.ticks[edit.id] ?? []
        const next = pendingHunks(edit).map((_, i) => (before[i] !== false) !== (i === hunk))
        return { ticks: { ...s.ticks, [edit.id]: next } }
      }),
    loadFiles,
    loadText,
    undo,
    view: (id, path, hash) => {
      const rest = without(get().viewed[id] ?? readViewed(id), path)
      const marks = hash === '' ? rest : { ...rest, [path]: hash }
      writeStored(Object.keys(marks).length === 0 ? '' : JSON.stringify(marks), 'viewed', id)
      set((s) => ({ viewed: { ...s.viewed, [id]: marks } }))
    },
    fail,
    setComments: (id, comments) => commands.setDiffComments(id, comments).then(() => '', sentence),
    forget: (id) => {
      writeStored('', 'viewed', id)
      set((s) => ({
        open: without(s.open, id),
        viewed: without(s.viewed, id),
        files: without(s.files, id),
      }))
    },
  }
}

/** The text on disk with one hunk as it was before. */
function textWithout(text: EditedText, hunk: number): string {
  const keep: boolean[] = []
  for (let i = 0; i < hunk; i++) keep.push(true)
  return mergeHunks(text.before ?? '', text.now ?? '', [...keep, false])
}

function readViewed(id: string): Record<string, string> {
  try {
    const kept: unknown = JSON.parse(readStored('viewed', id) || '{}')
    if (typeof kept !== 'object' || kept === null) return {}
    return Object.fromEntries(
      Object.entries(kept).filter((e): e is [string, string] => typeof e[1] === 'string'),
    )
  } catch {
    return {}
  }
}
