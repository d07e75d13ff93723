import { beforeEach, describe, expect, it } from 'vitest'
import { readDraft, writeDraft } from './drafts'

/** Another window of this browser has its own session and the same storage. */
function inAnotherWindow<T>(work: () => T): T {
  const kept = Object.entries(sessionStorage)
  sessionStorage.clear()
  try {
    return work()
  } finally {
    sessionStorage.clear()
    for (const [key, value] of kept) sessionStorage.setItem(key, String(value))
  }
}

describe('drafts', () => {
  beforeEach(() => sessionStorage.clear())
  it('are there for the next window', () => {
    writeDraft('c', 'half a thought')
    expect(inAnotherWindow(() => readDraft('c'))).toBe('half a thought')
  })
  it('of two windows do not disturb each other', () => {
    writeDraft('c', 'mine')
    inAnotherWindow(() => writeDraft('c', 'theirs'))
    expect(readDraft('c')).toBe('mine')
    // Sending mine leaves what the other one is writing.
    writeDraft('c', '')
    expect(readDraft('c')).toBe('')
    expect(inAnotherWindow(() => readDraft('c'))).toBe('theirs')
  })
  it('are gone everywhere once the only one was sent', () => {
    writeDraft('c', 'mine')
    writeDraft('c', '')
    expect(inAnotherWindow(() => readDraft('c'))).toBe('')
  })
  it('belong to their conversation', () => {
    writeDraft('c', 'one')
    expect(readDraft('d')).toBe('')
  })
})
