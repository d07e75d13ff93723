// What is typed and not sent. Each window keeps its own text over a reload, so
// that two of them can write to one conversation; the browser keeps the newest
// for the next window. Sending clears what this window wrote and nothing else.

import { readStored, storageKey, writeStored } from './storage'

const own = (key: string): string => storageKey('draft', key)

/** The text of this window, else the newest of the browser. */
export function readDraft(key: string): string {
  try {
    const mine = sessionStorage.getItem(own(key))
    if (mine !== null) return mine
  } catch {
    // Private windows may refuse; the browser's copy may still be there.
  }
  return readStored('draft', key)
}

export function writeDraft(key: string, text: string): void {
  const before = readDraft(key)
  try {
    // An empty text stays: it says that this window wants none.
    sessionStorage.setItem(own(key), text)
  } catch {
    // A full storage loses the copy for a reload and nothing else.
  }
  const newest = readStored('draft', key)
  if (text !== '' || newest === before) writeStored(text, 'draft', key)
}
