// What deserves somebody's attention: unread marks of the list and desktop
// notifications. Pure; the browser's side is app/notifier.ts. Source: ui.md 21.

import type { AgentEvent, Summary } from '../contract/model'
import type { Prefs } from './prefs'

export type AlertKind = 'approval' | 'complete' | 'error'

/** One thing to tell about one conversation. */
export interface Alert {
  kind: AlertKind
  id: string
  tag: string
  title: string
  body: string
}

const titles: Record<AlertKind, string> = {
  approval: 'Approval Needed',
  complete: 'Session Complete',
  error: 'Session Error',
}

function words(kind: AlertKind, title: string): string {
  switch (kind) {
    case 'approval':
      return `${title} is waiting for your approval`
    case 'complete':
      return `${title} has finished`
    case 'error':
      return `${title} encountered an error`
  }
}

function alertOf(kind: AlertKind, s: Summary): Alert {
  const title = s.title || 'Untitled'
  return {
    kind,
    id: s.session_id,
    tag: `${kind}-${s.session_id}`,
    title: titles[kind],
    body: words(kind, title),
  }
}

/**
 * What an event of the list says to somebody who looks elsewhere. before is
 * the row as it was. A turn that somebody cancelled is no news, and one whose
 * queue goes on is not complete.
 */
export function alertFor(event: AgentEvent, before: Summary): Alert | undefined {
  switch (event.kind) {
    case 'updated':
      return (event.patch.needs_you ?? 0) > before.needs_you
        ? alertOf('approval', before)
        : undefined
    case 'turn-ended':
      if (event.outcome === 'error') return alertOf('error', before)
      return event.outcome === 'done' && before.queued === 0
        ? alertOf('complete', before)
        : undefined
    default:
      return undefined
  }
}

/** The least time between two notifications of one conversation. In ms. */
export const alertPauseMs = 5000

export interface AlertContext {
  prefs: Prefs['notify']
  /** Whether any window of this browser has the focus. */
  focused: boolean
  /** Whether any window of this browser shows that conversation. */
  selected: boolean
  /** When the last one of that conversation was shown; ms since 1970. */
  last: number
  now: number
}

/** Whether an alert becomes a notification. */
export function shouldTell(alert: Alert, c: AlertContext): boolean {
  if (!c.prefs.enabled || !c.prefs[alert.kind]) return false
  if (c.prefs.unfocused && c.focused) return false
  if (alert.kind === 'complete' && c.selected) return false
  return c.now - c.last >= alertPauseMs
}

/**
 * Which rows have ended a turn that was not looked at. running are those that
 * were seen running, so that an end while no window was open counts too.
 */
export interface Unread {
  running: string[]
  unread: string[]
}

export function readUnread(text: string): Unread {
  try {
    const kept: unknown = JSON.parse(text)
    const [running, unread] = Array.isArray(kept) ? kept : []
    return { running: ids(running), unread: ids(unread) }
  } catch {
    return { running: [], unread: [] }
  }
}

const ids = (v: unknown): string[] =>
  Array.isArray(v) ? v.filter((id) => typeof id === 'string') : []

export function unreadText(u: Unread): string {
  return u.running.length + u.unread.length === 0 ? '' : JSON.stringify([u.running, u.unread])
}

/** The marks after a look at the list; open ones are read. */
export function followUnread(
  u: Unread,
  summaries: Summary[],
  open: (id: string) => boolean,
): Unread {
  const running: string[] = []
  const unread: string[] = []
  for (const s of summaries) {
    const id = s.session_id
    const active = s.status === 'active'
    if (active) running.push(id)
    if (open(id)) continue
    if (u.unread.includes(id) || (!active && u.running.includes(id))) unread.push(id)
  }
  return { running, unread }
}
