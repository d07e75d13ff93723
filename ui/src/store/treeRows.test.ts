import { describe, expect, it } from 'vitest'
import type { TreeNode } from '../contract/tree'
import { readTree } from '../contract/tree'
import {
  findNode,
  grouped,
  labelOf,
  rateWords,
  rowsOf,
  sparkOf,
  totalsOf,
  upWords,
  validPattern,
} from './treeRows'

const names = { titleOf: (id: string) => (id === 'c-1' ? 'Flaky lease renewal' : ''), asleep: 8 }

const node = (name: string, kind: string, more: object = {}) => ({
  name,
  kind,
  state: 'running',
  children: [],
  ...more,
})

const answer = {
  boot_id: 'b',
  time: '2026-01-01T00:00:00Z',
  root: node('packetbench@localhost', 'application', {
    children: [
      node('app core', 'application', {
        children: [
          node('core_sup', 'supervisor', {
            children: [
              node('store', 'actor', {
                mailbox: 2,
                rates: { sample_every: 2, in: [1, 2], out: [], mailbox: [] },
              }),
              node('bus', 'actor'),
            ],
          }),
        ],
      }),
      node('app agent', 'application', {
        children: [
          node('sessions_sup', 'supervisor', {
            children: [
              node('conversation:c-1', 'actor', {
                mailbox: 418,
                rates: { sample_every: 2, in: [5], out: [], mailbox: [] },
              }),
            ],
          }),
          node('engines_sup', 'supervisor', {
            children: [
              node('sidecar', 'actor', {
                state: 'down',
                limit_reached: true,
                restarts_in_window: 3,
                max_restarts: 3,
                window_s: 60,
                detail: { protocol: 11, child_pid: 48201 },
                children: [node('child', 'meta')],
              }),
            ],
          }),
        ],
      }),
    ],
  }),
}
const tree = readTree(answer)
const all = (search = '', folded: string[] = []) =>
  rowsOf(tree.root, new Set(folded), search, names)

function count(n: TreeNode): number {
  return n.children.reduce((sum, c) => sum + 1 + count(c), 0)
}

describe('rows', () => {
  it('shows every node that the service names, in its order', () => {
    expect(all()).toHaveLength(count(tree.root))
    expect(all().map((r) => [r.level, labelOf(r.node)])).toEqual([
      [1, 'core'],
      [2, 'core_sup'],
      [3, 'store'],
      [3, 'bus'],
      [1, 'agent'],
      [2, 'sessions_sup'],
      [3, 'conversation:c-1'],
      [2, 'engines_sup'],
      [3, 'sidecar'],
      [4, 'child'],
    ])
  })

  it('has keys that are unique and stay', () => {
    const keys = all().map((r) => r.key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(all('', ['core_sup']).map((r) => r.key)).toEqual(
      keys.filter((k) => k !== 'store' && k !== 'bus'),
    )
    expect(findNode(tree.root, 'sidecar/child')).toMatchObject({
      parent: 'sidecar',
      node: { name: 'child' },
    })
  })

  it('draws the lines of the levels above', () => {
    const elbows = Object.fromEntries(all().map((r) => [r.key, r.elbows.join(' ')]))
    expect(elbows).toMatchObject({
      'app core': '',
      core_sup: 'last',
      store: 'none branch',
      bus: 'none last',
      sessions_sup: 'branch',
      'conversation:c-1': 'through last',
      'sidecar/child': 'none none last',
    })
  })

  it('says what a node is about', () => {
    const who = Object.fromEntries(all().map((r) => [r.key, r.who]))
    expect(who).toMatchObject({
      'conversation:c-1': 'Flaky lease renewal',
      sessions_sup: '1 awake, 8 asleep',
      sidecar: 'protocol 11, pid 48201',
    })
  })

  it('finds an actor by name, title or pid, with the way to it', () => {
    expect(all('flaky', ['app agent']).map((r) => r.key)).toEqual([
      'app agent',
      'sessions_sup',
      'conversation:c-1',
    ])
    expect(all('48201').map((r) => r.key)).toEqual(['app agent', 'engines_sup', 'sidecar'])
    expect(all('nothing like it')).toEqual([])
  })

  it('marks what is down', () => {
    expect(
      all()
        .filter((r) => r.down)
        .map((r) => r.key),
    ).toEqual(['sidecar'])
  })
})

it('adds up what stands above the table', () => {
  expect(totalsOf(tree.root)).toMatchObject({
    actors: 7,
    waiting: 420,
    fullest: 418,
    rates: [1, 7],
  })
  expect(totalsOf(tree.root).down.map((n) => n.name)).toEqual(['sidecar'])
})

it('reads a tree out of anything', () => {
  for (const v of [null, 3, {}, { root: { children: [null, 'x', { children: 7 }] } }]) {
    expect(() => rowsOf(readTree(v).root, new Set(), 'x', names)).not.toThrow()
  }
})

it.each([
  [9, '9 s'],
  [2460, '41 m'],
  [22_320, '6 h 12 m'],
  [200_000, '2 d 7 h'],
  [-1, '0 s'],
])('%d s is %s', (s, want) => expect(upWords(s)).toBe(want))

it('writes figures', () => {
  expect([0, 0.2, 14.24, 99.96, 212.4].map(rateWords)).toEqual(['0', '0.2', '14.2', '100.0', '212'])
  expect(grouped(48213)).toBe('48\u202f213')
  expect(sparkOf([0, 1], 60, 14)).toBe('M0.0 13.0L60.0 1.5')
  expect(sparkOf([0, 0, 0], 60, 14)).toMatch(/^M0\.0 13\.0L30\.0 13\.0/)
  expect(sparkOf([1], 60, 14)).toBe('')
})

it.each([
  ['ops.>', true],
  ['api-agent.*.c-1', true],
  ['>', true],
  ['sidecar-status.changed', true],
  ['ops.>.x', false],
  ['', false],
  ['a b', false],
  ['a..b', false],
])('%j is a pattern: %s', (p, want) => expect(validPattern(p)).toBe(want))
