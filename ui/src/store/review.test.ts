import { describe, expect, it } from 'vitest'
import { sampleMessage } from '../../test/sample'
import type { PendingEdit, ToolCall } from '../contract/model'
import type { ReviewItem } from './review'
import { changedFiles, editAnswer, headOf, keepLabel, reviewCount, stopsOf } from './review'

const call = (change: Partial<ToolCall>): ToolCall => ({
  id: 'x',
  name: 'edit_file',
  file: '',
  status: 'done',
  summary: '',
  content: '',
  input: '{"path":"a.go","old_string":"1","new_string":"2"}',
  ...change,
})
const before = Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join('')
const content = [5, 15, 25, 35, 45].reduce((s, n) => s.replace(`line ${n}\n`, `new ${n}\n`), before)
const edit: PendingEdit = { id: 'e', path: '/p/a.go', content, before, opened_at: 0 }

describe('editAnswer', () => {
  it('takes all of it when every hunk is kept, and says so plainly', () => {
    expect(editAnswer(edit)).toEqual({ decision: 'apply' })
    expect(editAnswer(edit, [true, true, true, true, true])).toEqual({ decision: 'apply' })
    expect(keepLabel(edit)).toBe('Keep')
  })
  it('takes two of five, with the text that comes of it', () => {
    const ticks = [false, true, false, false, true]
    expect(keepLabel(edit, ticks)).toBe('Keep 2/5')
    expect(editAnswer(edit, ticks)).toEqual({
      decision: 'apply',
      merged: before.replace('line 15\n', 'new 15\n').replace('line 45\n', 'new 45\n'),
    })
  })
  it('takes none of it when none is kept', () => {
    expect(editAnswer(edit, [false, false, false, false, false])).toEqual({ decision: 'reject' })
  })
  it('has no part of a new file to keep', () => {
    const { before: _none, ...fresh } = edit
    expect(editAnswer(fresh, [false])).toEqual({ decision: 'apply' })
    expect(keepLabel(fresh, [false])).toBe('Keep')
  })
})

describe('reviewCount', () => {
  const message = sampleMessage({
    role: 'assistant',
    tool_calls: [
      call({ lines_added: 4, lines_removed: 1 }),
      call({ id: 'y', name: 'Write', input: '{"file_path":"/p/a.go"}', lines_added: 2 }),
      call({ id: 'z', input: '{"path":"b.go"}', status: 'error' }),
      call({
        id: 'm',
        name: 'MultiEdit',
        input:
          '{"file_path":"/p/c.go","edits":[{"old_string":"1","new_string":"1\\n2"},{"old_string":"3","new_string":"4"}]}',
      }),
      call({
        id: 'p',
        name: 'apply_patch',
        input: '{"patch":"*** Begin Patch\\n*** Update File: d.go\\n*** Add File: e.go\\n"}',
      }),
    ],
  })
  it('counts each file once, under one name', () => {
    const files = changedFiles([message], '/p')
    expect(files.map((f) => f.path)).toEqual(['a.go', 'c.go', 'd.go', 'e.go'])
    expect(files[0]).toMatchObject({ added: 6, removed: 1 })
    expect(files[1]).toMatchObject({ added: 3, removed: 2 })
  })
  it('is the union of what was applied and what waits', () => {
    const files = changedFiles([message], '/p')
    expect(reviewCount(files, [edit], '/p')).toMatchObject({ files: 4, waiting: 1 })
    const other = { ...edit, path: '/p/new.go' }
    expect(reviewCount(files, [other], '/p')).toMatchObject({ files: 5, waiting: 1 })
    expect(reviewCount([], [], '/p')).toEqual({ files: 0, added: 0, removed: 0, waiting: 0 })
  })
})

describe('headOf', () => {
  const other: PendingEdit = { ...edit, id: 'o', path: '/p/b.go' }
  const permission = {
    id: 'q',
    name: 'bash',
    arguments: '{}',
    tier: 'blocking' as const,
    destructive: false,
    sources: [],
    opened_at: 0,
  }
  const c = { pending_permissions: [], pending_edits: [edit, other], project_path: '/p' }
  it('is a permission before any edit, wherever one looks', () => {
    const waiting = { ...c, pending_permissions: [permission] }
    expect(headOf(waiting, 'b.go')).toEqual({ kind: 'permission', id: 'q' })
  })
  it('is the edit that the review shows, else the first', () => {
    expect(headOf(c, undefined)).toEqual({ kind: 'edit', id: 'e' })
    expect(headOf(c, 'b.go')).toEqual({ kind: 'edit', id: 'o' })
    expect(headOf({ ...c, pending_edits: [] }, 'b.go')).toBeUndefined()
  })
})

describe('stopsOf', () => {
  it('stops at every hunk, and once at a file that is folded or has none', () => {
    const hunk = { line: 1, added: 1, removed: 0, lines: [], lead: [], trail: [] }
    const file = {
      path: 'a',
      state: 'modified' as const,
      hash: 'h',
      lines_added: 0,
      lines_removed: 0,
      size_before: 0,
      size_now: 0,
      can_undo: true,
      why_not: '',
      edited_outside: false,
      view: 'full' as const,
    }
    const applied = (viewed: boolean, hunks: number): ReviewItem => ({
      section: 'applied',
      key: 'a',
      path: 'a',
      file,
      text: undefined,
      hunks: Array.from({ length: hunks }, () => hunk),
      viewed,
    })
    expect(stopsOf([applied(false, 2), applied(true, 2), applied(false, 0)])).toEqual([
      { item: 0, hunk: 0 },
      { item: 0, hunk: 1 },
      { item: 1, hunk: -1 },
      { item: 2, hunk: -1 },
    ])
  })
})
