import type { KeyboardEvent, RefObject } from 'react'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { BuiltinId, SlashCommand, Trigger } from '../../store/completion'
import { describe, matching, mention, pick, triggerAt } from '../../store/completion'

// A file search waits this long for the next letter. Source: ui.md 5.2. In ms.
const debounceMs = 100
// A list outlives the blur by this long, so that a click can land. In ms.
const blurMs = 120

export interface Choice {
  key: string
  label: string
  detail: string
}

export interface CompletionOptions {
  field: RefObject<HTMLTextAreaElement | null>
  text: string
  setText: (text: string) => void
  /** Files for a query; undefined where the composer has none. */
  findFiles: ((query: string) => Promise<string[]>) | undefined
  /** The commands, read each time their list opens; undefined without any. */
  listCommands: (() => Promise<SlashCommand[]>) | undefined
  /** Those that are there before the list has been read. */
  firstCommands: readonly SlashCommand[]
  onBuiltin: (id: BuiltinId) => void
}

export interface Completion {
  kind: Trigger['kind'] | undefined
  choices: Choice[]
  highlight: number
  empty: string
  pick: (at: number) => void
  setHighlight: (at: number) => void
  /** Looks at the caret again: after an edit, a move or a click. */
  look: () => void
  blur: () => void
  /** Whether the stroke was the list's. */
  key: (e: KeyboardEvent) => boolean
}

/** The popover of a composer: one for `@`, one for `/`, never both. */
export function useCompletion(o: CompletionOptions): Completion {
  const [trigger, setTrigger] = useState<Trigger>()
  const [closedAt, setClosedAt] = useState(-1)
  const [files, setFiles] = useState<string[]>([])
  const [commands, setCommands] = useState(o.firstCommands)
  const [highlight, setHighlight] = useState(0)
  const caret = useRef<number>(undefined)
  const blurTimer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const { findFiles, listCommands } = o

  const open = trigger !== undefined && trigger.start !== closedAt ? trigger : undefined
  const kind = open?.kind
  const query = open?.query ?? ''

  useEffect(() => {
    if (kind !== 'file' || !findFiles) return
    let stale = false
    const timer = setTimeout(() => {
      void findFiles(query)
        .catch(() => [])
        .then((paths) => {
          if (stale) return
          setFiles(paths)
          setHighlight(0)
        })
    }, debounceMs)
    return () => {
      stale = true
      clearTimeout(timer)
    }
  }, [kind, query, findFiles])

  useEffect(() => {
    if (kind !== 'command' || !listCommands) return
    let stale = false
    void listCommands().then((list) => {
      if (!stale) setCommands(list)
    })
    return () => {
      stale = true
    }
  }, [kind, listCommands])

  // The caret goes where the pick has left it, once the text is there.
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    o.field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  useEffect(() => () => clearTimeout(blurTimer.current), [])

  const found = kind === 'command' ? matching(commands, query) : []
  const choices: Choice[] =
    kind === 'file'
      ? files.map((path) => ({ key: path, label: path, detail: '' }))
      : found.map((c) => ({ key: c.name, label: `/${c.name}`, detail: describe(c) }))
  const at = Math.min(highlight, Math.max(0, choices.length - 1))

  const look = (): void => {
    const el = o.field.current
    if (!el) return
    clearTimeout(blurTimer.current)
    const on = { files: findFiles !== undefined, commands: listCommands !== undefined }
    const next =
      el.selectionStart === el.selectionEnd ? triggerAt(el.value, el.selectionEnd, on) : undefined
    if (next?.start !== trigger?.start || next?.query !== trigger?.query) setHighlight(0)
    if (next?.start !== closedAt) setClosedAt(-1)
    if (next?.kind !== trigger?.kind) setFiles([])
    setTrigger(next)
  }

  const replace = (by: Trigger, insertion: string): void => {
    const next = pick(o.text, by, insertion)
    caret.current = next.caret
    o.setText(next.text)
    setTrigger(undefined)
    o.field.current?.focus()
  }

  const choose = (index: number): void => {
    if (!open) return
    const path = files[index]
    const command = found[index]
    if (open.kind === 'file' && path !== undefined) replace(open, mention(path))
    else if (open.kind === 'command' && command) {
      switch (command.kind) {
        case 'builtin':
          replace(open, '')
          o.onBuiltin(command.id)
          break
        case 'body':
          replace(open, command.body)
          break
        case 'engine':
          replace(open, `/${command.name} `)
          break
      }
    } else setClosedAt(open.start)
  }

  const key = (e: KeyboardEvent): boolean => {
    if (!open || e.nativeEvent.isComposing || e.keyCode === 229) return false
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return false
    switch (e.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        const step = e.key === 'ArrowDown' ? 1 : -1
        const n = choices.length
        if (n > 0) setHighlight((at + step + n) % n)
        return true
      }
      case 'Enter':
      case 'Tab':
        choose(at)
        return true
      case 'Escape':
        setClosedAt(open.start)
        return true
      default:
        return false
    }
  }

  return {
    kind,
    choices,
    highlight: at,
    empty: kind === 'file' ? 'No files found' : 'No matching commands',
    pick: choose,
    setHighlight,
    look,
    blur: () => {
      clearTimeout(blurTimer.current)
      blurTimer.current = setTimeout(() => setTrigger(undefined), blurMs)
    },
    key,
  }
}
