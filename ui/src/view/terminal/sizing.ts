// Who decides how large a terminal is. One window owns the size, the one that
// last typed or was clicked; the others show it as it is. Opening a window
// changes nothing. Source: interface.md 5, ui.md 15 (F60, F61).

export interface TerminalSize {
  cols: number
  rows: number
}

export const sameSize = (a: TerminalSize | undefined, b: TerminalSize | undefined): boolean =>
  a?.cols === b?.cols && a?.rows === b?.rows

export interface Sizing {
  /** The room of this window has changed; undefined while there is none. */
  room: (room: TerminalSize | undefined) => void
  /** The service told the size in force. */
  inForce: (size: TerminalSize) => void
  /**
   * Somebody acts here: from now on this window decides. typed means that what
   * was typed is sent next, which claims the size by itself.
   */
  claim: (typed: boolean) => void
  /** The stream is a new one: the service knows this window as a viewer only. */
  reset: () => void
  owner: () => boolean
}

/**
 * ask is called with a size that this window wants, and take before it when
 * the window becomes the owner without a key.
 */
export function createSizing(io: { take: () => void; ask: (size: TerminalSize) => void }): Sizing {
  let owner = false
  let room: TerminalSize | undefined
  let force: TerminalSize | undefined
  /** Asked for and not heard back yet, oldest first. */
  let asked: TerminalSize[] = []

  const want = (): void => {
    // A room that is not laid out yet has no size worth telling.
    if (!owner || !room || room.cols < 2 || room.rows < 1) return
    if (sameSize(room, asked.at(-1) ?? force)) return
    asked.push(room)
    io.ask(room)
  }

  return {
    room: (next) => {
      room = next
      want()
    },
    inForce: (size) => {
      force = size
      const at = asked.findIndex((a) => sameSize(a, size))
      if (at >= 0) {
        asked = asked.slice(at + 1)
        return
      }
      // Nobody here asked for it, so somebody else decides now.
      if (owner && !sameSize(size, room)) owner = false
      asked = []
    },
    claim: (typed) => {
      if (owner && typed) return
      // A click counts also where this window believes to own the size: another
      // one may have typed since, at the same size, and nothing was heard of it.
      owner = true
      asked = []
      io.take()
      want()
    },
    reset: () => {
      owner = false
      asked = []
    },
    owner: () => owner,
  }
}
