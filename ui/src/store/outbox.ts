// Messages that have left the composer and are not known to have arrived.
//
// While the connection is down they wait and say so. On reconnect to the same
// start of the service they go out once, in order; to another one they return
// to the draft, because the conversation may not be what it was. A message
// whose answer was lost is first looked for in the transcript.

import type { Attachment } from '../contract/gen'
import type { Message, SessionInfo } from '../contract/model'

export interface OutboxItem {
  id: string
  conversationId: string
  text: string
  attachments: Attachment[]
  bootId: string
  /** User messages that were there before: the way to tell whether it came. */
  known: string[]
  state: 'sending' | 'waiting' | 'unsure'
}

/** What to do with one item once the service answers again. */
export type Fate = 'send' | 'arrived' | 'back'

export function fateOf(item: OutboxItem, session: SessionInfo, messages: Message[]): Fate {
  if (item.state === 'unsure') {
    const known = new Set(item.known)
    const arrived = messages.some(
      (m) => m.role === 'user' && !known.has(m.id) && m.content === item.text,
    )
    if (arrived) return 'arrived'
  }
  return item.bootId === session.boot_id ? 'send' : 'back'
}

export function userMessageIds(messages: Message[]): string[] {
  return messages.filter((m) => m.role === 'user').map((m) => m.id)
}
