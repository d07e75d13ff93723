// The subjects a window follows, built here and nowhere else.

import { SubjectProviderAuth, SubjectSidecarStatus } from './gen'

const agent = 'api-agent'
const conversation = 'conversation'

/** Everything that concerns one conversation. Naming it wakes and holds it. */
export function conversationSubjects(id: string): string[] {
  return [`${agent}.*.${id}`, `${conversation}.*.${id}`]
}

/** What the list, the badges and the status chip follow. Wakes nobody. */
export const listSubjects = [`${conversation}.>`, SubjectProviderAuth, SubjectSidecarStatus]

/** A subject taken apart; id is empty for the families without one. */
export interface Address {
  family: 'agent' | 'conversation' | 'other'
  what: string
  id: string
}

/** Takes a subject apart; unknown families come back as `other`. */
export function parseSubject(subject: string): Address {
  const [family = '', what = '', id = ''] = subject.split('.')
  if (family === agent) return { family: 'agent', what, id }
  if (family === conversation) return { family: 'conversation', what, id }
  return { family: 'other', what: subject, id: '' }
}

/** An id that the service accepts: 1 to 64 of A-Z a-z 0-9 _ and -. */
export function validId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/** A new conversation id: the window names it, so that it can follow first. */
export function newConversationId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9))
  return 'c-' + Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}
