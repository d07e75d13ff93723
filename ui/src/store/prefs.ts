// Preferences of this browser: how the page looks and when it speaks up. They
// are kept in browser storage, so every window of the browser shares them and
// no other machine does. Source: ui.md 7, 20 and 21.

import { readStored, writeStored } from './storage'

export type Theme = 'system' | 'dark' | 'light'
export type RowDensity = 'compact' | 'cozy'
export type TranscriptDensity = 'summary' | 'normal' | 'verbose'

/** Which desktop notifications are wanted; all but enabled begin as true. */
export interface NotifyPrefs {
  enabled: boolean
  /** Only while no window of this browser has the focus. */
  unfocused: boolean
  approval: boolean
  complete: boolean
  error: boolean
}

export interface Prefs {
  theme: Theme
  density: RowDensity
  transcript: TranscriptDensity
  notify: NotifyPrefs
}

const themes: readonly Theme[] = ['system', 'dark', 'light']
const densities: readonly RowDensity[] = ['compact', 'cozy']
/** In the order of the cycle. Source: ui.md 7. */
export const transcriptDensities: readonly TranscriptDensity[] = ['summary', 'normal', 'verbose']
const switches = ['enabled', 'unfocused', 'approval', 'complete', 'error'] as const

function stored<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
  const value = readStored(name)
  return allowed.find((a) => a === value) ?? otherwise
}

/** Reads what this browser keeps; what it does not know has its default. */
export function readPrefs(): Prefs {
  const on = (key: (typeof switches)[number]): boolean => readStored('notify', key) !== 'off'
  return {
    theme: stored('theme', themes, 'system'),
    density: stored('density', densities, 'compact'),
    transcript: stored('transcript', transcriptDensities, 'normal'),
    notify: {
      // A browser asks before it shows any, so this one has to be turned on.
      enabled: readStored('notify', 'enabled') === 'on',
      unfocused: on('unfocused'),
      approval: on('approval'),
      complete: on('complete'),
      error: on('error'),
    },
  }
}

/** Keeps them for the next start and for the other windows. */
export function writePrefs(p: Prefs): void {
  writeStored(p.theme === 'system' ? '' : p.theme, 'theme')
  writeStored(p.density === 'compact' ? '' : p.density, 'density')
  writeStored(p.transcript === 'normal' ? '' : p.transcript, 'transcript')
  for (const key of switches) writeStored(p.notify[key] ? 'on' : 'off', 'notify', key)
}

/** The next density of the transcript, round. */
export function nextTranscript(now: TranscriptDensity): TranscriptDensity {
  const at = transcriptDensities.indexOf(now)
  return transcriptDensities[(at + 1) % transcriptDensities.length] ?? 'normal'
}
