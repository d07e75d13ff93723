import { fireEvent, screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation, sampleMessage } from '../../../test/sample'
import type { Conversation } from '../../contract/model'
import { fromSnapshot } from '../../store/reduce'
import { Composer } from './Composer'

const show = (change: Partial<Conversation> = {}, blocked = '', drafts = { 'c-1': 'hello' }) =>
  renderInBench(
    <Composer state={fromSnapshot(sampleConversation(change), 1)} blocked={blocked} />,
    {
      drafts,
    },
  )
const field = () => screen.getByRole('textbox', { name: 'Message' })

describe('Composer', () => {
  it('sends with Enter and not with Shift+Enter', () => {
    const { noted } = show()
    fireEvent.keyDown(field(), { key: 'Enter', shiftKey: true })
    expect(noted).toEqual([])
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(noted).toEqual([{ name: 'send', args: ['c-1'] }])
  })
  it('does not send the Enter of an input method', () => {
    const { noted } = show()
    fireEvent.compositionStart(field())
    fireEvent.keyDown(field(), { key: 'Enter' })
    fireEvent.compositionEnd(field())
    fireEvent.keyDown(field(), { key: 'Enter', keyCode: 229 })
    expect(noted).toEqual([])
  })
  it('shows a disabled Send for an empty field, with the reason', () => {
    const { noted } = show({}, '', { 'c-1': '' })
    const send = screen.getByRole('button', { name: 'Send' })
    expect(send.getAttribute('aria-disabled')).toBe('true')
    expect(send.getAttribute('title')).toBe('Write something first.')
    fireEvent.click(send)
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(noted).toEqual([])
  })
  it('keeps Send beside Stop while a turn runs: it queues', () => {
    const { noted } = show({ status: 'active' })
    fireEvent.click(screen.getByRole('button', { name: 'Stop turn' }))
    fireEvent.click(screen.getByRole('button', { name: 'Send' }))
    expect(noted.map((n) => n.name)).toEqual(['stop', 'send'])
  })
  it('waits for the acknowledgement of Stop', () => {
    show({ status: 'active', stopping: true })
    const stop = screen.getByRole('button', { name: 'Waiting for Stop acknowledgement' })
    expect(stop.getAttribute('aria-disabled')).toBe('true')
  })
  it('has no Stop when no turn runs', () => {
    show()
    expect(screen.queryByRole('button', { name: 'Stop turn' })).toBeNull()
  })
  it('offers to cancel what is parked, by number', () => {
    const { noted } = show({
      status: 'active',
      pending_edits: [{ id: 'e', path: 'a', content: '', opened_at: 0 }],
    })
    fireEvent.click(screen.getByRole('button', { name: 'Cancel 1' }))
    expect(noted).toEqual([{ name: 'cancelPending', args: ['c-1'] }])
  })
  it('says why nothing can be sent', () => {
    const { noted } = show({}, 'The sidecar is down. Reset it to send.')
    expect(screen.getByText('The sidecar is down. Reset it to send.')).toBeTruthy()
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(noted).toEqual([])
  })
  it('walks through own turns with Up and Down', () => {
    show(
      {
        messages: [
          sampleMessage({ id: 'm-1', content: 'first' }),
          sampleMessage({ id: 'm-2', content: 'second' }),
        ],
      },
      '',
      { 'c-1': '' },
    )
    const text = () => field().closest('textarea')?.value
    fireEvent.keyDown(field(), { key: 'ArrowUp' })
    expect(text()).toBe('second')
    expect(screen.getByText('1/2')).toBeTruthy()
    fireEvent.keyDown(field(), { key: 'ArrowDown' })
    expect(text()).toBe('')
  })
  it('goes to the next posture with Shift+Tab and by its chip', () => {
    const { noted } = show()
    fireEvent.keyDown(field(), { key: 'Tab', shiftKey: true })
    fireEvent.click(screen.getByRole('button', { name: 'Posture Default' }))
    expect(noted.map((n) => n.name)).toEqual(['setPosture', 'setPosture'])
    expect(noted[0]?.args[1]).toMatchObject({ id: 'plan' })
  })
  it('shows no posture where the provider has none', () => {
    const { container } = show({
      capabilities: { ...sampleConversation().capabilities, permissionModes: [] },
    })
    expect(within(container).queryByRole('button', { name: /^Posture/ })).toBeNull()
  })
})
