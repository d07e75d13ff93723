import { fireEvent, screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation } from '../../../test/sample'
import type { Summary } from '../../contract/model'
import { Sidebar } from './Sidebar'

const item = (id: string, change: Partial<Summary> = {}): Summary => ({
  ...sampleConversation(),
  session_id: id,
  title: `Title ${id}`,
  ...change,
})
const show = (...summaries: Summary[]) => renderInBench(<Sidebar />, { summaries })
const worktree = {
  base_path: '/p',
  worktree_path: '/p/.pkt-worktrees/a',
  branch: 'pkt/a',
  created_at: '',
  state: 'active',
}

describe('Sidebar', () => {
  it('puts what needs somebody into a section of its own, with words for its mark', () => {
    show(item('a'), item('b', { needs_you: 2 }))
    const need = screen.getByRole('region', { name: 'Needs you' })
    expect(within(need).getByRole('img', { name: 'waiting for your answer' })).toBeTruthy()
    expect(within(need).getByText('2 things wait for your answer')).toBeTruthy()
    expect(within(need).queryByText('Title a')).toBeNull()
  })
  it('goes where its row points, in the page', () => {
    const { went } = show(item('a'))
    fireEvent.click(screen.getByRole('link', { name: /Title a/ }))
    expect(went).toEqual([{ view: 'agents', screen: 'conversation', id: 'a' }])
  })
  it('filters and counts', () => {
    show(item('a'), item('b', { archived: true }), item('c', { status: 'failed' }))
    fireEvent.click(screen.getByRole('tab', { name: 'Archived1' }))
    expect(screen.queryByText('Title a')).toBeNull()
    expect(screen.getByText('Title b')).toBeTruthy()
  })
  it('says when a search finds nothing, and clears it', async () => {
    show(item('a'))
    const search = screen.getByRole('textbox', { name: 'Search conversations' })
    fireEvent.change(search, { target: { value: 'zebra' } })
    expect(screen.getByText('Searching…')).toBeTruthy()
    expect(await screen.findByText('No conversation says “zebra”')).toBeTruthy()
    fireEvent.keyDown(search, { key: 'Escape' })
    expect(screen.getByText('Title a')).toBeTruthy()
  })
  it('renames with F2, and not while a turn runs', () => {
    const { noted } = show(item('a'), item('b', { status: 'active' }))
    fireEvent.keyDown(screen.getByRole('link', { name: /Title b/ }), { key: 'F2' })
    expect(screen.queryByRole('textbox', { name: 'Title' })).toBeNull()
    fireEvent.keyDown(screen.getByRole('link', { name: /Title a/ }), { key: 'F2' })
    const field = screen.getByRole('textbox', { name: 'Title' })
    fireEvent.change(field, { target: { value: ' New ' } })
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(noted).toEqual([{ name: 'rename', args: ['a', 'New'] }])
  })
  it('finds what was said in a message, which the service reads', async () => {
    const hit = {
      session_id: 'a',
      title: '',
      where: 'message' as const,
      snippet: 'a zebra',
      start: 2,
      length: 5,
    }
    const { noted } = renderInBench(
      <Sidebar />,
      { summaries: [item('a'), item('b')] },
      { search: () => Promise.resolve({ hits: [hit], complete: true }) },
    )
    fireEvent.change(screen.getByRole('textbox', { name: 'Search conversations' }), {
      target: { value: 'zebra' },
    })
    expect(await screen.findByText('Title a')).toBeTruthy()
    expect(screen.queryByText('Title b')).toBeNull()
    expect(noted).toEqual([{ name: 'search', args: ['zebra'] }])
  })
  it('moves from row to row with the arrows', () => {
    show(item('a', { updated_at: '2026-01-02T00:00:00Z' }), item('b'))
    const [a, b] = [/Title a/, /Title b/].map((name) => screen.getByRole('link', { name }))
    a?.focus()
    fireEvent.keyDown(a ?? document, { key: 'ArrowDown' })
    expect(document.activeElement).toBe(b)
    fireEvent.keyDown(b ?? document, { key: 'ArrowDown' })
    expect(document.activeElement).toBe(b)
    fireEvent.keyDown(b ?? document, { key: 'ArrowUp' })
    expect(document.activeElement).toBe(a)
  })
  it('marks what ended while nobody looked', () => {
    renderInBench(<Sidebar />, { summaries: [item('a'), item('b')], unread: ['b'] })
    const row = screen.getByRole('link', { name: /Title b/ })
    expect(within(row).getByRole('img', { name: 'unread' })).toBeTruthy()
    expect(screen.getAllByRole('img', { name: 'unread' })).toHaveLength(1)
  })
  it('puts a worktree under the project it came from', () => {
    show(item('a', { project_path: '/p' }), item('b', { project_path: '/x', worktree }))
    const group = screen.getByRole('region', { name: 'p' })
    expect(within(group).getByText('Title b')).toBeTruthy()
  })
  it('asks before it deletes, and names what is lost as the service counted it', async () => {
    const { noted } = renderInBench(
      <Sidebar />,
      { summaries: [item('a', { worktree })] },
      {
        confirmDelete: () =>
          Promise.resolve({
            title: 'Delete conversation?',
            callout: "Deleting also discards this conversation's worktree",
            lines: [
              'This worktree has UNCOMMITTED CHANGES. They will be permanently lost.',
              '/p/.pkt-worktrees/a',
              'pkt/a',
            ],
            button: 'Delete and discard changes',
          }),
      },
    )
    fireEvent.click(screen.getByRole('button', { name: 'Delete Title a' }))
    const dialog = screen.getByRole('dialog', { name: 'Delete conversation?' })
    expect(dialog.textContent).toContain(
      "Checking this conversation's worktree for uncommitted changes…",
    )
    const button = await within(dialog).findByRole('button', { name: 'Delete and discard changes' })
    expect(dialog.textContent).toContain('UNCOMMITTED CHANGES')
    expect(dialog.textContent).toContain('/p/.pkt-worktrees/a')
    fireEvent.click(button)
    expect(noted.map((n) => n.name)).toEqual(['confirmDelete', 'remove'])
  })
  it('assumes the worst when nobody could look', async () => {
    show(item('a', { worktree }))
    fireEvent.click(screen.getByRole('button', { name: 'Delete Title a' }))
    expect(await screen.findByText(/Could not check for uncommitted changes/)).toBeTruthy()
    expect(screen.getByRole('button', { name: 'Delete and discard worktree' })).toBeTruthy()
  })
})
