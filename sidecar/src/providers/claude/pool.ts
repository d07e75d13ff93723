// How many vendor children may live at once. Each costs about 185 MB, so a
// person with many conversations keeps only the latest ones warm: when another
// is needed the one that was idle longest is ended. It is resumed when its
// conversation goes on. Source: real-parts.md 2.

/** One that holds a place: a session with a live child. */
export interface Member {
  /** Whether a turn is running; such a member keeps its place. */
  busy(): boolean
  /** Ends the child. The place is already somebody else's. */
  evict(): Promise<void>
}

interface Waiter {
  member: Member
  grant: () => void
}

/** Hands out places, first come, first served. */
export class Pool {
  /** In the order in which their members were last idle, the oldest first. */
  private readonly places = new Set<Member>()
  private readonly waiters: Waiter[] = []

  constructor(private readonly limit: number) {}

  /** Members that hold a place. */
  get size(): number {
    return this.places.size
  }

  /**
   * Resolves with true when the member has a place, with false when the signal
   * came first. `onWait` is called when every place is busy.
   */
  async acquire(member: Member, signal: AbortSignal, onWait: () => void): Promise<boolean> {
    if (signal.aborted) return false
    if (this.places.has(member)) return true
    if (this.waiters.length === 0 && (await this.take(member))) return true
    // The signal may have come while the place was looked for.
    if (signal.aborted) return false
    onWait()
    return new Promise((resolve) => {
      const waiter: Waiter = {
        member,
        grant: () => {
          signal.removeEventListener('abort', leave)
          resolve(true)
        },
      }
      const leave = (): void => {
        const at = this.waiters.indexOf(waiter)
        if (at >= 0) this.waiters.splice(at, 1)
        resolve(false)
      }
      this.waiters.push(waiter)
      signal.addEventListener('abort', leave, { once: true })
      // A place may have become free while the last one was looked for.
      this.serve()
    })
  }

  /** The member's turn has ended: it may be evicted, the latest one last. */
  idle(member: Member): void {
    if (!this.places.delete(member)) return
    this.places.add(member)
    this.serve()
  }

  /** The member's child has ended. */
  release(member: Member): void {
    if (this.places.delete(member)) this.serve()
  }

  private async take(member: Member): Promise<boolean> {
    if (this.places.size < this.limit) {
      this.places.add(member)
      return true
    }
    for (const other of this.places) {
      if (other.busy()) continue
      this.places.delete(other)
      this.places.add(member)
      await other.evict()
      return true
    }
    return false
  }

  private serve(): void {
    const [waiter] = this.waiters
    if (waiter === undefined) return
    const free = this.places.size < this.limit || [...this.places].some((m) => !m.busy())
    if (!free) return
    this.waiters.shift()
    void this.take(waiter.member).then(waiter.grant)
    this.serve()
  }
}
