import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleMessage } from '../../../test/sample'
import type { Message } from '../../contract/model'
import type { Actions } from '../../store/stores'
import { Bubble } from './Bubble'
import type { TurnContext } from './Turn'

const context: TurnContext = {
  conversationId: 'c-1',
  project: '/p',
  patterns: [],
  baselines: {},
  readOnly: false,
  density: 'normal',
  canFork: true,
  active: false,
  armed: '',
}
const show = (
  change: Partial<Message> = {},
  more: Partial<TurnContext> = {},
  answers: Partial<Actions> = {},
) =>
  renderInBench(
    <Bubble
      message={sampleMessage({ id: 'm-1', content: 'do it', ...change })}
      context={{ ...context, ...more }}
    />,
    {},
    answers,
  )
const click = (name: string | RegExp) => fireEvent.click(screen.getByRole('button', { name }))

describe('Bubble', () => {
  it('forks with another text, and goes there', async () => {
    const { noted, went } = show({}, {}, { fork: () => Promise.resolve({ ok: true, id: 'c-2' }) })
    click('Edit and resend')
    const box = screen.getByRole('textbox', { name: 'Message to resend' })
    fireEvent.change(box, { target: { value: ' do that ' } })
    // An input method's Enter chooses a word.
    fireEvent.keyDown(box, { key: 'Enter', ctrlKey: true, keyCode: 229 })
    fireEvent.keyDown(box, { key: 'Enter' })
    expect(noted).toEqual([])
    fireEvent.keyDown(box, { key: 'Enter', ctrlKey: true })
    await screen.findByText('do it')
    expect(noted).toEqual([{ name: 'fork', args: ['c-1', 'm-1', 'do that'] }])
    expect(went).toEqual([{ view: 'agents', screen: 'conversation', id: 'c-2' }])
  })
  it('does nothing by opening the box, and keeps the text of a fork that failed', async () => {
    const fork = () => Promise.resolve({ ok: false as const, reason: 'The disk is full.' })
    const { noted } = show({}, {}, { fork })
    click('Edit and resend')
    expect(noted).toEqual([])
    const box = screen.getByRole('textbox', { name: 'Message to resend' })
    fireEvent.change(box, { target: { value: 'do that' } })
    click(/^Resend/)
    await screen.findByText('The disk is full.')
    expect(screen.getByDisplayValue('do that')).toBeTruthy()
    fireEvent.keyDown(box, { key: 'Escape' })
    expect(screen.getByText('do it')).toBeTruthy()
  })
  it('asks before a restore, and says what is lost', () => {
    const { noted } = show()
    click('Restore')
    expect(
      screen.getByText('Restore from here? Later messages are discarded and this turn re-runs.'),
    ).toBeTruthy()
    click(/^Cancel/)
    expect(noted).toEqual([])
    click('Restore')
    click('Restore and re-run')
    expect(noted).toEqual([{ name: 'restore', args: ['c-1', 'm-1'] }])
  })
  it('shows why a restore was refused', async () => {
    show({}, {}, { restore: () => Promise.resolve('A turn is running.') })
    click('Restore')
    click('Restore and re-run')
    await screen.findByText('A turn is running.')
  })
  it('does not rewind under a running turn', () => {
    show({}, { active: true })
    click('Restore')
    expect(screen.queryByText(/^Restore from here/)).toBeNull()
  })
  it.each([
    ['for a watcher', {}, { readOnly: true }],
    ['where the row cannot fork', {}, { canFork: false }],
    ['while it is queued', { queued: true }, {}],
  ])('offers neither %s', (_where, change, more) => {
    show(change, more)
    expect(screen.queryByRole('button', { name: 'Edit and resend' })).toBeNull()
    expect(screen.queryByRole('button', { name: 'Restore' })).toBeNull()
  })
  it('takes a queued message back, to the composer or away', () => {
    const { noted } = show({ queued: true })
    expect(screen.getByText('(queued)')).toBeTruthy()
    click('Edit')
    click('Remove')
    expect(noted).toEqual([
      { name: 'editQueued', args: ['c-1', 'm-1'] },
      { name: 'removeQueued', args: ['c-1', 'm-1'] },
    ])
  })
})
