import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation } from '../../../test/sample'
import type { Summary } from '../../contract/model'
import { Palette } from './Palette'
import { readQuery } from './rows'

const item = (id: string, change: Partial<Summary> = {}): Summary => ({
  ...sampleConversation(),
  session_id: id,
  title: `Title ${id}`,
  ...change,
})
const show = (...summaries: Summary[]) => {
  const onClose = vi.fn()
  return { onClose, ...renderInBench(<Palette onClose={onClose} />, { summaries }) }
}
const field = () => screen.getByRole('combobox', { name: 'Command or conversation' })
const type = (value: string) => fireEvent.change(field(), { target: { value } })
const rows = () => screen.getAllByRole('option').map((o) => o.textContent)

describe('Palette', () => {
  it('is a dialog with the focus in its field', () => {
    show()
    expect(screen.getByRole('dialog', { name: 'Command palette' })).toBeTruthy()
    expect(document.activeElement).toBe(field())
  })
  it('finds conversations and goes there with Enter', () => {
    const { went, onClose } = show(item('alpha'), item('beta'))
    type('bet')
    expect(rows()).toEqual(['Title beta'])
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(went).toEqual([{ view: 'agents', screen: 'conversation', id: 'beta' }])
    expect(onClose).toHaveBeenCalledOnce()
  })
  it('moves with the arrows, round, and names the active row', () => {
    show(item('a'))
    type('@')
    expect(rows()).toEqual(['Title a'])
    type('theme')
    const before = field().getAttribute('aria-activedescendant')
    fireEvent.keyDown(field(), { key: 'ArrowUp' })
    expect(field().getAttribute('aria-activedescendant')).toBe(before)
    type('use')
    fireEvent.keyDown(field(), { key: 'ArrowDown' })
    const active = screen.getAllByRole('option', { selected: true })
    expect(active.map((o) => o.id)).toEqual([field().getAttribute('aria-activedescendant')])
  })
  it('leads to what waits, first of all, and answers nothing', () => {
    const { went, noted } = show(item('a'), item('b', { needs_you: 1 }))
    expect(rows()[0]).toContain('Go to what waits for you')
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(went).toEqual([{ view: 'agents', screen: 'conversation', id: 'b' }])
    expect(noted).toEqual([])
  })
  it('shows commands only behind >', () => {
    const { noted } = show(item('new theme'))
    type('> theme')
    expect(rows()).toEqual(['Use the light theme'])
    fireEvent.click(screen.getByRole('option'))
    expect(noted).toEqual([{ name: 'setPrefs', args: [{ theme: 'light' }] }])
  })
  it('says when nothing is called that', () => {
    show()
    type('zebra')
    expect(screen.getByText('Nothing is called that.')).toBeTruthy()
    fireEvent.keyDown(field(), { key: 'Enter' })
  })
  it('does not take the Enter of an input method', () => {
    const { went } = show(item('a'))
    type('Title')
    fireEvent.keyDown(field(), { key: 'Enter', isComposing: true })
    expect(went).toEqual([])
  })
  it.each([
    ['>a b', 'command', 'a b'],
    [' @ x', 'conversation', 'x'],
    ['x > y', '', 'x > y'],
  ])('reads %j', (typed, only, words) => {
    expect(readQuery(typed)).toEqual({ only, words })
  })
})
