import { describe, expect, it } from 'vitest'
import type { ComposerContext, Stroke } from './keys'
import { composerKey } from './keys'

const stroke = (key: string, change: Partial<Stroke> = {}): Stroke => ({
  key,
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isComposing: false,
  keyCode: 0,
  ...change,
})
const chat: ComposerContext = {
  chat: true,
  touch: false,
  empty: false,
  caretAtStart: false,
  browsing: false,
}

describe('composerKey', () => {
  it.each([
    ['Enter sends', stroke('Enter'), chat, 'send'],
    ['Shift+Enter is a newline', stroke('Enter', { shiftKey: true }), chat, 'none'],
    ['Ctrl+Enter sends', stroke('Enter', { ctrlKey: true }), chat, 'send'],
    ['Alt+Enter is the browser’s', stroke('Enter', { altKey: true }), chat, 'none'],
    ['Enter on touch is a newline', stroke('Enter'), { ...chat, touch: true }, 'none'],
    [
      'Cmd+Enter sends on touch',
      stroke('Enter', { metaKey: true }),
      { ...chat, touch: true },
      'send',
    ],
    ['Enter chooses a word while composing', stroke('Enter', { isComposing: true }), chat, 'none'],
    ['229 is composing too', stroke('Enter', { keyCode: 229 }), chat, 'none'],
    ['Tab moves the focus', stroke('Tab'), chat, 'none'],
    ['Shift+Tab is the next posture', stroke('Tab', { shiftKey: true }), chat, 'posture'],
    [
      'a launch has no posture chip',
      stroke('Tab', { shiftKey: true }),
      { ...chat, chat: false },
      'none',
    ],
    ['Up in a text moves the caret', stroke('ArrowUp'), chat, 'none'],
    ['Up in an empty field', stroke('ArrowUp'), { ...chat, empty: true }, 'older'],
    ['Up before the first character', stroke('ArrowUp'), { ...chat, caretAtStart: true }, 'older'],
    ['Up with a modifier', stroke('ArrowUp', { altKey: true }), { ...chat, empty: true }, 'none'],
    ['Down without browsing', stroke('ArrowDown'), { ...chat, empty: true }, 'none'],
    ['Down while browsing', stroke('ArrowDown'), { ...chat, browsing: true }, 'newer'],
    ['Escape while browsing', stroke('Escape'), { ...chat, browsing: true }, 'clear'],
    ['a letter', stroke('a'), chat, 'none'],
  ] as const)('%s', (_name, key, context, want) => {
    expect(composerKey(key, context)).toBe(want)
  })
})
