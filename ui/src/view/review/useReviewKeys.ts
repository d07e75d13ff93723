import { useEffect, useRef } from 'react'
import { useActivePane } from '../activePane'
import { isTyping, overlayOpen } from '../answerKeys'

export interface ReviewKeys {
  /** To the next (1) or the previous (-1) hunk. */
  step: (by: 1 | -1) => void
  /** To the next or the previous line of the hunk. */
  line: (by: 1 | -1) => void
  toggle: () => void
  comment: () => void
  viewed: () => void
  close: () => void
}

/**
 * The keys of the review while it is open; Y and N belong to answerKeys. Deaf
 * while somebody types, holds a modifier, or has a menu or a dialog open.
 */
export function useReviewKeys(keys: ReviewKeys): void {
  const active = useActivePane()
  const newest = useRef(keys)
  useEffect(() => {
    newest.current = keys
  })
  useEffect(() => {
    if (!active) return
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || e.isComposing) return
      if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return
      if (isTyping(e.target) || overlayOpen(document)) return
      // Elsewhere the arrows scroll and choose, as they do in any page.
      const inside = e.target instanceof Element && e.target.closest('.review') !== null
      if (e.key.startsWith('Arrow') && !inside) return
      const act = actOf(e.key, newest.current)
      if (!act) return
      e.preventDefault()
      act()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [active])
}

function actOf(key: string, keys: ReviewKeys): (() => void) | undefined {
  switch (key) {
    case 'j':
      return () => keys.step(1)
    case 'k':
      return () => keys.step(-1)
    case 'ArrowDown':
      return () => keys.line(1)
    case 'ArrowUp':
      return () => keys.line(-1)
    case 'x':
      return keys.toggle
    case 'c':
      return keys.comment
    case 'v':
      return keys.viewed
    case 'Escape':
      return keys.close
    default:
      return undefined
  }
}
