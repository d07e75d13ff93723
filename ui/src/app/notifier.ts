// Desktop notifications of this browser. Every window hears every event, so
// they agree by Web Locks: the one that holds the first lock speaks, and what
// the others hold tells it which window has the focus and which conversation
// is on screen. Source: ui.md 21.

import { shouldTell } from '../store/attention'
import type { Alert } from '../store/attention'
import type { Bench } from '../store/stores'

const speaker = 'packetbench:notify'
const focusName = 'packetbench:focus'
const openName = (id: string): string => `packetbench:open:${id}`

/** The part of the Web Locks that is used, so that tests can be one. */
export interface Locks {
  /** Holds a shared or exclusive lock until the disposer runs. */
  hold: (name: string, shared: boolean, onHeld: () => void) => () => void
  held: () => Promise<string[]>
}

export interface NotifierPorts {
  locks: Locks
  show: (alert: Alert, onClick: () => void) => void
  now: () => number
  /** Which conversation this window shows; empty for none. */
  selected: () => string
  focused: () => boolean
  open: (id: string) => void
}

export interface Notifier {
  /** The focus or the shown conversation has changed. */
  moved: () => void
  dispose: () => void
}

/** Speaks for the browser while this window is the one to do so. */
export function createNotifier(bench: Bench, ports: NotifierPorts): Notifier {
  const last = new Map<string, number>()
  let speaks = false
  let holding = new Map<string, () => void>()

  const moved = (): void => {
    const wanted = new Set<string>()
    if (ports.focused()) wanted.add(focusName)
    const id = ports.selected()
    if (id !== '') wanted.add(openName(id))
    const next = new Map<string, () => void>()
    for (const [name, release] of holding) {
      if (wanted.has(name)) next.set(name, release)
      else release()
    }
    for (const name of wanted) {
      if (!next.has(name))
        next.set(
          name,
          ports.locks.hold(name, true, () => undefined),
        )
    }
    holding = next
  }

  const hear = async (alert: Alert): Promise<void> => {
    const held = await ports.locks.held()
    if (!speaks) return
    const now = ports.now()
    const tell = shouldTell(alert, {
      prefs: bench.store.getState().prefs.notify,
      focused: ports.focused() || held.includes(focusName),
      selected: ports.selected() === alert.id || held.includes(openName(alert.id)),
      last: last.get(alert.id) ?? 0,
      now,
    })
    if (!tell) return
    last.set(alert.id, now)
    ports.show(alert, () => ports.open(alert.id))
  }

  const stopSpeaking = ports.locks.hold(speaker, false, () => (speaks = true))
  const off = bench.onAlert((alert) => void hear(alert))
  moved()
  return {
    moved,
    dispose: () => {
      off()
      stopSpeaking()
      for (const release of holding.values()) release()
    },
  }
}

/** The browser's own locks; without them every window is on its own. */
export function pageLocks(): Locks {
  const manager: LockManager | undefined = navigator.locks
  if (!manager) {
    return {
      hold: (_name, _shared, onHeld) => {
        onHeld()
        return () => undefined
      },
      held: () => Promise.resolve([]),
    }
  }
  return {
    hold: (name, shared, onHeld) => {
      let release = (): void => undefined
      const until = new Promise<void>((resolve) => (release = resolve))
      manager
        .request(name, { mode: shared ? 'shared' : 'exclusive' }, () => {
          onHeld()
          return until
        })
        // A window that goes away loses what it holds.
        .catch(() => undefined)
      return release
    },
    held: async () => {
      const { held } = await manager.query()
      return (held ?? []).map((l) => l.name ?? '')
    },
  }
}

/** Shows one on the desktop; a browser may still refuse. */
export function showOnDesktop(alert: Alert, onClick: () => void): void {
  if (typeof Notification !== 'function' || Notification.permission !== 'granted') return
  try {
    const shown = new Notification(alert.title, { body: alert.body, tag: alert.tag })
    shown.onclick = () => {
      window.focus()
      shown.close()
      onClick()
    }
  } catch {
    // Some browsers allow them to service workers only; the title still counts.
  }
}
