import { fireEvent, screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation } from '../../../test/sample'
import type { Worktree, WorktreeOutcome } from '../../contract/gen'
import type { Conversation } from '../../contract/model'
import type { Actions } from '../../store/stores'
import { WorktreeBar } from './WorktreeBar'

const worktree: Worktree = {
  base_path: '/p',
  worktree_path: '/p/.pkt-worktrees/c-1',
  branch: 'pkt/c-1',
  base_branch: 'main',
  created_at: '',
  state: 'active',
}
const outcome = (change: Partial<WorktreeOutcome>): WorktreeOutcome => ({
  worktree,
  message: '',
  branch_deleted: false,
  worktree_removed: false,
  ...change,
})
const show = (change: Partial<Conversation> = {}, answers: Partial<Actions> = {}) =>
  renderInBench(
    <WorktreeBar conversation={sampleConversation({ worktree, ...change })} />,
    {},
    { getWorktree: () => Promise.resolve(undefined), ...answers },
  )
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }))
const ended = (noted: { name: string; args: unknown[] }[]) =>
  noted.filter((n) => n.name === 'endWorktree').map((n) => n.args[1])

describe('WorktreeBar', () => {
  it('is not there without a worktree', () => {
    const { container } = renderInBench(<WorktreeBar conversation={sampleConversation()} />)
    expect(container.textContent).toBe('')
  })
  it('merges back and shows the line of the service', async () => {
    const { noted } = show(
      {},
      { endWorktree: () => Promise.resolve(outcome({ message: 'Landed pkt/c-1 → 1234567' })) },
    )
    press('Merge back')
    expect((await screen.findByRole('status')).textContent).toBe('Landed pkt/c-1 → 1234567')
    expect(ended(noted)).toEqual([{ kind: 'merge', base: '' }])
  })
  it('shows git’s own words when it fails, and all four again', async () => {
    show({}, { endWorktree: () => Promise.resolve('Merge back failed: CONFLICT in a.go') })
    press('Merge back')
    expect((await screen.findByRole('status')).textContent).toContain('CONFLICT in a.go')
    for (const name of ['Merge back', 'Create PR', 'Keep for later', 'Discard'])
      expect(screen.getByRole('button', { name }).getAttribute('aria-disabled')).toBe('false')
  })
  it('runs one ending at a time', () => {
    const { noted } = show({}, { endWorktree: () => new Promise(() => undefined) })
    press('Merge back')
    expect(screen.getByRole('button', { name: 'Discard' }).getAttribute('title')).toBe(
      'Another ending is running.',
    )
    press('Discard')
    expect(ended(noted)).toHaveLength(1)
  })
  it('waits for the turn', () => {
    const { noted } = show({ status: 'active' })
    press('Merge back')
    expect(ended(noted)).toEqual([])
  })
  it('asks again before it discards what is not committed', async () => {
    const confirm = {
      title: 'Discard?',
      lines: ['This worktree has uncommitted changes. Discarding loses them permanently.'],
      button: 'Discard anyway',
    }
    const { noted } = show({}, { endWorktree: () => Promise.resolve(outcome({ confirm })) })
    press('Discard')
    const ask = await screen.findByRole('alertdialog')
    expect(ask.textContent).toContain('Discarding loses them permanently.')
    fireEvent.click(within(ask).getByRole('button', { name: 'Discard anyway' }))
    expect(ended(noted)).toEqual([
      { kind: 'discard', confirmed: false },
      { kind: 'discard', confirmed: true },
    ])
  })
  it('keeps for later without asking anybody', () => {
    const { noted } = show()
    press('Keep for later')
    expect(screen.getByRole('status').textContent).toBe(
      'Worktree kept — resume it any time from the fleet.',
    )
    expect(ended(noted)).toEqual([])
  })
  it('asks for the base where nobody recorded it', async () => {
    const { noted } = show(
      {},
      {
        getWorktree: () =>
          Promise.resolve({
            worktree,
            exists: true,
            is_clean: true,
            uncommitted_count: 0,
            unmerged: 0,
            legacy: true,
          }),
        endWorktree: () => Promise.resolve(outcome({ message: 'Opened draft PR #7' })),
      },
    )
    const base = await screen.findByRole('textbox', { name: 'PR base' })
    expect(screen.getByText(/legacy \(base ≈\)/)).toBeTruthy()
    fireEvent.change(base, { target: { value: 'develop' } })
    press('Create PR')
    await screen.findByText('Opened draft PR #7')
    expect(ended(noted)).toEqual([{ kind: 'pr', base: 'develop' }])
  })
  it('shows only how it ended, once it has', () => {
    show({ worktree: { ...worktree, state: 'landed' } })
    expect(screen.getByText('Landed')).toBeTruthy()
    expect(screen.queryByRole('button')).toBeNull()
  })
})
