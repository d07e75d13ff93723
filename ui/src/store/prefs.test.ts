import { describe, expect, it } from 'vitest'
import { nextTranscript, readPrefs, writePrefs } from './prefs'
import { storageKey } from './storage'

describe('prefs', () => {
  it('begin quiet, with the theme of the system', () => {
    expect(readPrefs()).toEqual({
      theme: 'system',
      density: 'compact',
      transcript: 'normal',
      notify: { enabled: false, unfocused: true, approval: true, complete: true, error: true },
    })
  })
  it('are read back as they were written', () => {
    const mine = {
      theme: 'light',
      density: 'cozy',
      transcript: 'verbose',
      notify: { enabled: true, unfocused: false, approval: true, complete: false, error: true },
    } as const
    writePrefs(mine)
    expect(readPrefs()).toEqual(mine)
  })
  it('fall back when somebody else wrote them', () => {
    localStorage.setItem(storageKey('theme'), 'purple')
    localStorage.setItem(storageKey('transcript'), '7')
    expect(readPrefs()).toMatchObject({ theme: 'system', transcript: 'normal' })
  })
  it('cycle the transcript through all three', () => {
    expect(nextTranscript('summary')).toBe('normal')
    expect(nextTranscript('normal')).toBe('verbose')
    expect(nextTranscript('verbose')).toBe('summary')
  })
})
