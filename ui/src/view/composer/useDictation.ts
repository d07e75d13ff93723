import { useEffect, useRef, useState } from 'react'

/** The part of a browser's speech recognition that is used. */
interface Recognition {
  lang: string
  continuous: boolean
  interimResults: boolean
  onresult: ((e: unknown) => void) | null
  onerror: ((e: unknown) => void) | null
  onend: (() => void) | null
  start: () => void
  stop: () => void
}

/** Makes a recognizer; undefined where the browser offers no dictation. */
function recognizer(): (() => Recognition) | undefined {
  for (const name of ['SpeechRecognition', 'webkitSpeechRecognition']) {
    const made: unknown = Reflect.get(window, name)
    if (typeof made === 'function') return () => Reflect.construct(made, [])
  }
  return undefined
}

/** The finished words of a result event. */
function wordsOf(e: unknown): string {
  const results: unknown = get(e, 'results')
  const from = get(e, 'resultIndex')
  const words: string[] = []
  const length = get(results, 'length')
  for (let i = typeof from === 'number' ? from : 0; typeof length === 'number' && i < length; i++) {
    const result = get(results, String(i))
    const text = get(get(result, '0'), 'transcript')
    if (get(result, 'isFinal') === true && typeof text === 'string') words.push(text.trim())
  }
  return words.join(' ')
}

const get = (v: unknown, key: string): unknown =>
  typeof v === 'object' && v !== null ? Reflect.get(v, key) : undefined

const reasons: Record<string, string> = {
  'not-allowed': 'The browser has no access to the microphone. Allow it for this page.',
  'audio-capture': 'No microphone was found. Connect one and try again.',
  network: 'The browser could not reach its dictation service.',
}

export interface Dictation {
  offered: boolean
  on: boolean
  toggle: () => void
}

/** Dictation by the browser: finished words go to onWords. */
export function useDictation(
  onWords: (words: string) => void,
  onFailure: (reason: string) => void,
): Dictation {
  const [make] = useState(() => recognizer())
  const [on, setOn] = useState(false)
  const running = useRef<Recognition>(undefined)
  const words = useRef(onWords)
  useEffect(() => {
    words.current = onWords
  })
  useEffect(() => () => running.current?.stop(), [])

  const toggle = (): void => {
    if (running.current) {
      running.current.stop()
      return
    }
    if (!make) return
    const r = make()
    r.lang = document.documentElement.lang || navigator.language
    r.continuous = true
    r.interimResults = false
    r.onresult = (e) => {
      const said = wordsOf(e)
      if (said !== '') words.current(said)
    }
    r.onerror = (e) => {
      const reason = reasons[String(get(e, 'error'))]
      if (reason) onFailure(reason)
    }
    r.onend = () => {
      running.current = undefined
      setOn(false)
    }
    running.current = r
    setOn(true)
    r.start()
  }
  return { offered: make !== undefined, on, toggle }
}
