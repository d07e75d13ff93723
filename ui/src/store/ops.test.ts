import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { settle } from '../../test/fakeSocket'
import type { Envelope } from '../contract/model'
import type { Handlers } from '../net/socket'
import { CallError } from '../net/socket'
import { createOps, sampleMs } from './ops'

function setUp(answers: Record<string, (p: Record<string, unknown>) => unknown> = {}) {
  const calls: [string, Record<string, unknown>][] = []
  const subs: { subjects: string[]; since: unknown; handlers: Handlers }[] = []
  const said: string[] = []
  const frames: (() => void)[] = []
  let sight = true
  const ops = createOps({
    link: {
      state: () => ({ phase: 'open' }),
      onState: () => () => undefined,
      subscribe: (subjects, since, handlers) => {
        const sub = { subjects, since, handlers }
        subs.push(sub)
        return () => void subs.splice(subs.indexOf(sub), 1)
      },
      call: async (method, given = {}) => {
        const params = given as Record<string, unknown>
        calls.push([method, params])
        const own = answers[method]
        if (own) return own(params)
        if (method === 'get_tree')
          return { boot_id: 'b', time: '', root: { name: 'root', children: [] } }
        return {}
      },
    },
    say: (text) => said.push(text),
    schedule: (f) => {
      frames.push(f)
      return () => undefined
    },
    inSight: () => sight,
  })
  const asked = (method: string): number => calls.filter(([m]) => m === method).length
  const find = (subject: string) => {
    const sub = subs.find((s) => s.subjects.includes(subject))
    if (!sub) throw new Error(`Nobody follows ${subject}.`)
    return sub
  }
  return {
    ops,
    calls,
    subs,
    said,
    asked,
    find,
    get: () => ops.store.getState(),
    draw: () => frames.splice(0).forEach((f) => f()),
    look: (on: boolean) => {
      sight = on
    },
  }
}

const event = (subject: string, data: unknown, seq = 1): Envelope => ({
  seq,
  time: '2026-01-01T00:00:10Z',
  subject,
  turn: '',
  data,
})

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('the tree', () => {
  it('costs nothing while nobody looks', async () => {
    const t = setUp()
    vi.advanceTimersByTime(60_000)
    expect(t.calls).toEqual([])
    const stop = t.ops.watch()
    await settle()
    stop()
    const before = t.calls.length
    vi.advanceTimersByTime(60_000)
    expect(t.calls.length).toBe(before)
    expect(t.subs).toEqual([])
  })

  it('is read at once, with each sample in sight, and when it changed', async () => {
    const t = setUp()
    t.ops.watch()
    await settle()
    expect(t.asked('get_tree')).toBe(1)
    vi.advanceTimersByTime(sampleMs)
    await settle()
    expect(t.asked('get_tree')).toBe(2)
    t.look(false)
    vi.advanceTimersByTime(10 * sampleMs)
    expect(t.asked('get_tree')).toBe(2)
    t.find('ops.>').handlers.onEvents([event('ops.tree-changed', {})])
    await settle()
    expect(t.asked('get_tree')).toBe(3)
  })

  it('is never read twice at once, and once more after a change meanwhile', async () => {
    const gates: ((v: unknown) => void)[] = []
    const t = setUp({ get_tree: () => new Promise((r) => gates.push(r)) })
    t.ops.watch()
    for (let i = 0; i < 5; i++) t.find('ops.>').handlers.onEvents([event('ops.tree-changed', {})])
    expect(gates).toHaveLength(1)
    gates[0]?.({ root: { name: 'one', children: [] } })
    await settle()
    expect(gates).toHaveLength(2)
    gates[1]?.({ root: { name: 'two', children: [] } })
    await settle()
    expect(t.get().tree?.root.name).toBe('two')
    expect(gates).toHaveLength(2)
  })

  it('stands still while it is frozen, and catches up', async () => {
    let name = 'one'
    const t = setUp({ get_tree: () => ({ root: { name, children: [] } }) })
    t.ops.watch()
    await settle()
    t.ops.freeze(true)
    name = 'two'
    t.find('ops.>').handlers.onEvents([event('ops.restart', { actor: 'sidecar' })])
    await settle()
    expect(t.get().tree?.root.name).toBe('one')
    t.ops.freeze(false)
    await settle()
    expect(t.get().tree?.root.name).toBe('two')
  })

  it('knows the ends that the log still holds', async () => {
    const t = setUp()
    t.ops.watch()
    const ends = t.find('ops.restart')
    expect(ends.since).toBe('all')
    ends.handlers.onEvents([
      event('ops.restart', { actor: 'sidecar', reason: 'exit 1', count_in_window: 3 }),
      event('ops.limit-reached', { supervisor: 'engines_sup', actor: 'sidecar' }),
    ])
    expect(t.get().ends.map((e) => [e.actor, e.reason, e.limit])).toEqual([
      ['sidecar', 'exit 1', false],
      ['sidecar', 'no budget left', true],
    ])
    // After a gap they are read anew, not added.
    vi.setSystemTime(Date.now() + 60_000)
    ends.handlers.onLost('gap')
    expect(t.get().ends).toEqual([])
  })

  it('says why it could not be read, and keeps what it had', async () => {
    let fail = false
    const t = setUp({
      get_tree: () => {
        if (fail) throw new CallError('inspect did not answer.', -32603, undefined, true)
        return { root: { name: 'one', children: [] } }
      },
    })
    t.ops.watch()
    await settle()
    fail = true
    t.ops.refresh()
    await settle()
    expect(t.get()).toMatchObject({
      treeError: 'inspect did not answer.',
      tree: { root: { name: 'one' } },
    })
  })
})

describe('the tail', () => {
  it('draws a flood once a frame and keeps its end', () => {
    const t = setUp()
    t.ops.watchTail()
    const { handlers } = t.find('ops.>')
    for (let i = 0; i < 800; i++) handlers.onEvents([event('ops.alarm', {}, i)])
    expect(t.get().tail).toHaveLength(0)
    t.draw()
    expect(t.get().tail).toHaveLength(500)
    expect(t.get().tail.at(-1)?.seq).toBe(799)
  })

  it('follows other subjects when it is told to, and none without', () => {
    const t = setUp()
    const stop = t.ops.watchTail()
    t.ops.setPatterns(['api-agent.>'])
    expect(t.subs.map((s) => s.subjects)).toEqual([['api-agent.>']])
    t.ops.setPatterns([])
    expect(t.subs).toEqual([])
    t.ops.setPatterns(['ops.>'])
    stop()
    expect(t.subs).toEqual([])
  })

  it('does not ask again and again for what is refused', () => {
    const t = setUp()
    t.ops.watchTail()
    const [first] = t.subs.splice(0)
    first?.handlers.onLost('gap')
    expect(t.subs).toHaveLength(0)
    vi.advanceTimersByTime(1000)
    expect(t.subs).toHaveLength(1)
  })
})

describe('the log', () => {
  it('asks for what is new, and from the start with another filter', async () => {
    let n = 0
    const t = setUp({
      get_log: () => ({
        lines: [{ n: ++n, time: '', level: 'info', text: `l${n}`, fields: {} }],
        last: n,
        file: '/f',
      }),
    })
    const stop = t.ops.watchLog()
    await settle()
    vi.advanceTimersByTime(sampleMs)
    await settle()
    expect(t.get().log?.lines.map((l) => l.text)).toEqual(['l1', 'l2'])
    t.ops.setLogFilter({ level: 'warn', contains: '', actor: 'bus' })
    await settle()
    expect(t.calls.filter(([m]) => m === 'get_log').map(([, p]) => p)).toEqual([
      {},
      { after: 1 },
      { level: 'warn', actor: 'bus' },
    ])
    expect(t.get().log?.lines.map((l) => l.text)).toEqual(['l3'])
    stop()
    vi.advanceTimersByTime(10 * sampleMs)
    expect(t.asked('get_log')).toBe(3)
  })
})

it('acts on an actor and reads the tree again', async () => {
  const t = setUp({
    stop_actor: () => {
      throw new CallError(
        'This read-only Monitor cannot invoke that application command.',
        -32003,
        undefined,
        true,
      )
    },
  })
  expect(await t.ops.act('reset', 'sidecar')).toBe(true)
  expect(t.calls[0]).toEqual(['reset_actor', { name: 'sidecar' }])
  expect(t.asked('get_tree')).toBe(1)
  expect(await t.ops.act('stop', 'sidecar')).toBe(false)
  expect(t.said).toEqual(['This read-only Monitor cannot invoke that application command.'])
  expect(t.get().acting).toEqual({})
})
