// Terminals and workspaces of one window: what the service tells of terminals,
// what is kept in its settings, and what only this window shows (which tile has
// the focus, which one is zoomed).

import type { StoreApi } from 'zustand/vanilla'
import { createStore } from 'zustand/vanilla'
import { CodeConflict, CodeNotFound } from '../contract/gen'
import type { Terminal, TerminalPreset } from '../contract/gen'
import { rec } from '../contract/guards'
import type { Envelope } from '../contract/model'
import { readTerminalEvent } from '../contract/work'
import { sentence } from '../net/command'
import type { Link } from '../net/socket'
import { CallError } from '../net/socket'
import { createTerminalCommands } from '../net/terminalCommands'
import type { LayoutNode, Side } from './layout'
import { append, beside, move, without } from './layout'
import type { Pane, Template, Workspace } from './workspace'
import {
  defaultsSetting,
  newWorkspace,
  readWorkspaces,
  settingOf,
  writeWorkspace,
} from './workspace'

/** How a terminal that this window wants is getting on. */
export type Start = { phase: 'starting' } | { phase: 'failed'; reason: string }

export interface WorkState {
  /** undefined until the first answer. */
  terminals: Terminal[] | undefined
  terminalsError: string
  presets: TerminalPreset[] | undefined
  workspaces: Workspace[] | undefined
  workspacesError: string
  /** The settings beside the workspaces; what a project was given last. */
  settings: Record<string, unknown>
  starts: Record<string, Start>
  /** Counts what was saved here, for the other windows of the browser. */
  saved: number
  /** Terminals that this window opened, which it may size at once. */
  fresh: Record<string, true>
  /** Terminals that were closed while this window looked on. */
  closed: Record<string, true>
  /** The tile that has the focus, by workspace. */
  focused: Record<string, string>
  /** The tile that fills its workspace. */
  zoomed: Record<string, string>
}

export interface Size {
  cols: number
  rows: number
}

export interface Work {
  store: StoreApi<WorkState>
  /** Follows what terminals do, until the disposer runs. */
  follow: () => () => void
  /** Reads the workspaces. */
  reload: () => void
  reloadPresets: () => void
  create: (name: string, project: string, template: Template | undefined) => Promise<string>
  rename: (workspace: string, name: string) => void
  /** Ends its terminals and forgets it. */
  remove: (workspace: string) => Promise<void>
  /** Adds a tile: beside another one, else at the end. It gets the focus. */
  add: (workspace: string, pane: Pane, at?: { pane: string; side: Exclude<Side, 'middle'> }) => void
  /** Takes a tile away; a terminal in it is closed. */
  closePane: (workspace: string, pane: string) => Promise<void>
  movePane: (workspace: string, pane: string, target: string, side: Side) => void
  /** Draws a layout; only a save keeps it. */
  setLayout: (workspace: string, layout: LayoutNode, save: boolean) => void
  /** Opens what a tile wants, once; a terminal that is there already stays. */
  start: (pane: Pane, cwd: string, size: Size) => Promise<void>
  restart: (pane: Pane, cwd: string) => Promise<void>
  focus: (workspace: string, pane: string) => void
  zoom: (workspace: string, pane: string | undefined) => void
  dispose: () => void
}

export interface WorkOptions {
  link: Pick<Link, 'call' | 'subscribe' | 'onState' | 'state'>
  say: (text: string, tone?: 'info' | 'error') => void
  now?: () => number
}

const subjects = ['terminal.>']

/** The least time between two tries to subscribe. In ms. */
const againMs = 1000

export function createWork({ link, say, now = Date.now }: WorkOptions): Work {
  const commands = createTerminalCommands(link)
  const store = createStore<WorkState>(() => ({
    terminals: undefined,
    terminalsError: '',
    presets: undefined,
    workspaces: undefined,
    workspacesError: '',
    settings: {},
    starts: {},
    saved: 0,
    fresh: {},
    closed: {},
    focused: {},
    zoomed: {},
  }))
  const { getState: get, setState: set } = store
  const isDown = (e: unknown): boolean => e instanceof CallError && e.code === 0

  // --- terminals ------------------------------------------------------------

  const change = (id: string, patch: Partial<Terminal>): void =>
    set((s) => ({
      terminals: s.terminals?.map((t) => (t.terminal_id === id ? { ...t, ...patch } : t)),
    }))

  const hear = (envelope: Envelope): void => {
    const [, what = '', id = ''] = envelope.subject.split('.')
    const event = readTerminalEvent(what, envelope.data)
    if (!event) return
    switch (event.what) {
      case 'opened':
        set((s) => ({ closed: omit(s.closed, id), starts: omit(s.starts, id) }))
        if (get().terminals?.some((t) => t.terminal_id === id)) {
          change(id, {
            ...event.payload,
            state: 'running',
            exit_code: null,
            signal: null,
            title: '',
          })
        }
        // Its process is not part of the event.
        void listTerminals()
        return
      case 'exited':
        change(id, { ...event.payload, state: 'ended', child_pid: 0 })
        return
      case 'resized':
        change(id, event.payload)
        return
      case 'title':
        change(id, event.payload)
        return
      case 'closed':
        set((s) => ({
          terminals: s.terminals?.filter((t) => t.terminal_id !== id),
          closed: { ...s.closed, [id]: true },
        }))
        return
    }
  }

  let listing = 0
  const listTerminals = async (): Promise<void> => {
    const mine = ++listing
    try {
      const terminals = await commands.list()
      if (mine === listing) set({ terminals, terminalsError: '' })
    } catch (e) {
      if (mine === listing && !isDown(e)) set({ terminalsError: sentence(e) })
    }
  }

  let followers = 0
  let stop: (() => void) | undefined

  // Subscribed first, read second: what changes in between arrives as well.
  const listen = (): void => {
    stop?.()
    const began = now()
    let timer: ReturnType<typeof setTimeout> | undefined
    const off = link.subscribe(subjects, 'new', {
      onEvents: (events) => events.forEach(hear),
      onLost: () => {
        if (stop !== mine) return
        // One that is refused at once would be refused again at once.
        if (now() - began < againMs) timer = setTimeout(listen, againMs)
        else listen()
      },
    })
    const mine = (): void => {
      clearTimeout(timer)
      off()
    }
    stop = mine
    void listTerminals()
  }

  const follow = (): (() => void) => {
    if (followers++ === 0) listen()
    let done = false
    return () => {
      if (done) return
      done = true
      if (--followers > 0) return
      stop?.()
      stop = undefined
    }
  }

  let reads = 0
  const offState = link.onState((s) => {
    if (s.phase !== 'open' || followers === 0) return
    // What was asked for while the connection was down was never answered.
    if (get().terminals === undefined) void listTerminals()
    // A Monitor never asked for workspaces: they are settings, and not its business.
    if (reads > 0 && get().workspaces === undefined) reload()
  })

  // --- workspaces -----------------------------------------------------------

  function reload(): void {
    const mine = ++reads
    commands
      .settings()
      .then((settings) => {
        if (mine !== reads) return
        // What is being saved is newer than what was read.
        const saving = get().workspaces?.filter((w) => saves.has(w.id)) ?? []
        const kept = new Set(saving.map((w) => w.id))
        const read = readWorkspaces(settings).filter((w) => !kept.has(w.id) && !removed.has(w.id))
        const workspaces = [...read, ...saving].sort((a, b) => a.created - b.created)
        set({ settings, workspaces, workspacesError: '' })
      })
      .catch((e: unknown) => {
        if (mine === reads && !isDown(e)) set({ workspacesError: sentence(e) })
      })
  }

  function reloadPresets(): void {
    commands
      .presets()
      .then((presets) => set({ presets }))
      .catch((e: unknown) => {
        if (!isDown(e)) say(sentence(e), 'error')
      })
  }

  // One save at a time for each workspace; the newest state goes out last.
  const saves = new Map<string, Promise<void>>()
  const removed = new Set<string>()

  const save = (id: string): Promise<void> => {
    const before = saves.get(id) ?? Promise.resolve()
    const mine = before.then(async () => {
      const w = get().workspaces?.find((x) => x.id === id)
      if (!w || saves.get(id) !== mine) return
      try {
        await commands.setSettings({ [settingOf(id)]: writeWorkspace(w) })
        set((s) => ({ saved: s.saved + 1 }))
      } catch (e) {
        say(`The workspace was not saved: ${sentence(e)}`, 'error')
      }
    })
    saves.set(id, mine)
    return mine.finally(() => {
      if (saves.get(id) === mine) saves.delete(id)
    })
  }

  const edit = (id: string, f: (w: Workspace) => Workspace): void => {
    set((s) => ({ workspaces: s.workspaces?.map((w) => (w.id === id ? f(w) : w)) }))
    void save(id)
  }

  const focus = (workspace: string, pane: string): void => {
    if (get().focused[workspace] !== pane)
      set((s) => ({ focused: { ...s.focused, [workspace]: pane } }))
  }

  const closeTerminal = async (id: string): Promise<boolean> => {
    const there = get().terminals?.some((t) => t.terminal_id === id) ?? true
    if (!there) return true
    try {
      await commands.close(id)
      return true
    } catch (e) {
      // One that is gone already is closed enough.
      if (e instanceof CallError && e.code === CodeNotFound) return true
      say(sentence(e), 'error')
      return false
    }
  }

  const open = async (pane: Pane, cwd: string, size: Size): Promise<void> => {
    const mark = (start: Start | undefined): void =>
      set((s) => ({
        starts: start ? { ...s.starts, [pane.id]: start } : omit(s.starts, pane.id),
      }))
    mark({ phase: 'starting' })
    try {
      await commands.open({
        terminal_id: pane.id,
        ...(pane.command !== '' && { command: pane.command, args: pane.args }),
        cwd,
        ...size,
      })
      set((s) => ({ fresh: { ...s.fresh, [pane.id]: true } }))
      await listTerminals()
      mark(undefined)
    } catch (e) {
      await listTerminals()
      // Another window was first: its terminal is the one that was wanted.
      const there = get().terminals?.some((t) => t.terminal_id === pane.id) ?? false
      if (there && e instanceof CallError && e.code === CodeConflict) mark(undefined)
      else mark({ phase: 'failed', reason: sentence(e) })
    }
  }

  return {
    store,
    follow,
    reload,
    reloadPresets,
    create: async (name, project, template) => {
      const w = newWorkspace(name, project, template, now())
      const defaults = rec(get().settings[defaultsSetting])
      const next = template
        ? { [defaultsSetting]: { ...defaults, [project]: { template: template.id } } }
        : {}
      try {
        await commands.setSettings({ [settingOf(w.id)]: writeWorkspace(w), ...next })
        set((s) => ({
          workspaces: [...(s.workspaces ?? []), w],
          settings: { ...s.settings, ...next },
          saved: s.saved + 1,
        }))
        return w.id
      } catch (e) {
        say(sentence(e), 'error')
        return ''
      }
    },
    rename: (id, name) => edit(id, (w) => ({ ...w, name })),
    remove: async (id) => {
      const w = get().workspaces?.find((x) => x.id === id)
      if (!w) return
      for (const p of w.panes) if (p.kind === 'terminal' && !(await closeTerminal(p.id))) return
      removed.add(id)
      set((s) => ({ workspaces: s.workspaces?.filter((x) => x.id !== id) }))
      try {
        await commands.setSettings({ [settingOf(id)]: null })
        set((s) => ({ saved: s.saved + 1 }))
      } catch (e) {
        removed.delete(id)
        say(sentence(e), 'error')
        reload()
      }
    },
    add: (id, pane, at) => {
      edit(id, (w) => ({
        ...w,
        panes: [...w.panes, pane],
        layout: at ? beside(w.layout, at.pane, pane.id, at.side) : append(w.layout, pane.id),
      }))
      set((s) => ({ zoomed: omit(s.zoomed, id) }))
      focus(id, pane.id)
    },
    closePane: async (id, paneId) => {
      const pane = get()
        .workspaces?.find((w) => w.id === id)
        ?.panes.find((p) => p.id === paneId)
      if (!pane) return
      if (pane.kind === 'terminal' && !(await closeTerminal(paneId))) return
      edit(id, (w) => ({
        ...w,
        panes: w.panes.filter((p) => p.id !== paneId),
        layout: without(w.layout, paneId),
      }))
      set((s) => ({
        zoomed: s.zoomed[id] === paneId ? omit(s.zoomed, id) : s.zoomed,
        focused: s.focused[id] === paneId ? omit(s.focused, id) : s.focused,
        starts: omit(s.starts, paneId),
      }))
    },
    movePane: (id, pane, target, side) =>
      edit(id, (w) => ({ ...w, layout: move(w.layout, pane, target, side) })),
    setLayout: (id, layout, keep) => {
      set((s) => ({ workspaces: s.workspaces?.map((w) => (w.id === id ? { ...w, layout } : w)) }))
      if (keep) void save(id)
    },
    start: async (pane, cwd, size) => {
      if (get().starts[pane.id]?.phase === 'starting') return
      if (get().terminals?.some((t) => t.terminal_id === pane.id)) return
      await open(pane, cwd, size)
    },
    restart: async (pane, cwd) => {
      try {
        await commands.restart({
          terminal_id: pane.id,
          ...(pane.command !== '' && { command: pane.command, args: pane.args, cwd }),
        })
        set((s) => ({ fresh: { ...s.fresh, [pane.id]: true } }))
      } catch (e) {
        say(`Failed to start ${pane.name || pane.command}: ${sentence(e)}`, 'error')
      }
    },
    focus,
    zoom: (workspace, pane) =>
      set((s) => ({
        zoomed: pane === undefined ? omit(s.zoomed, workspace) : { ...s.zoomed, [workspace]: pane },
      })),
    dispose: () => {
      offState()
      stop?.()
      stop = undefined
    },
  }
}

function omit<T>(of: Record<string, T>, key: string): Record<string, T> {
  if (!(key in of)) return of
  const { [key]: _gone, ...rest } = of
  return rest
}
