// What of a conversation does not move while an answer is being written. Pure.

import type { ConversationState } from './reduce'

/**
 * Whether two states of a conversation differ by nothing but what the running
 * turn has written meanwhile. Parts of the page that show no transcript need
 * not be drawn again then.
 */
export function calmlySame(a: ConversationState, b: ConversationState): boolean {
  if (a === b) return true
  const { messages: was, ...before } = a.conversation
  const { messages: is, ...after } = b.conversation
  if (was.length !== is.length || a.resolved !== b.resolved) return false
  const known: Record<string, unknown> = before
  const keys = Object.entries(after)
  if (keys.length !== Object.keys(known).length) return false
  if (keys.some(([key, value]) => known[key] !== value)) return false
  return was.every((m, i) => {
    const now = is[i]
    return m === now || (m.id === now?.id && m.is_streaming && now.is_streaming)
  })
}
