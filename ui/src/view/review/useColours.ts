import { useEffect, useState } from 'react'
import type { Token } from '../conversation/highlight'
import { highlight } from '../conversation/highlight'

/** Colours of both sides, line by line, when they are ready. */
export interface Colours {
  before: Token[][] | undefined
  after: Token[][] | undefined
}

const none: Colours = { before: undefined, after: undefined }

// The end of a file's name is what a fence calls its language.
const languageOf = (path: string): string => {
  const name = path.split('/').at(-1) ?? ''
  if (/^makefile$/i.test(name)) return 'make'
  if (/^dockerfile/i.test(name)) return 'docker'
  return name.includes('.') ? (name.split('.').at(-1) ?? '').toLowerCase() : ''
}

/** Colours of two texts; none while wanted is false. */
export function useColours(before: string, after: string, path: string, wanted: boolean): Colours {
  const [ready, setReady] = useState<{ before: string; after: string; colours: Colours }>()
  useEffect(() => {
    if (!wanted) return
    let gone = false
    const language = languageOf(path)
    void Promise.all([highlight(before, language), highlight(after, language)]).then(([a, b]) => {
      if (!gone) setReady({ before, after, colours: { before: a, after: b } })
    })
    return () => {
      gone = true
    }
  }, [before, after, path, wanted])
  return ready && ready.before === before && ready.after === after ? ready.colours : none
}
