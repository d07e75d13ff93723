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
  it('says when a search finds nothing, and clears it', () => {
    show(item('a'))
    const search = screen.getByRole('textbox', { name: 'Search conversations' })
    fireEvent.change(search, { target: { value: 'zebra' } })
    expect(screen.getByText('No conversation says “zebra”')).toBeTruthy()
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
  it('asks before it deletes, and names what is lost with a worktree', () => {
    const worktree = {
      base_path: '/p',
      worktree_path: '/p/.pkt-worktrees/a',
      branch: 'pkt/a',
      created_at: '',
      state: 'active',
    }
    const { noted } = show(item('a', { worktree }))
    fireEvent.click(screen.getByRole('button', { name: 'Delete Title a' }))
    const dialog = screen.getByRole('dialog', { name: 'Delete conversation?' })
    expect(noted).toEqual([])
    expect(dialog.textContent).toContain("Deleting also discards this conversation's worktree")
    fireEvent.click(within(dialog).getByRole('button', { name: 'Delete and discard worktree' }))
    expect(noted).toEqual([{ name: 'remove', args: ['a'] }])
  })
})
