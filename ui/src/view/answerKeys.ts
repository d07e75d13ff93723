// Y and N: one handler for the whole document. It answers the head of the
// queue, permissions before edits, and is deaf while somebody types, holds a
// modifier, or has a menu or a dialog open. Source: ui.md 9.3.

import type { Head } from '../store/review'

/** Whether keys belong to a field just now. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    target.closest('input, textarea, select, [contenteditable="true"]') !== null
  )
}

export function overlayOpen(doc: Document): boolean {
  return doc.querySelector('[role="dialog"], [role="menu"][data-state="open"]') !== null
}

/** Listens until the disposer runs. head is asked at each stroke. */
export function installAnswerKeys(
  doc: Document,
  head: () => Head | undefined,
  answer: (head: Head, yes: boolean) => void,
): () => void {
  const onKey = (e: KeyboardEvent): void => {
    if (e.defaultPrevented || e.repeat || e.isComposing) return
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return
    const yes = e.key === 'y' || e.key === 'Y'
    if (!yes && e.key !== 'n' && e.key !== 'N') return
    if (isTyping(e.target) || overlayOpen(doc)) return
    const next = head()
    if (!next) return
    e.preventDefault()
    answer(next, yes)
  }
  // A mark instead of a selector that looks for the focus: that one would be
  // matched again for every word that is drawn.
  const onFocus = (): void => {
    doc.body.toggleAttribute('data-typing', isTyping(doc.activeElement))
  }
  onFocus()
  doc.addEventListener('keydown', onKey)
  doc.addEventListener('focusin', onFocus)
  doc.addEventListener('focusout', onFocus)
  return () => {
    doc.removeEventListener('keydown', onKey)
    doc.removeEventListener('focusin', onFocus)
    doc.removeEventListener('focusout', onFocus)
  }
}
