// One terminal on the page: xterm, its stream and its observers, made and freed
// together.

import '@xterm/xterm/css/xterm.css'
import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import type { WebglAddon } from '@xterm/addon-webgl'
import { Terminal } from '@xterm/xterm'
import type { BinarySocket, StreamPhase } from '../../net/terminal'
import { createTerminalStream } from '../../net/terminal'
import { cleanPaste, createFeed, isReply } from './feed'
import { chordOf } from './keys'
import { linkHandler, linkProvider } from './links'
import { mend } from './quirks'
import type { TerminalSize } from './sizing'
import { createSizing } from './sizing'
import { readFont, readMarks, readTheme } from './theme'

// Source: issue 5.
const scrollbackLines = 10_000
// Below this a smaller copy of somebody else's terminal says nothing any more.
const leastFont = 4

/** What the pane around a terminal shows of it. */
export interface Face {
  phase: StreamPhase
  /** Whether anything was drawn yet. */
  begun: boolean
  /** The size in force; undefined until the service told it. */
  size: TerminalSize | undefined
  /** The size that would fill this pane. */
  room: TerminalSize | undefined
  /** Whether the size in force is somebody else's. */
  foreign: boolean
  /** The exit code, once the program has ended. */
  exit: number | undefined
  renderer: 'webgl' | 'dom'
  /** The address under the pointer. */
  link: string
  /** What was typed last could not be sent. */
  unsent: boolean
  found: { index: number; count: number } | undefined
}

export interface Mounted {
  face: () => Face
  onFace: (f: () => void) => () => void
  focus: () => void
  /** Makes this window the one that decides the size. */
  takeOver: () => void
  /** Goes to the next find, or the one before. */
  find: (text: string, back: boolean) => void
  endFind: () => void
  /** Everything that can be scrolled to, and the screen. */
  text: () => string
  selection: () => string
  paste: (text: string) => void
  /** A pane that nobody sees needs no graphics card. */
  setVisible: (visible: boolean) => void
  setReader: (on: boolean) => void
  nudge: () => void
  dispose: () => void
}

export interface MountOptions {
  host: HTMLElement
  open: () => BinarySocket
  /** A pane that watches: nothing that is done in it reaches the program. */
  readOnly: boolean
  /** A line for screen readers beside the pictures. */
  reader: boolean
}

export function mountTerminal(o: MountOptions): Mounted {
  const { host, readOnly } = o
  const font = readFont(host)
  const undo: (() => void)[] = []
  const listeners = new Set<() => void>()
  let face: Face = {
    phase: 'connecting',
    begun: false,
    size: undefined,
    room: undefined,
    foreign: false,
    exit: undefined,
    renderer: 'dom',
    link: '',
    unsent: false,
    found: undefined,
  }
  const show = (change: Partial<Face>): void => {
    face = { ...face, ...change }
    for (const f of listeners) f()
  }
  const hover = (link: string): void => show({ link })

  const term = new Terminal({
    allowProposedApi: true,
    scrollback: scrollbackLines,
    fontFamily: font.family,
    fontSize: font.size,
    lineHeight: 1.2,
    theme: readTheme(host),
    disableStdin: readOnly,
    cursorInactiveStyle: 'outline',
    screenReaderMode: o.reader,
    linkHandler: linkHandler({ hover }),
    logLevel: 'off',
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  term.loadAddon(fit)
  term.loadAddon(search)
  undo.push(mend(term))
  term.registerLinkProvider(linkProvider(term, { hover }))

  // --- stream ---------------------------------------------------------------

  const encoder = new TextEncoder()
  const sizing = createSizing({
    take: () => stream.claim(),
    ask: ({ cols, rows }) => stream.resize(cols, rows),
  })
  const feed = createFeed(term, {
    drawn: (offset) => stream.consumed(offset),
    sized: (size) => {
      sizing.inForce(size)
      show({ size })
      shrink()
    },
    begun: () => show({ begun: true, exit: undefined, unsent: false }),
    ended: (exit) => show({ exit }),
  })
  const stream = createTerminalStream({
    open: o.open,
    onFrame: (f) => feed.frame(f),
    onPhase: (phase) => {
      if (phase !== 'open') sizing.reset()
      show({ phase })
    },
  })
  const send = (bytes: Uint8Array): void => {
    const unsent = !stream.input(bytes)
    if (unsent !== face.unsent) show({ unsent })
  }
  term.onData((data) => {
    if (readOnly || (feed.replaying() && isReply(data))) return
    if (face.exit !== undefined) return
    send(encoder.encode(data))
  })
  term.onBinary((data) => {
    if (!readOnly) send(Uint8Array.from(data, (c) => c.charCodeAt(0)))
  })

  // --- size -----------------------------------------------------------------

  const setFont = (size: number): void => {
    if (term.options.fontSize !== size) term.options.fontSize = size
  }

  /** Shows a size that is larger than the room in smaller letters. */
  const shrink = (): void => {
    const { size, room } = face
    const foreign =
      size !== undefined &&
      room !== undefined &&
      !sizing.owner() &&
      (size.cols !== room.cols || size.rows !== room.rows)
    if (foreign !== face.foreign) show({ foreign })
    if (!foreign) {
      setFont(font.size)
      return
    }
    const scale = Math.min(1, room.cols / size.cols, room.rows / size.rows)
    setFont(Math.max(leastFont, Math.floor(font.size * scale * 10) / 10))
  }

  const measure = (): void => {
    const now = fit.proposeDimensions()
    if (!now || !Number.isFinite(now.cols) || !Number.isFinite(now.rows)) return
    const scale = (term.options.fontSize ?? font.size) / font.size
    const room = {
      cols: Math.max(2, Math.floor(now.cols * scale)),
      rows: Math.max(1, Math.floor(now.rows * scale)),
    }
    if (room.cols !== face.room?.cols || room.rows !== face.room.rows) show({ room })
    sizing.room(room)
    shrink()
  }

  const claim = (typed: boolean): void => {
    if (readOnly || face.phase !== 'open') return
    if (!sizing.owner()) {
      // Only full letters tell exactly how many fit.
      setFont(font.size)
      measure()
    }
    sizing.claim(typed)
    shrink()
  }

  let frame = 0
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(measure)
  })
  undo.push(() => {
    observer.disconnect()
    cancelAnimationFrame(frame)
  })

  // --- keys, clicks, pastes -------------------------------------------------

  const hear = <K extends keyof HTMLElementEventMap>(
    type: K,
    f: (e: HTMLElementEventMap[K]) => void,
  ): void => {
    host.addEventListener(type, f, true)
    undo.push(() => host.removeEventListener(type, f, true))
  }
  const paste = (text: string): void => {
    claim(true)
    term.paste(cleanPaste(text))
  }
  if (!readOnly) {
    hear('keydown', (e) => {
      const chord = chordOf(e)
      const copies = chord === 'copy' && (e.shiftKey || term.hasSelection())
      const typed = chord === undefined || (chord === 'copy' && !copies)
      if (typed && !/^(Shift|Control|Alt|AltGraph|Meta|CapsLock)$/.test(e.key)) claim(true)
    })
    hear('pointerdown', () => claim(false))
    hear('paste', (e) => {
      e.preventDefault()
      e.stopPropagation()
      paste(e.clipboardData?.getData('text/plain') ?? '')
    })
  }
  const copy = (): boolean => {
    if (!term.hasSelection()) return false
    void navigator.clipboard?.writeText(term.getSelection())
    return true
  }
  term.attachCustomKeyEventHandler((e) => {
    if (e.type !== 'keydown') return true
    const chord = chordOf(e)
    if (chord === 'copy') {
      // Without a selection Ctrl+C is the program's.
      if (!copy()) return e.shiftKey === false
      term.clearSelection()
      e.preventDefault()
      return false
    }
    return chord === undefined
  })

  // --- looks ----------------------------------------------------------------

  const themes = new MutationObserver(() => {
    term.options.theme = readTheme(host)
  })
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  undo.push(() => themes.disconnect())

  let visible = false
  let disposed = false
  let gl: WebglAddon | undefined
  const dropGl = (): void => {
    gl?.dispose()
    gl = undefined
    if (!disposed) show({ renderer: 'dom' })
  }
  const takeGl = async (): Promise<void> => {
    try {
      const { WebglAddon } = await import('@xterm/addon-webgl')
      if (disposed || !visible || gl) return
      const addon = new WebglAddon()
      // The card was reset, or another page wanted it: the page itself draws.
      addon.onContextLoss(dropGl)
      term.loadAddon(addon)
      gl = addon
      show({ renderer: 'webgl' })
    } catch {
      // No WebGL here; xterm draws with elements of the page already.
    }
  }

  search.onDidChangeResults(({ resultIndex, resultCount }) =>
    show({ found: { index: resultIndex, count: resultCount } }),
  )

  term.open(host)
  observer.observe(host)
  measure()

  return {
    face: () => face,
    onFace: (f) => {
      listeners.add(f)
      return () => listeners.delete(f)
    },
    focus: () => term.focus(),
    takeOver: () => {
      claim(false)
      term.focus()
    },
    find: (text, back) => {
      const options = { decorations: readMarks(host), incremental: false }
      if (text === '') search.clearDecorations()
      else if (back) search.findPrevious(text, options)
      else search.findNext(text, options)
    },
    endFind: () => {
      search.clearDecorations()
      term.clearSelection()
      show({ found: undefined })
    },
    text: () => textOf(term),
    selection: () => term.getSelection(),
    paste,
    setVisible: (on) => {
      if (on === visible) return
      visible = on
      if (on) {
        measure()
        void takeGl()
      } else {
        dropGl()
      }
    },
    setReader: (on) => {
      term.options.screenReaderMode = on
    },
    nudge: () => stream.nudge(),
    dispose: () => {
      disposed = true
      stream.close()
      for (const f of undo) f()
      listeners.clear()
      dropGl()
      term.dispose()
    },
  }
}

/** Rows joined where a line goes on; the empty end is left out. */
function textOf(term: Terminal): string {
  const buffer = term.buffer.active
  let text = ''
  for (let y = 0; y < buffer.length; y++) {
    const line = buffer.getLine(y)
    if (!line) continue
    const goesOn = buffer.getLine(y + 1)?.isWrapped === true
    text += line.translateToString(!goesOn) + (goesOn ? '' : '\n')
  }
  return text.replace(/\n+$/, '\n')
}
