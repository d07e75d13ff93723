import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import type { Actions } from '../../store/stores'
import { PlanApproval } from './PlanApproval'
import { PlanPanel } from './PlanPanel'

const show = (answers: Partial<Actions> = {}) =>
  renderInBench(<PlanApproval conversationId="c-1" />, {}, answers)

describe('PlanApproval', () => {
  it('offers the four ways on, each with what it means', () => {
    show()
    const menu = screen.getByRole('group', { name: 'Approve and proceed with this plan?' })
    const ways = [...menu.querySelectorAll('button')].map((b) => b.textContent)
    expect(ways).toEqual([
      'Approve and executeAuto-run safe tools1',
      'Approve and accept editsEdits without asking; ask on shell2',
      'Approve, review each editStep-by-step approval3',
      'Keep planningRefine before committing4',
    ])
  })
  it.each([
    ['1', 'execute'],
    ['2', 'accept_edits'],
    ['3', 'review_each'],
    ['4', 'keep_planning'],
  ])('takes the key %s for %s', (key, choice) => {
    const { noted } = show()
    fireEvent.keyDown(document.body, { key })
    expect(noted).toEqual([{ name: 'approvePlan', args: ['c-1', choice] }])
  })
  it('is deaf while somebody types, for other keys and under a dialog', () => {
    const { noted } = show()
    const field = document.createElement('input')
    document.body.append(field)
    fireEvent.keyDown(field, { key: '1' })
    fireEvent.keyDown(document.body, { key: '1', altKey: true })
    fireEvent.keyDown(document.body, { key: '5' })
    field.remove()
    const dialog = document.createElement('div')
    dialog.setAttribute('role', 'dialog')
    document.body.append(dialog)
    fireEvent.keyDown(document.body, { key: '1' })
    dialog.remove()
    expect(noted).toEqual([])
  })
  it('stays with the reason when a step failed, and sends one choice only once', async () => {
    const { noted } = show({ approvePlan: () => Promise.resolve('The posture could not be set.') })
    const execute = screen.getByRole('button', { name: /^Approve and execute/ })
    fireEvent.click(execute)
    fireEvent.click(execute)
    expect(noted).toHaveLength(1)
    expect((await screen.findByRole('alert')).textContent).toBe('The posture could not be set.')
    fireEvent.click(execute)
    expect(noted).toHaveLength(2)
  })
})

describe('PlanPanel', () => {
  const items = [
    { content: 'Read', status: 'completed' as const },
    { content: 'Write', status: 'in_progress' as const, activeForm: 'Writing' },
    { content: 'Test', status: 'pending' as const },
  ]
  it('shows how far the plan is, and its steps on demand', () => {
    renderInBench(<PlanPanel items={items} />)
    expect(screen.getByRole('img', { name: '1 of 3 steps done' })).toBeTruthy()
    expect(screen.getAllByText('Writing').length).toBeGreaterThan(0)
    fireEvent.click(screen.getByRole('button', { name: /Plan/ }))
    expect(screen.queryByText('Test')).toBeNull()
  })
  it('is absent without a plan', () => {
    const { container } = renderInBench(<PlanPanel items={[]} />)
    expect(container.textContent).toBe('')
  })
  it('approves by itself only when there is something to approve', () => {
    let approved = 0
    renderInBench(<PlanPanel items={items} onApprove={() => approved++} />)
    fireEvent.click(screen.getByRole('button', { name: 'Approve and execute' }))
    expect(approved).toBe(1)
  })
})
