import { fireEvent } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ShortcutId } from './shortcuts'
import { installShortcuts, shortcuts } from './shortcuts'

let ran: ShortcutId[] = []
let stop = (): void => undefined
const takes = { all: true }
beforeEach(() => {
  ran = []
  takes.all = true
  document.body.innerHTML = '<input /><p tabindex="0"></p>'
  stop = installShortcuts(document, (id) => {
    ran.push(id)
    return takes.all
  })
})
afterEach(() => stop())
const field = () => document.querySelector('input') ?? document.body

describe('shortcuts', () => {
  it.each([
    ['palette', { key: 'k', code: 'KeyK', ctrlKey: true }],
    ['palette', { key: 'k', code: 'KeyK', metaKey: true }],
    ['agents', { key: '!', code: 'Digit1', ctrlKey: true, shiftKey: true }],
    // A Dvorak keyboard says another letter; the place is the same.
    ['newAgent', { key: 'b', code: 'KeyN', altKey: true }],
    ['next', { key: 'j', code: 'KeyJ', altKey: true }],
    // Where `/` needs Shift it is still `/`.
    ['search', { key: '/', code: 'Digit7', shiftKey: true }],
    ['shortcuts', { key: '?', code: 'Slash', shiftKey: true }],
    ['transcript', { key: 'O', code: 'KeyO', ctrlKey: true, shiftKey: true }],
  ] as const)('runs %s', (id, stroke) => {
    fireEvent.keyDown(document.body, stroke)
    expect(ran).toEqual([id])
  })
  it('leaves letters to a field, and only the chords of the page work there', () => {
    fireEvent.keyDown(field(), { key: '/', code: 'Slash' })
    fireEvent.keyDown(field(), { key: '?', code: 'Slash', shiftKey: true })
    fireEvent.keyDown(field(), { key: 'n', code: 'KeyN', altKey: true })
    fireEvent.keyDown(field(), { key: 'O', code: 'KeyO', ctrlKey: true, shiftKey: true })
    expect(ran).toEqual([])
    fireEvent.keyDown(field(), { key: 'k', code: 'KeyK', ctrlKey: true })
    expect(ran).toEqual(['palette'])
  })
  it('leaves Option and a letter to a field on a Mac', () => {
    const agent = vi.spyOn(navigator, 'userAgent', 'get').mockReturnValue('X (Macintosh)')
    fireEvent.keyDown(field(), { key: '∆', code: 'KeyJ', altKey: true })
    expect(ran).toEqual([])
    agent.mockReturnValue('X (Linux)')
    fireEvent.keyDown(field(), { key: 'j', code: 'KeyJ', altKey: true })
    expect(ran).toEqual(['next'])
  })
  it('is deaf behind a dialog', () => {
    document.body.innerHTML += '<div role="dialog"></div>'
    fireEvent.keyDown(document.body, { key: '?', code: 'Slash' })
    expect(ran).toEqual([])
  })
  it('leaves the palette’s chord to a focused terminal', () => {
    document.body.innerHTML = '<div class="xterm"><textarea></textarea></div>'
    const terminal = document.querySelector('textarea') ?? document.body
    fireEvent.keyDown(terminal, { key: 'k', code: 'KeyK', ctrlKey: true })
    expect(ran).toEqual([])
  })
  it('takes a stroke from the browser only when it was used', () => {
    expect(fireEvent.keyDown(document.body, { key: '/', code: 'Slash' })).toBe(false)
    takes.all = false
    expect(fireEvent.keyDown(document.body, { key: '/', code: 'Slash' })).toBe(true)
  })
  it('has one meaning per chord', () => {
    const chords = shortcuts.map((s) => JSON.stringify(s.chord))
    expect(new Set(chords).size).toBe(chords.length)
  })
})
