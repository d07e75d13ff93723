// What the ops page knows: the live tree while somebody looks at it, the
// restarts that the log still holds, the tail of events, and the text log. The
// service samples only while a page asks, so nothing here asks by itself.

import type { StoreApi } from 'zustand/vanilla'
import { createStore } from 'zustand/vanilla'
import type { LogLine } from '../contract/gen'
import type { Envelope } from '../contract/model'
import type { Tree } from '../contract/tree'
import { readOpsEvent } from '../contract/tree'
import type { Schedule } from '../net/coalesce'
import { sentence } from '../net/command'
import type { ActorAction } from '../net/ops'
import { createOpsCommands } from '../net/ops'
import type { Link } from '../net/socket'
import { CallError } from '../net/socket'

/** One end of an actor. limit: it found no budget left. */
export interface End {
  actor: string
  reason: string
  /** ms since 1970. */
  at: number
  limit: boolean
}

export interface LogState {
  lines: LogLine[]
  last: number
  file: string
  error: string
}

export interface LogFilter {
  level: '' | 'debug' | 'info' | 'warn' | 'error'
  contains: string
  actor: string
}

export interface OpsState {
  tree: Tree | undefined
  treeError: string
  /** The tree is shown as it was. */
  frozen: boolean
  ends: End[]
  /** The subjects of the tail. */
  patterns: string[]
  tail: Envelope[]
  tailError: string
  /** Events a second in the tail, over the last seconds. */
  tailRate: number
  log: LogState | undefined
  logFilter: LogFilter
  /** Actors that an action is under way for. */
  acting: Record<string, ActorAction>
}

export interface Ops {
  store: StoreApi<OpsState>
  /** Follows the tree until the disposer runs. */
  watch: () => () => void
  /** Follows the events of the patterns until the disposer runs. */
  watchTail: () => () => void
  /** Follows the text log until the disposer runs. */
  watchLog: () => () => void
  /** Asks for the tree again. */
  refresh: () => void
  freeze: (on: boolean) => void
  setPatterns: (patterns: string[]) => void
  setLogFilter: (filter: LogFilter) => void
  act: (action: ActorAction, name: string) => Promise<boolean>
  dispose: () => void
}

export interface OpsOptions {
  link: Pick<Link, 'call' | 'subscribe' | 'onState' | 'state'>
  say: (text: string, tone?: 'info' | 'error') => void
  schedule: Schedule
  now?: () => number
  /** Whether the page is in sight: figures that nobody sees are not asked for. */
  inSight?: () => boolean
}

/** The step of the figures, that of the service's samples. In ms. */
export const sampleMs = 2000
/** What the tail and the log keep. */
const tailLines = 500
const logLines = 1000
/** So far back in the log the tail begins. In sequence numbers. */
const tailBack = 300
const endsKept = 500
/** The time over which the rate of the tail is taken. In ms. */
const rateMs = 5000

/** The least time between two tries to subscribe. In ms. */
const againMs = 1000

const endSubjects = ['ops.restart', 'ops.limit-reached']

export function createOps({
  link,
  say,
  schedule,
  now = Date.now,
  inSight = () => document.visibilityState === 'visible',
}: OpsOptions): Ops {
  const commands = createOpsCommands(link)
  const store = createStore<OpsState>(() => ({
    tree: undefined,
    treeError: '',
    frozen: false,
    ends: [],
    patterns: ['ops.>', 'sidecar-status.>', 'conversation.>'],
    tail: [],
    tailError: '',
    tailRate: 0,
    log: undefined,
    logFilter: { level: '', contains: '', actor: '' },
    acting: {},
  }))
  const { getState: get, setState: set } = store
  const isDown = (e: unknown): boolean => e instanceof CallError && e.code === 0

  // --- tree -----------------------------------------------------------------

  let reading = false
  let again = false
  const refresh = (): void => {
    if (reading) {
      again = true
      return
    }
    reading = true
    commands
      .tree()
      .then((tree) => {
        if (!get().frozen) set({ tree, treeError: '' })
      })
      .catch((e: unknown) => {
        if (!isDown(e)) set({ treeError: sentence(e) })
      })
      .finally(() => {
        reading = false
        if (!again) return
        again = false
        refresh()
      })
  }

  const addEnd = (envelope: Envelope): void => {
    const event = readOpsEvent(envelope.subject.slice('ops.'.length), envelope.data)
    const at = Date.parse(envelope.time)
    if (!event || !Number.isFinite(at)) return
    if (event.what === 'restart') {
      const { actor, reason } = event.payload
      set((s) => ({ ends: [...s.ends, { actor, reason, at, limit: false }].slice(-endsKept) }))
    } else if (event.what === 'limit-reached') {
      const actor = event.payload.actor ?? event.payload.supervisor
      const reason = 'no budget left'
      set((s) => ({ ends: [...s.ends, { actor, reason, at, limit: true }].slice(-endsKept) }))
    }
  }

  /** Keeps a subscription alive over what the log cannot tell any more. */
  const listen = (
    subjects: string[],
    since: () => number | 'new' | 'all',
    onEvents: (events: Envelope[]) => void,
    begin: () => void,
  ): (() => void) => {
    let stop: (() => void) | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let over = false
    const start = (): void => {
      const began = now()
      begin()
      stop = link.subscribe(subjects, since(), {
        onEvents,
        onLost: () => {
          if (over) return
          // One that is refused at once would be refused again at once.
          if (now() - began < againMs) timer = setTimeout(start, againMs)
          else start()
        },
      })
    }
    start()
    return () => {
      over = true
      clearTimeout(timer)
      stop?.()
    }
  }

  const watchers = { tree: 0, tail: 0, log: 0 }
  const once = (which: keyof typeof watchers, start: () => () => void): (() => void) => {
    if (watchers[which]++ === 0) stops[which] = start()
    let done = false
    return () => {
      if (done) return
      done = true
      if (--watchers[which] > 0) return
      stops[which]?.()
      stops[which] = undefined
    }
  }
  const stops: Record<keyof typeof watchers, (() => void) | undefined> = {
    tree: undefined,
    tail: undefined,
    log: undefined,
  }

  const watch = (): (() => void) =>
    once('tree', () => {
      const offOps = listen(
        ['ops.>'],
        () => 'new',
        (events) => {
          if (events.some((e) => e.subject !== 'ops.overflow')) refresh()
        },
        refresh,
      )
      // What happened before this page was opened counts as well.
      const offEnds = listen(
        endSubjects,
        () => 'all',
        (events) => events.forEach(addEnd),
        () => set({ ends: [] }),
      )
      const timer = setInterval(() => {
        if (!get().frozen && inSight()) refresh()
      }, sampleMs)
      return () => {
        offOps()
        offEnds()
        clearInterval(timer)
      }
    })

  // --- tail -----------------------------------------------------------------

  let waiting: Envelope[] = []
  let recent: { at: number; count: number }[] = []
  const flush = (): void => {
    const batch = waiting
    waiting = []
    if (watchers.tail === 0) return
    const t = now()
    recent = [...recent, { at: t, count: batch.length }].filter((r) => r.at > t - rateMs)
    set((s) => ({ tail: [...s.tail, ...batch].slice(-tailLines), tailRate: rate(t) }))
  }
  const rate = (t: number): number => {
    const first = recent[0]
    if (!first) return 0
    const count = recent.reduce((sum, r) => sum + r.count, 0)
    return count / Math.max(1, (t - first.at) / 1000)
  }
  const hearTail = (events: Envelope[]): void => {
    if (events.length === 0) return
    const first = waiting.length === 0
    // A flood is drawn once a frame, and only its end has room.
    waiting = [...waiting, ...events].slice(-tailLines)
    if (first) schedule(flush)
  }

  // What was said a moment ago is worth seeing as well.
  const tailSince = (): number | 'new' => {
    const log = get().tree?.house?.log
    return log && log.last > 0 ? Math.max(log.first, log.last - tailBack) : 'new'
  }

  const startTail = (): (() => void) => {
    const patterns = get().patterns
    if (patterns.length === 0) {
      set({ tail: [] })
      return () => undefined
    }
    const off = listen(patterns, tailSince, hearTail, () => set({ tail: [], tailError: '' }))
    const timer = setInterval(() => {
      const t = now()
      recent = recent.filter((r) => r.at > t - rateMs)
      const next = rate(t)
      if (next !== get().tailRate) set({ tailRate: next })
    }, 1000)
    return () => {
      off()
      clearInterval(timer)
    }
  }

  // --- log ------------------------------------------------------------------

  let logRead = 0
  const readLog = async (): Promise<void> => {
    const mine = ++logRead
    const { log, logFilter: f } = get()
    try {
      const answer = await commands.log({
        ...(log && log.last > 0 && { after: log.last }),
        ...(f.level !== '' && { level: f.level }),
        ...(f.contains !== '' && { contains: f.contains }),
        ...(f.actor !== '' && { actor: f.actor }),
      })
      if (mine !== logRead) return
      set((s) => ({
        log: {
          lines: [...(s.log?.lines ?? []), ...answer.lines].slice(-logLines),
          last: answer.last,
          file: answer.file,
          error: '',
        },
      }))
    } catch (e) {
      if (mine !== logRead || isDown(e)) return
      set((s) => ({ log: { lines: [], last: 0, file: '', ...s.log, error: sentence(e) } }))
    }
  }

  return {
    store,
    watch,
    watchTail: () => once('tail', startTail),
    watchLog: () =>
      once('log', () => {
        void readLog()
        const timer = setInterval(() => {
          if (inSight()) void readLog()
        }, sampleMs)
        return () => {
          clearInterval(timer)
          logRead++
        }
      }),
    refresh,
    freeze: (frozen) => {
      set({ frozen })
      if (!frozen) refresh()
    },
    setPatterns: (patterns) => {
      set({ patterns, tailRate: 0 })
      recent = []
      waiting = []
      if (watchers.tail === 0) return
      stops.tail?.()
      stops.tail = startTail()
    },
    setLogFilter: (logFilter) => {
      set({ logFilter, log: undefined })
      if (watchers.log > 0) void readLog()
    },
    act: async (action, name) => {
      set((s) => ({ acting: { ...s.acting, [name]: action } }))
      try {
        await commands.act(action, name)
        return true
      } catch (e) {
        say(sentence(e), 'error')
        return false
      } finally {
        set((s) => {
          const { [name]: _done, ...acting } = s.acting
          return { acting }
        })
        refresh()
      }
    },
    dispose: () => {
      for (const stop of Object.values(stops)) stop?.()
    },
  }
}
