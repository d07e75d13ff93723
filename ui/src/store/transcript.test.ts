import { describe, expect, it } from 'vitest'
import { sampleConversation, sampleMessage } from '../../test/sample'
import type { Part, ToolCall } from '../contract/model'
import { fromSnapshot } from './reduce'
import {
  deriveRows,
  findRows,
  exploreLine,
  isPlanReady,
  isSessionLost,
  lastWords,
  rateLine,
  stepsOf,
} from './transcript'

const call = (id: string, name: string, change: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name,
  file: '',
  status: 'done',
  summary: '',
  content: '',
  input: '{}',
  ...change,
})

const assistant = (calls: ToolCall[], live = false, extra: Part[] = [], content = '') =>
  sampleMessage({
    id: 't-1',
    turn_id: 't-1',
    role: 'assistant',
    is_streaming: live,
    content,
    tool_calls: calls,
    parts: [...calls.map((c): Part => ({ type: 'tool', id: c.id })), ...extra],
  })

const types = (m: ReturnType<typeof assistant>): string[] => stepsOf(m).map((s) => s.type)

describe('stepsOf', () => {
  it('rolls all exploration of a message into one line', () => {
    const m = assistant([call('a', 'read_file'), call('b', 'bash'), call('c', 'Grep')])
    expect(types(m)).toEqual(['explore', 'tool'])
    expect(stepsOf(m)[0]).toMatchObject({ calls: [{ id: 'a' }, { id: 'c' }] })
  })
  it('shows every call exactly once, for any mix of tools', () => {
    const names = [
      'Read',
      'bash',
      'Write',
      'Edit',
      'LS',
      'mcp__x',
      'edit_file',
      'TodoWrite',
      'Task',
    ]
    for (let n = 0; n < 2 ** names.length; n++) {
      const calls = names.flatMap((name, i) => (n & (1 << i) ? [call(`${i}`, name)] : []))
      const shown = stepsOf(assistant(calls)).flatMap((s) =>
        'call' in s ? [s.call.id] : 'calls' in s ? s.calls.map((c) => c.id) : [],
      )
      expect(shown.sort()).toEqual(calls.map((c) => c.id).sort())
    }
  })
  it('makes one card of three settled edits, and chips of fewer', () => {
    const edits = ['a', 'b', 'c'].map((id) => call(id, 'edit_file'))
    expect(types(assistant(edits))).toEqual(['edited'])
    expect(types(assistant(edits.slice(1)))).toEqual(['edits'])
  })
  it('shows a failed edit as a card that says why', () => {
    expect(types(assistant([call('a', 'edit_file', { status: 'error' })]))).toEqual(['tool'])
  })
  it('ignores calls still running in a settled message', () => {
    const m = assistant([call('a', 'bash', { status: 'running' })])
    expect(types(m)).toEqual([])
    expect(types({ ...m, is_streaming: true })).toEqual(['tool'])
  })
  it('cuts text by UTF-16 units, as a browser counts', () => {
    const content = 'a😀b'
    const m = assistant(
      [],
      false,
      [
        { type: 'text', length: 3 },
        { type: 'tool', id: 'none' },
        { type: 'text', length: 1 },
      ],
      content,
    )
    expect(stepsOf(m)).toMatchObject([{ text: 'a😀' }, { text: 'b' }])
  })
  it('leaves the appended error to the note that explains it', () => {
    const m = {
      ...assistant(
        [],
        false,
        [
          { type: 'text', length: 2 },
          { type: 'text', length: 11 },
        ],
        'hi\n\nError: x',
      ),
      error: 'x',
    }
    expect(stepsOf(m)).toMatchObject([{ type: 'text', text: 'hi' }])
  })
  it('reads a transcript without parts', () => {
    const m = { ...assistant([call('a', 'bash')]), content: 'text', thinking: 'hm', parts: [] }
    expect(types(m)).toEqual(['thinking', 'tool', 'text'])
  })
  it('marks only the end of a running message as live', () => {
    const m = assistant(
      [],
      true,
      [
        { type: 'thinking', length: 2 },
        { type: 'text', length: 2 },
      ],
      'hi',
    )
    expect(stepsOf({ ...m, thinking: 'hm' })).toMatchObject([{ live: false }, { live: true }])
  })
})

describe('deriveRows', () => {
  const prompt = {
    id: 'x',
    name: 'bash',
    arguments: '{}',
    tier: 'blocking' as const,
    destructive: false,
    sources: [],
    opened_at: 0,
  }
  it('puts a card where its call is, in place of the call', () => {
    const m = assistant([call('x', 'bash', { status: 'running' })], true)
    const s = fromSnapshot(sampleConversation({ messages: [m], pending_permissions: [prompt] }), 1)
    expect(deriveRows(s, [])).toMatchObject([{ type: 'turn', steps: [{ type: 'permission' }] }])
  })
  // F51: three prompts, three cards.
  it('shows a card for every prompt, also for those without a call', () => {
    const m = assistant([call('x', 'bash', { status: 'running' })], true)
    const prompts = ['x', 'y', 'z'].map((id) => ({ ...prompt, id }))
    const s = fromSnapshot(sampleConversation({ messages: [m], pending_permissions: prompts }), 1)
    const rows = deriveRows(s, [])
    expect(rows.map((r) => r.type)).toEqual(['turn', 'prompts'])
    expect(rows[1]).toMatchObject({ steps: [{ prompt: { id: 'y' } }, { prompt: { id: 'z' } }] })
  })
  it('keeps the steps of a message that did not change', () => {
    const m = assistant([call('a', 'bash')])
    const s = fromSnapshot(sampleConversation({ messages: [m] }), 1)
    const [a] = deriveRows(s, [])
    const [b] = deriveRows({ ...s, seq: 2 }, [])
    expect(a?.type === 'turn' && b?.type === 'turn' && a.steps === b.steps).toBe(true)
  })
  it('shows the rate limit in the running message only', () => {
    const limited = { rate_limited: { seconds: 2, message: '' } }
    const live = fromSnapshot(
      sampleConversation({ messages: [assistant([], true)], ...limited }),
      1,
    )
    const settled = fromSnapshot(sampleConversation({ messages: [assistant([])], ...limited }), 1)
    expect(deriveRows(live, [])[0]).toMatchObject({ steps: [{ type: 'rate' }] })
    expect(deriveRows(settled, [])[0]).toMatchObject({ steps: [] })
  })
})

describe('findRows', () => {
  const long = sampleConversation({
    messages: [
      sampleMessage({ id: 'm-1', content: 'Where is the Lease?' }),
      assistant([call('a', 'bash', { content: 'lease.go' })], false, [], 'In a file.'),
      sampleMessage({ id: 'm-2', role: 'system', content: 'Switched to another model.' }),
    ],
  })
  it('finds what was said, thought and put out, without regard to case', () => {
    const rows = deriveRows(fromSnapshot(long, 1), [])
    expect(findRows(rows, ' LEASE ')).toEqual([0, 1])
    expect(findRows(rows, 'switched')).toEqual([2])
    expect(findRows(rows, 'nowhere')).toEqual([])
    expect(findRows(rows, '  ')).toEqual([])
  })
})

describe('words', () => {
  const calls = [
    call('a', 'read_file'),
    call('b', 'read_file'),
    call('c', 'read_file'),
    call('d', 'grep'),
    call('e', 'grep'),
    call('f', 'LS'),
  ]
  it.each([
    [calls, false, 'Explored 3 files, 2 searches, 1 listing'],
    [
      [...calls.slice(0, 5), call('g', 'LS', { status: 'running' })],
      true,
      'Exploring 3 files, 2 searches (1 in flight)',
    ],
    [[call('g', 'LS', { status: 'running' })], true, 'Exploring (1 in flight)…'],
  ] as const)('of exploration %#', (list, live, words) => {
    expect(exploreLine([...list], live).text).toBe(words)
  })
  it('of a rate limit', () => {
    expect(rateLine({ message: '' })).toBe('Rate limited — retrying')
    expect(rateLine({ message: '', seconds: 2.3 })).toBe('Rate limited — retrying in 3 s')
  })
  it('knows the texts after which a send resumes', () => {
    expect(isSessionLost('Sidecar restarted — please resend your message.')).toBe(true)
    expect(isSessionLost('SSH sidecar for a@b:/p exited with 1')).toBe(true)
    expect(isSessionLost('Overloaded')).toBe(false)
  })
})

describe('isPlanReady', () => {
  const plan = (content: string, change = {}) =>
    isPlanReady(
      sampleConversation({
        posture: { plan_mode: true, permission_mode: 'auto', approve_writes: false },
        messages: [sampleMessage({ role: 'assistant', content, ...change })],
      }),
    )
  it.each(['## Plan\n1. x', 'text\n## files to change', '## STEPS'])('accepts %j', (text) => {
    expect(plan(text)).toBe(true)
  })
  it('refuses prose, a running answer and a failed one', () => {
    expect(plan('The plan')).toBe(false)
    expect(plan('## Plan', { is_streaming: true })).toBe(false)
    expect(plan('## Plan', { error: 'x' })).toBe(false)
    expect(isPlanReady(sampleConversation())).toBe(false)
  })
})

describe('what became of a turn', () => {
  const turn = (id: string, change = {}) =>
    sampleMessage({ id, turn_id: id, role: 'assistant', ...change })
  const fates = (state: ReturnType<typeof fromSnapshot>): string[] =>
    deriveRows(state, []).flatMap((r) => (r.type === 'turn' ? [r.fate] : []))
  const of = (...messages: ReturnType<typeof sampleMessage>[]) =>
    fromSnapshot(sampleConversation({ messages }), 1)
  it.each([
    [{ is_streaming: true }, 'running'],
    [{ outcome: 'done' }, 'done'],
    [{ outcome: 'cancelled' }, 'stopped'],
    [{ outcome: 'error' }, 'failed'],
    [{ outcome: 'interrupted' }, 'interrupted'],
  ])('%j is %s', (change, words) => {
    expect(fates(of(turn('t-1', change)))).toEqual([words])
  })
  it('stays failed for the window that saw it, after a retry has cleared its error', () => {
    const failed = of(turn('t-1', { outcome: 'error', error: 'x' }))
    const kept = sampleConversation({
      messages: [turn('t-1', { outcome: 'done' }), turn('t-2', { outcome: 'done' })],
    })
    expect(fates(fromSnapshot(kept, 2, failed))).toEqual(['failed, retried', 'done'])
    expect(fates(fromSnapshot(kept, 2))).toEqual(['retried', 'done'])
  })
  it('is not a retry when a person wrote in between, or when it was imported', () => {
    const done = { outcome: 'done' }
    expect(fates(of(turn('t-1', done), sampleMessage({ id: 'm-2' }), turn('t-2', done)))).toEqual([
      'done',
      'done',
    ])
    const imported = { outcome: 'done', turn_id: '' }
    expect(fates(of(turn('m-1', imported), turn('m-2', imported)))).toEqual(['done', 'done'])
  })
})

describe('lastWords', () => {
  it('begins with a whole word', () => {
    const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ')
    const words = lastWords(`first line\n${text}\n`)
    expect(words.length).toBeLessThanOrEqual(200)
    expect(text.endsWith(` ${words}`)).toBe(true)
    expect(words).toMatch(/^word\d+ /)
  })
  it('is the last line when that is short, and never nothing', () => {
    expect(lastWords('one\n\n two ')).toBe('two')
    expect(lastWords('x'.repeat(500))).toBe('x'.repeat(200))
    expect(lastWords('')).toBe('')
  })
})
