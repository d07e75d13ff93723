import { describe, expect, it } from 'vitest'
import { settle } from '../../test/fakeSocket'
import type { Envelope } from '../contract/model'
import type { Handlers, LinkState } from '../net/socket'
import { CallError } from '../net/socket'
import { createWork } from './work'
import type { Workspace } from './workspace'
import {
  conversationPane,
  readWorkspaces,
  templateFor,
  templatesOf,
  terminalPane,
} from './workspace'

const bash = {
  id: 'bash',
  label: 'bash',
  kind: 'shell',
  command: 'bash',
  args: [],
  path: '/bin/bash',
  default: true,
}
const claude = {
  id: 'claude',
  label: 'Claude Code',
  kind: 'agent',
  command: 'claude',
  args: [],
  path: '/b/claude',
  default: false,
}

const terminal = (id: string, more: object = {}) => ({
  terminal_id: id,
  command: 'bash',
  args: [],
  cwd: '/p',
  state: 'running',
  child_pid: 7,
  cols: 80,
  rows: 24,
  title: '',
  exit_code: null,
  signal: null,
  offset: 0,
  viewers: 1,
  started: '2026-01-01T00:00:00Z',
  ...more,
})

function setUp(answers: Record<string, (p: Record<string, unknown>) => unknown> = {}) {
  const calls: [string, Record<string, unknown>][] = []
  const said: string[] = []
  let handlers: Handlers | undefined
  let subscribed = 0
  let clock = 0
  const app: Record<string, unknown> = {}
  const state: LinkState = { phase: 'open' }
  const work = createWork({
    link: {
      state: () => state,
      onState: () => () => undefined,
      subscribe: (_subjects, _since, h) => {
        subscribed++
        handlers = h
        return () => {
          subscribed--
        }
      },
      call: async (method, given = {}) => {
        const params = given as Record<string, unknown>
        calls.push([method, params])
        const own = answers[method]
        if (own) return own(params)
        if (method === 'list_terminals') return []
        if (method === 'open_terminal') return { terminal_id: params.terminal_id }
        if (method === 'set_settings') {
          for (const [k, v] of Object.entries(params.app as Record<string, unknown>)) {
            if (v === null) delete app[k]
            else app[k] = v
          }
          return { app }
        }
        if (method === 'get_settings') return { app }
        return {}
      },
    },
    say: (text) => said.push(text),
    now: () => (clock += 5000),
  })
  const hear = (what: string, id: string, data: unknown): void => {
    const e: Envelope = { seq: 1, time: '', subject: `terminal.${what}.${id}`, turn: '', data }
    handlers?.onEvents([e])
  }
  const get = () => work.store.getState()
  const first = (): Workspace => {
    const w = get().workspaces?.[0]
    if (!w) throw new Error('There is no workspace.')
    return w
  }
  return {
    work,
    calls,
    said,
    app,
    get,
    first,
    hear,
    subscribed: () => subscribed,
    lose: () => handlers?.onLost('gap'),
  }
}

const template = templatesOf([bash, claude] as never)

it('offers only templates whose programs are here', () => {
  expect(template.map((t) => [t.label, t.holds])).toEqual([
    ['Shell', 'bash'],
    ['Review Pair', 'Claude Code and bash'],
  ])
  expect(templatesOf([])).toEqual([])
})

describe('terminals', () => {
  it('follows them while somebody looks, and only then', async () => {
    const t = setUp({ list_terminals: () => [terminal('t-1')] })
    const stop = t.work.follow()
    t.work.follow()()
    await settle()
    expect(t.subscribed()).toBe(1)
    t.hear('title', 't-1', { title: 'vim' })
    t.hear('resized', 't-1', { cols: 100, rows: 30 })
    expect(t.get().terminals?.[0]).toMatchObject({ title: 'vim', cols: 100, rows: 30 })
    t.hear('exited', 't-1', { exit_code: -1, signal: 'SIGKILL' })
    expect(t.get().terminals?.[0]).toMatchObject({
      state: 'ended',
      signal: 'SIGKILL',
      child_pid: 0,
    })
    t.hear('closed', 't-1', {})
    expect(t.get().terminals).toEqual([])
    expect(t.get().closed['t-1']).toBe(true)
    stop()
    expect(t.subscribed()).toBe(0)
  })

  it('reads the list again when events were missed', async () => {
    let n = 0
    const t = setUp({ list_terminals: () => (n++ === 0 ? [] : [terminal('t-2')]) })
    t.work.follow()
    await settle()
    t.lose()
    await settle()
    expect(t.get().terminals?.map((x) => x.terminal_id)).toEqual(['t-2'])
    expect(t.subscribed()).toBe(1)
  })

  it('opens what a tile wants once, with its own id and size', async () => {
    const list: object[] = []
    const t = setUp({ list_terminals: () => list })
    t.work.follow()
    await settle()
    const pane = terminalPane(claude as never)
    void t.work.start(pane, '/p', { cols: 90, rows: 20 })
    void t.work.start(pane, '/p', { cols: 90, rows: 20 })
    list.push(terminal(pane.id))
    await settle()
    await t.work.start(pane, '/p', { cols: 90, rows: 20 })
    expect(t.calls.filter(([m]) => m === 'open_terminal')).toEqual([
      [
        'open_terminal',
        { terminal_id: pane.id, command: 'claude', args: [], cwd: '/p', cols: 90, rows: 20 },
      ],
    ])
    expect(t.get().fresh[pane.id]).toBe(true)
    expect(t.get().starts).toEqual({})
  })

  it('takes the terminal that another window opened meanwhile', async () => {
    const list: object[] = []
    const t = setUp({
      list_terminals: () => list,
      open_terminal: () => {
        throw new CallError('in use', -32009, undefined, true)
      },
    })
    t.work.follow()
    await settle()
    const pane = terminalPane(bash as never)
    list.push(terminal(pane.id))
    t.work.store.setState({ terminals: [] })
    await t.work.start(pane, '', { cols: 80, rows: 24 })
    expect(t.get().starts).toEqual({})
    expect(t.get().fresh).toEqual({})
  })

  it("keeps the service's sentence when a program does not start", async () => {
    const t = setUp({
      open_terminal: () => {
        throw new CallError('codex did not start: permission denied', -32009, undefined, true)
      },
    })
    t.work.follow()
    await settle()
    const pane = terminalPane(bash as never)
    await t.work.start(pane, '', { cols: 80, rows: 24 })
    expect(t.get().starts[pane.id]).toEqual({
      phase: 'failed',
      reason: 'codex did not start: permission denied',
    })
  })
})

describe('workspaces', () => {
  it('is kept in the settings of the service and read from there', async () => {
    const t = setUp()
    t.work.follow()
    t.work.reload()
    await settle()
    const id = await t.work.create('one', '/p', template[1])
    expect(t.first().panes.map((p) => p.command)).toEqual(['claude', 'bash'])
    t.work.add(id, conversationPane('c-1'))
    await settle()
    const read = readWorkspaces(t.app)
    expect(read).toEqual(t.get().workspaces)
    expect(read[0]?.panes).toHaveLength(3)
    expect(templateFor(t.app, '/p')).toBe('review-pair')
    // Another window finds the same.
    const other = createWork({
      link: {
        state: () => ({ phase: 'open' }),
        onState: () => () => undefined,
        subscribe: () => () => undefined,
        call: async (m) => (m === 'get_settings' ? { app: t.app } : []),
      },
      say: () => undefined,
    })
    other.reload()
    await settle()
    expect(other.store.getState().workspaces).toEqual(t.get().workspaces)
  })

  it('closes the terminal of a tile, and forgets a conversation only', async () => {
    const t = setUp({ list_terminals: () => [] })
    t.work.follow()
    t.work.reload()
    await settle()
    const id = await t.work.create('one', '/p', template[0])
    t.work.add(id, conversationPane('c-1'))
    const [shell, talk] = t.first().panes
    t.work.store.setState({ terminals: [terminal(shell?.id ?? '')] as never })
    await t.work.closePane(id, talk?.id ?? '')
    await t.work.closePane(id, shell?.id ?? '')
    expect(t.calls.filter(([m]) => m === 'close_terminal')).toEqual([
      ['close_terminal', { terminal_id: shell?.id }],
    ])
    expect(t.first().panes).toEqual([])
    await settle()
    expect(readWorkspaces(t.app)[0]?.panes).toEqual([])
  })

  it('keeps a tile whose terminal did not close', async () => {
    const t = setUp({
      close_terminal: () => {
        throw new CallError('The terminal did not end.', -32603, undefined, true)
      },
    })
    t.work.follow()
    t.work.reload()
    await settle()
    const id = await t.work.create('one', '/p', template[0])
    const [shell] = t.first().panes
    t.work.store.setState({ terminals: [terminal(shell?.id ?? '')] as never })
    await t.work.closePane(id, shell?.id ?? '')
    expect(t.first().panes).toHaveLength(1)
    await t.work.remove(id)
    expect(t.get().workspaces).toHaveLength(1)
    expect(t.said).toEqual(['The terminal did not end.', 'The terminal did not end.'])
  })

  it('saves the newest state last, however slow a save is', async () => {
    const gates: (() => void)[] = []
    const saved: unknown[] = []
    const t = setUp({
      set_settings: async (p) => {
        await new Promise<void>((r) => gates.push(r))
        saved.push(Object.values(p.app as object)[0])
        return { app: {} }
      },
    })
    t.work.follow()
    t.work.reload()
    await settle()
    const created = t.work.create('one', '/p', undefined)
    await settle()
    gates.shift()?.()
    const id = await created
    t.work.rename(id, 'two')
    await settle()
    t.work.rename(id, 'three')
    t.work.rename(id, 'four')
    await settle()
    // A reading that answers meanwhile is older than what is shown.
    t.work.reload()
    await settle()
    expect(t.first().name).toBe('four')
    while (gates.length > 0) {
      gates.shift()?.()
      await settle()
    }
    expect(saved.map((w) => (w as { name: string }).name)).toEqual(['one', 'two', 'four'])
  })

  it('draws a drag without saving it, and saves its end', async () => {
    const t = setUp()
    t.work.follow()
    t.work.reload()
    await settle()
    const id = await t.work.create('one', '/p', template[1])
    const before = t.calls.length
    const layout = t.first().layout
    if (!layout) throw new Error('Two tiles have a layout.')
    t.work.setLayout(id, layout, false)
    await settle()
    expect(t.calls.length).toBe(before)
    t.work.setLayout(id, layout, true)
    await settle()
    expect(t.calls.length).toBe(before + 1)
  })

  it('reads what makes sense of damaged settings', () => {
    const read = readWorkspaces({
      'workspace:a': {
        name: 7,
        panes: [{ id: '../x', kind: 'terminal' }, { id: 't-1', kind: 'odd' }, { id: 't-1' }, 3],
        layout: 'x',
      },
      'workspace:bad id': {},
      'workspace:b': null,
      theme: 'dark',
    })
    expect(read).toHaveLength(1)
    expect(read[0]).toMatchObject({ id: 'a', name: 'Workspace', layout: { pane: 't-1' } })
    expect(read[0]?.panes.map((p) => p.id)).toEqual(['t-1'])
  })
})
