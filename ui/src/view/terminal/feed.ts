// What lies between a stream and a terminal on the screen: order, replay,
// acknowledgement. It knows no page, so it is tested with xterm's headless
// build.

import type { ServerFrame } from '../../net/terminal'
import type { TerminalSize } from './sizing'

/** The part of xterm that is used here. */
export interface Emulator {
  readonly cols: number
  readonly rows: number
  write(data: string | Uint8Array, done?: () => void): void
  resize(cols: number, rows: number): void
}

export interface Feed {
  frame: (frame: ServerFrame) => void
  /** Whether a snapshot is being drawn: what xterm says then was not typed. */
  replaying: () => boolean
}

export interface FeedHandlers {
  /** Everything before the offset is drawn. */
  drawn: (offset: number) => void
  /** A size in force, once it is on the screen. */
  sized: (size: TerminalSize) => void
  /** The program has ended, and all that it wrote is on the screen. */
  ended: (code: number) => void
  /** A snapshot is on the screen: the program runs, or ends with what follows. */
  begun: () => void
}

/** RIS: whatever was on the screen is gone, also half a sequence. */
const fullReset = '\x1bc'

export function createFeed(term: Emulator, on: FeedHandlers): Feed {
  let replays = 0
  // xterm draws later than it is written to; a change of size and the end take
  // their turn behind what was written before.
  const inTurn = (then: () => void): void => term.write('', then)
  return {
    frame: (f) => {
      switch (f.kind) {
        case 'size':
          inTurn(() => {
            if (term.cols !== f.cols || term.rows !== f.rows) term.resize(f.cols, f.rows)
            on.sized({ cols: f.cols, rows: f.rows })
          })
          return
        case 'snapshot':
          replays++
          term.write(fullReset)
          term.write(f.bytes, () => {
            replays--
            on.begun()
          })
          return
        case 'output':
          term.write(f.bytes, () => on.drawn(f.offset + f.bytes.length))
          return
        case 'exit':
          inTurn(() => on.ended(f.code))
          return
      }
    },
    replaying: () => replays > 0,
  }
}

// What a terminal sends by itself: focus, device attributes, positions, modes,
// sizes, settings, colours.
const reply =
  /^(?:\x1b\[[IO]|\x1b\[[?>=]?[\d;]*(?:[cnRt]|\$y)|\x1bP[^\x1b]*\x1b\\|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))+$/

/** Whether data is nothing but answers of a terminal. */
export const isReply = (data: string): boolean => reply.test(data)

/**
 * What is pasted, without the marks that end a paste: with one of them inside,
 * the rest would count as typed.
 */
export const cleanPaste = (text: string): string => text.replace(/\x1b\[20[01]~/g, '')
