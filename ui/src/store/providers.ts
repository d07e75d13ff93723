// The picker's rules that are the page's own: order of choice, words of the
// badges. Readiness itself is the service's. Source: ui.md 3.

import { autoPick } from '../contract/gen'
import type { BadgeStatus, ProviderRow } from '../contract/model'

const demoRow = 'api-demo'

/** Shown when nothing but the demo is ready. Exact string of ui.md 3. */
export const demoNotice =
  'No provider is set up yet — this demo runs offline. Add a key in Settings.'

/** The row a fresh launch begins with: the first ready one, else the demo. */
export function pickRow(rows: ProviderRow[]): ProviderRow | undefined {
  for (const id of autoPick) {
    const row = rows.find((r) => r.row === id && r.badge.status === 'ready')
    if (row) return row
  }
  return rows.find((r) => r.row === demoRow) ?? rows[0]
}

/** Whether nothing but the demo can be launched. */
export function demoOnly(rows: ProviderRow[]): boolean {
  return (
    rows.some((r) => r.row === demoRow) &&
    rows.every((r) => r.row === demoRow || r.badge.status !== 'ready')
  )
}

export interface BadgeLook {
  label: string
  hue: 'green' | 'amber' | 'red' | 'plain'
  icon: 'check' | 'key' | 'user' | 'x' | 'history' | 'restart'
}

export function badgeLook(status: BadgeStatus): BadgeLook {
  switch (status) {
    case 'ready':
      return { label: 'Ready', hue: 'green', icon: 'check' }
    case 'missing_key':
      return { label: 'No key', hue: 'amber', icon: 'key' }
    case 'login_required':
      return { label: 'Log in', hue: 'amber', icon: 'user' }
    case 'service_down':
      return { label: 'Not running', hue: 'red', icon: 'x' }
    case 'coming_soon':
      return { label: 'Coming soon', hue: 'plain', icon: 'history' }
    case 'unknown':
    case 'loading':
      return { label: 'Checking…', hue: 'plain', icon: 'restart' }
  }
}

/** The three groups, in order, each with its rows as the service lists them. */
export function grouped(rows: ProviderRow[]): { group: string; rows: ProviderRow[] }[] {
  return ['Anthropic', 'OpenAI', 'Other']
    .map((group) => ({ group, rows: rows.filter((r) => r.group === group) }))
    .filter((g) => g.rows.length > 0)
}
