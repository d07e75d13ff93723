import { describe, expect, it } from 'vitest'
import type { PermissionMode } from '../contract/gen'
import type { BadgeStatus, ProviderRow, Summary } from '../contract/model'
import { sampleConversation, sampleMessage } from '../../test/sample'
import { age, clock, tokens, usageLine } from './format'
import { fateOf } from './outbox'
import { nextPosture, offered, postureOf, postures, segments } from './posture'
import { demoOnly, pickRow } from './providers'
import { counts, markOf, sectionsOf } from './sections'
import { editSize, exitCodeOf, projectRelative, targetOf } from './tools'

describe('format', () => {
  it.each([
    [950, '950'],
    [1000, '1k'],
    [41_234, '41.2k'],
    [999_949, '999.9k'],
    [999_950, '1M'],
    [1_234_567, '1.2M'],
  ])('writes %i tokens as %s', (n, words) => {
    expect(tokens(n)).toBe(words)
  })
  it.each([
    [0, 'now'],
    [59_000, 'now'],
    [4 * 60_000, '4m'],
    [3 * 3_600_000, '3h'],
    [49 * 3_600_000, '2d'],
  ])('writes an age of %i ms as %s', (ms, words) => {
    const now = Date.parse('2026-01-10T00:00:00Z')
    expect(age(new Date(now - ms).toISOString(), now)).toBe(words)
  })
  it('counts on a clock', () => {
    expect([0, 42_000, 725_000, 3_600_000].map(clock)).toEqual(['0:00', '0:42', '12:05', '1:00:00'])
  })
  it('prints only the segments that count something', () => {
    expect(usageLine(0, [])).toBe('')
    const m = sampleMessage({ role: 'assistant', input_tokens: 1200, output_tokens: 300 })
    expect(usageLine(82_400, [m, { ...m, role: 'user' }])).toBe('ctx 82.4k tok · in 1.2k · out 300')
  })
})

describe('postures', () => {
  const modes: PermissionMode[] = ['auto', 'ask_for_risky', 'allow_all', 'deny_all']
  it('are a bijection, plan mode first', () => {
    const labels = modes.map(
      (permission_mode) =>
        postureOf({ plan_mode: false, permission_mode, approve_writes: false }).label,
    )
    expect(labels).toEqual(['Default', 'Manual', 'Yolo', 'Deny'])
    for (const permission_mode of modes) {
      expect(postureOf({ plan_mode: true, permission_mode, approve_writes: true }).id).toBe('plan')
    }
  })
  it('cycle in their order, and snap to the first when outside', () => {
    const all = offered(modes, true)
    const order: string[] = []
    let at = all[0]
    for (let i = 0; i < 6 && at; i++) {
      order.push(at.id)
      at = nextPosture(at, all)
    }
    expect(order).toEqual(['default', 'plan', 'manual', 'deny', 'yolo', 'default'])
    const few = offered(['auto'], false)
    const yolo = postures.find((p) => p.id === 'yolo')
    expect(yolo && nextPosture(yolo, few)?.id).toBe('default')
  })
  it('offer nothing where a provider has no postures', () => {
    expect(offered([], true)).toEqual([])
  })
  it('launch segments map as the table says', () => {
    expect(segments.map((s) => [s.id, s.planMode, s.permissionMode])).toEqual([
      ['agent', false, 'auto'],
      ['ask', true, 'auto'],
      ['manual', false, 'ask_for_risky'],
      ['plan', true, 'auto'],
    ])
  })
})

describe('the picker', () => {
  const rows = (ready: string[]): ProviderRow[] =>
    ['api-claude-oauth', 'api-openai', 'api-custom', 'api-packetcode', 'api-demo'].map((row) => ({
      row,
      label: row,
      group: 'Other',
      transport: '',
      provider: row,
      models: [],
      badge: {
        status: (ready.includes(row) ? 'ready' : 'missing_key') satisfies BadgeStatus,
        hint: '',
      },
      capabilities: sampleConversation().capabilities,
    }))
  it('takes the first ready row of the order', () => {
    expect(pickRow(rows(['api-openai', 'api-demo']))?.row).toBe('api-openai')
    expect(pickRow(rows(['api-openai', 'api-claude-oauth']))?.row).toBe('api-claude-oauth')
  })
  it('falls back to the demo, and only then says so', () => {
    expect(pickRow(rows(['api-demo']))?.row).toBe('api-demo')
    expect(demoOnly(rows(['api-demo']))).toBe(true)
    expect(demoOnly(rows(['api-demo', 'api-openai']))).toBe(false)
  })
})

describe('the list', () => {
  const item = (id: string, change: Partial<Summary>): Summary => ({
    ...sampleConversation(),
    session_id: id,
    title: id,
    ...change,
  })
  const all = [
    item('old', { updated_at: '2026-01-01T00:00:00Z' }),
    item('new', { updated_at: '2026-01-03T00:00:00Z' }),
    item('pinned', { pinned: true, updated_at: '2025-01-01T00:00:00Z' }),
    item('needy', { needs_you: 1 }),
    item('other', { project_path: '/q' }),
    item('gone', { archived: true, needs_you: 1 }),
    item('failed', { status: 'failed' }),
  ]
  const ids = (sections: ReturnType<typeof sectionsOf>): string[][] =>
    sections.map((s) => s.rows.map((r) => r.session_id))
  it('puts what needs somebody first and never twice', () => {
    const sections = sectionsOf(all, 'all', '')
    expect(sections[0]).toMatchObject({ title: 'Needs you', rows: [{ session_id: 'needy' }] })
    expect(
      ids(sections)
        .flat()
        .filter((id) => id === 'needy'),
    ).toHaveLength(1)
    expect(ids(sections)[1]?.slice(0, 2)).toEqual(['pinned', 'new'])
  })
  it('searches archived ones too and does not split by need', () => {
    expect(
      ids(sectionsOf(all, 'all', 'NE'))
        .flat()
        .sort(),
    ).toEqual(['gone', 'needy', 'new', 'pinned'])
  })
  it.each(['all', 'done', 'archived'] as const)(
    'keeps the mark of a failed one in %s',
    (filter) => {
      const failed = item('f', { status: 'failed', archived: filter === 'archived' })
      const [row] = sectionsOf([failed], filter, '')[0]?.rows ?? []
      expect(row && markOf(row)).toEqual({ kind: 'fail', words: 'failed' })
    },
  )
  it('counts each filter, archived apart from the others', () => {
    expect(counts(all)).toEqual({ all: 6, active: 5, done: 1, archived: 1 })
  })
  it('shows the most urgent sign', () => {
    expect(markOf({ needs_you: 1, status: 'active' }).kind).toBe('need')
    expect(markOf({ needs_you: 0, status: 'active' }).kind).toBe('run')
  })
})

describe('tools', () => {
  const bash = { id: 'a', name: 'bash', file: '', summary: '', input: '{"command":"ls"}' }
  it('takes the exit code that was reported, else the one in the text', () => {
    expect(exitCodeOf({ ...bash, status: 'error', content: '', exit_code: 9 })).toBe(9)
    expect(exitCodeOf({ ...bash, status: 'error', content: 'x\n[exit code: 2]' })).toBe(2)
    expect(exitCodeOf({ ...bash, status: 'error', content: 'Permission denied' })).toBeUndefined()
    expect(exitCodeOf({ ...bash, status: 'done', content: 'ok' })).toBe(0)
  })
  it('names a file once, whatever root it is told with', () => {
    expect(projectRelative('/p/a/b.go', '/p')).toBe('a/b.go')
    expect(projectRelative('/elsewhere/b.go', '/p')).toBe('/elsewhere/b.go')
    expect(projectRelative('a/b.go', '/p')).toBe('a/b.go')
  })
  it('finds what a call is about', () => {
    expect(targetOf('bash', '{"command":"ls"}')).toBe('ls')
    expect(targetOf('Read', '{"file_path":"a"}')).toBe('a')
    expect(targetOf('list_directory', '{}')).toBe('.')
    expect(targetOf('x', 'not json')).toBe('')
  })
  it('counts changed lines', () => {
    const write = { ...bash, name: 'write_file', status: 'done' as const, content: '' }
    const input = JSON.stringify({ path: 'a', content: 'a\nb\n' })
    expect(editSize({ ...write, input }, null)).toEqual({ added: 2, removed: 0 })
    expect(editSize({ ...write, input }, 'a\n')).toEqual({ added: 1, removed: 0 })
    // What the service counted is the truth, a 0 included.
    const counted = { ...write, input, lines_added: 0, lines_removed: 7 }
    expect(editSize(counted, null)).toEqual({ added: 0, removed: 7 })
  })
})

describe('the outbox', () => {
  const item = {
    id: 'o1',
    conversationId: 'c-1',
    text: 'hello',
    attachments: [],
    bootId: 'boot-1',
    known: ['m-1'],
    state: 'waiting' as const,
  }
  const session = (boot_id: string) =>
    ({ role: 'owner', boot_id, version: '', project_path: '' }) as const
  it('goes out to the same service, and back to the draft for another', () => {
    expect(fateOf(item, session('boot-1'), [])).toBe('send')
    expect(fateOf(item, session('boot-2'), [])).toBe('back')
  })
  it('is not sent twice when its answer was lost', () => {
    const unsure = { ...item, state: 'unsure' as const }
    const arrived = sampleMessage({ id: 'm-2', content: 'hello' })
    const before = sampleMessage({ id: 'm-1', content: 'hello' })
    expect(fateOf(unsure, session('boot-1'), [before, arrived])).toBe('arrived')
    expect(fateOf(unsure, session('boot-1'), [before])).toBe('send')
  })
})
