import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Head } from '../store/review'
import { installAnswerKeys } from './answerKeys'

const answers: [string, boolean][] = []
let head: Head | undefined
let dispose: () => void

const press = (key: string, init: KeyboardEventInit = {}, target: EventTarget = document.body) =>
  target.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init }),
  )

beforeEach(() => {
  answers.length = 0
  head = { kind: 'permission', id: 'x' }
  document.body.innerHTML = ''
  dispose = installAnswerKeys(
    document,
    () => head,
    (h, yes) => answers.push([h.id, yes]),
  )
})
afterEach(() => dispose())

describe('installAnswerKeys', () => {
  it('answers the head of the queue', () => {
    press('y')
    press('N')
    expect(answers).toEqual([
      ['x', true],
      ['x', false],
    ])
  })
  it('has nothing to say without a prompt', () => {
    head = undefined
    expect(press('y')).toBe(true)
    expect(answers).toEqual([])
  })
  it.each([{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { shiftKey: true }])(
    'is deaf with %j',
    (init) => {
      press('y', init)
      expect(answers).toEqual([])
    },
  )
  it.each(['input', 'textarea', 'select'])('is deaf in a %s', (tag) => {
    const field = document.createElement(tag)
    document.body.append(field)
    press('y', {}, field)
    expect(answers).toEqual([])
  })
  it('is deaf in an editable text, while a key repeats and while composing', () => {
    const text = document.createElement('div')
    text.setAttribute('contenteditable', 'true')
    document.body.append(text)
    press('y', {}, text)
    press('y', { repeat: true })
    press('y', { isComposing: true })
    expect(answers).toEqual([])
  })
  it('is deaf under a dialog and an open menu', () => {
    document.body.innerHTML = '<div role="dialog"></div>'
    press('y')
    document.body.innerHTML = '<div role="menu" data-state="open"></div>'
    press('y')
    expect(answers).toEqual([])
  })
  it('marks the page while a field has the focus, so that the keys are not offered', () => {
    const field = document.createElement('input')
    document.body.append(field)
    field.focus()
    expect(document.body.hasAttribute('data-typing')).toBe(true)
    field.blur()
    expect(document.body.hasAttribute('data-typing')).toBe(false)
  })
  it('is gone after its disposer', () => {
    dispose()
    press('y')
    expect(answers).toEqual([])
  })
})
