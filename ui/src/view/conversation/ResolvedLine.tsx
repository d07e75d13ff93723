import { useEffect } from 'react'
import type { Resolved } from '../../store/reduce'
import { useActions, useBench } from '../bench'

// How long the last words of a card stay. Source: ui.md 9.3. In ms.
const lastWordsMs = 2000

/** Tells for a moment that somebody else answered; then the entry goes. */
export function ResolvedLine(props: { conversationId: string; entry: Resolved }) {
  const { conversationId, entry } = props
  const { forgetResolved } = useActions()
  const mine = useBench((s) => s.answering[entry.id] === true)
  const silent = mine || entry.by !== 'user'
  useEffect(() => {
    const timer = setTimeout(
      () => forgetResolved(conversationId, entry.id),
      silent ? 0 : lastWordsMs,
    )
    return () => clearTimeout(timer)
  }, [conversationId, entry.id, silent, forgetResolved])
  return silent ? null : (
    <p className="answered" role="status">
      Answered in another window
    </p>
  )
}
