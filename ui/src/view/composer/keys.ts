// What a key means in a composer. Pure. Source: ui.md 5.1.

export interface Stroke {
  key: string
  shiftKey: boolean
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  /** Whether an input method is composing; 229 is its older sign. */
  isComposing: boolean
  keyCode: number
}

export type ComposerKey = 'send' | 'posture' | 'older' | 'newer' | 'clear' | 'none'

export interface ComposerContext {
  /** Chat has postures and a history; launch has not. */
  chat: boolean
  /** On touch Enter is a newline and the button sends. */
  touch: boolean
  empty: boolean
  /** Whether the caret is before the first character, nothing selected. */
  caretAtStart: boolean
  /** Whether an older own turn is shown. */
  browsing: boolean
}

export function composerKey(e: Stroke, c: ComposerContext): ComposerKey {
  if (e.isComposing || e.keyCode === 229) return 'none'
  const modified = e.ctrlKey || e.metaKey || e.altKey
  switch (e.key) {
    case 'Enter':
      if ((e.ctrlKey || e.metaKey) && !e.altKey) return 'send'
      if (e.shiftKey || modified || c.touch) return 'none'
      return 'send'
    case 'Tab':
      return c.chat && e.shiftKey && !modified ? 'posture' : 'none'
    case 'ArrowUp':
      if (!c.chat || modified || e.shiftKey) return 'none'
      return c.empty || c.caretAtStart ? 'older' : 'none'
    case 'ArrowDown':
      return c.chat && c.browsing && !modified && !e.shiftKey ? 'newer' : 'none'
    case 'Escape':
      return c.chat && c.browsing ? 'clear' : 'none'
    default:
      return 'none'
  }
}

/** Whether the main pointer is a finger. */
export function isTouch(): boolean {
  return typeof matchMedia === 'function' && matchMedia('(pointer: coarse)').matches
}
