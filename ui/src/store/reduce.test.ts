import { describe, expect, it } from 'vitest'
import { sampleConversation, sampleMessage } from '../../test/sample'
import type { AgentEvent } from '../contract/model'
import { fromSnapshot, reduceAll, thoughtKey } from './reduce'

const at = { turn: 't-1', time: 5 }
const tokens = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0 }
const started: AgentEvent = { ...at, kind: 'turn-started', turn_id: 't-1' }
const done: AgentEvent = { ...at, kind: 'done', tokens, cancelled: false }
const chunk = (text: string): AgentEvent => ({ ...at, kind: 'chunk', text })
const start = (id: string): AgentEvent => ({
  ...at,
  kind: 'tool-start',
  id,
  name: 'bash',
  input: '',
})
const result = (id: string, more: Partial<Extract<AgentEvent, { kind: 'tool-result' }>> = {}) =>
  ({
    ...at,
    kind: 'tool-result',
    id,
    name: '',
    content: 'out',
    isError: false,
    input: '{"command":"ls"}',
    ...more,
  }) satisfies AgentEvent

const run = (events: AgentEvent[], from = sampleConversation()) =>
  reduceAll(fromSnapshot(from, 1), events)

describe('a turn', () => {
  it('gives one assistant message, named like the turn, with its parts in order', () => {
    const s = run([
      started,
      { ...at, kind: 'thinking', text: 'hm' },
      { ...at, kind: 'thinking-stop' },
      chunk('a'),
      chunk('b'),
      start('x'),
      result('x'),
      chunk('c'),
      done,
      { ...at, kind: 'turn-ended', turn_id: 't-1', outcome: 'done' },
    ])
    const [m, ...rest] = s.conversation.messages
    expect(rest).toEqual([])
    expect(m).toMatchObject({
      id: 't-1',
      content: 'abc',
      thinking: 'hm',
      is_streaming: false,
      outcome: 'done',
      input_tokens: 7,
      parts: [
        { type: 'thinking', length: 2 },
        { type: 'text', length: 2 },
        { type: 'tool', id: 'x' },
        { type: 'text', length: 1 },
      ],
    })
    expect(m?.tool_calls[0]).toMatchObject({ name: 'bash', status: 'done', content: 'out' })
    expect(s.conversation).toMatchObject({ status: 'idle', turn_id: '' })
  })

  // O14: nothing of a turn is shown after its end.
  it('ignores what comes late', () => {
    const s = run([started, chunk('a'), done, chunk('late'), start('late')])
    expect(s.conversation.messages[0]).toMatchObject({ content: 'a', tool_calls: [] })
    expect(s.conversation.messages).toHaveLength(1)
  })

  it('leaves an error without a turn to the notice that follows it', () => {
    const s = run([started, chunk('half'), { ...at, turn: '', kind: 'error', message: 'No.' }])
    expect(s.conversation.messages.at(-1)?.error).toBe('')
  })

  it('appends the error as the service does, in a part of its own', () => {
    const s = run([started, chunk('half'), { ...at, kind: 'error', message: 'No.' }])
    expect(s.conversation.messages[0]).toMatchObject({
      content: 'half\n\nError: No.',
      error: 'No.',
      outcome: 'error',
      is_streaming: false,
      parts: [
        { type: 'text', length: 4 },
        { type: 'text', length: 12 },
      ],
    })
    const empty = run([started, { ...at, kind: 'error', message: 'No.' }])
    expect(empty.conversation.messages[0]?.content).toBe('Error: No.')
  })

  it('keeps the first input and name of a call, whatever its result says', () => {
    const s = run([
      started,
      { ...at, kind: 'tool-start', id: 'x', name: 'bash', input: '{"command":"first"}' },
      result('x', { name: '', input: '{"command":"second"}', isError: true }),
    ])
    expect(s.conversation.messages[0]?.tool_calls[0]).toMatchObject({
      name: 'bash',
      input: '{"command":"first"}',
      status: 'error',
    })
  })

  // O11
  it('adds a result whose call was never announced', () => {
    const s = run([started, result('y', { name: 'grep' })])
    expect(s.conversation.messages[0]?.tool_calls[0]).toMatchObject({ id: 'y', name: 'grep' })
    expect(s.conversation.messages[0]?.parts).toEqual([{ type: 'tool', id: 'y' }])
  })

  it('takes extended output before or after the result', () => {
    const extended: AgentEvent = { ...at, kind: 'tool-output-extended', id: 'x', exit_code: 3 }
    for (const order of [
      [extended, result('x')],
      [result('x'), extended],
    ]) {
      const s = run([started, start('x'), ...order])
      expect(s.conversation.messages[0]?.tool_calls[0]).toMatchObject({
        exit_code: 3,
        status: 'done',
      })
    }
  })

  it('overwrites token counts and leaves a sub-agent’s alone', () => {
    const summary = (address: string, input: number): AgentEvent => ({
      ...at,
      kind: 'turn-summary',
      address,
      tokens: { ...tokens, input },
    })
    const s = run([started, summary('', 10), summary('', 20), summary('sub', 99)])
    expect(s.conversation.messages[0]?.input_tokens).toBe(20)
  })

  it('keeps what each sub-agent has used, the newest figure of each', () => {
    const used = (address: string, input: number): AgentEvent => ({
      ...at,
      kind: 'turn-summary',
      address,
      tokens: { ...tokens, input },
    })
    const s = run([started, used('a', 1), used('b', 2), used('a', 9)])
    expect(s.agents).toMatchObject({ a: { input: 9 }, b: { input: 2 } })
  })
  it('knows how long calls and thoughts took, by the clock of the service', () => {
    const s = run([
      started,
      { ...at, time: 1000, kind: 'thinking', text: 'h' },
      { ...at, time: 2000, kind: 'thinking', text: 'm' },
      { ...at, time: 4000, kind: 'thinking-stop' },
      { ...start('x'), time: 5000 },
      { ...result('x'), time: 9000 },
      { ...result('x'), time: 9500 },
      { ...at, time: 9900, kind: 'thinking-stop' },
    ])
    expect(s.times).toEqual({
      [thoughtKey('t-1', 0)]: { from: 1000, to: 4000 },
      x: { from: 5000, to: 9000 },
    })
    // A snapshot does not know; what this window saw stays.
    expect(fromSnapshot(s.conversation, 2, s).times).toEqual(s.times)
  })
  it('notes when files may have changed, so that a review reads them again', () => {
    const s = run([started, start('x')])
    expect(reduceAll(s, [result('x')]).edits).toBe(s.edits + 1)
    expect(reduceAll(s, [{ ...result('x'), name: 'Read' }]).edits).toBe(s.edits)
    const restored: AgentEvent = { ...at, kind: 'updated', patch: { edits: true } }
    const after = reduceAll(s, [restored])
    expect(after.edits).toBe(s.edits + 1)
    expect(after.conversation).not.toHaveProperty('edits')
  })
  it('forgets the rate limit with the next sign of life', () => {
    const limited: AgentEvent = { ...at, kind: 'rate-limited', seconds: 3, message: '' }
    expect(run([started, limited]).conversation.rate_limited).toEqual({ seconds: 3, message: '' })
    for (const e of [chunk('x'), done, start('x')]) {
      expect(run([started, limited, e]).conversation.rate_limited).toBeUndefined()
    }
  })
})

describe('the queue', () => {
  const queuedTurn = (id: string, queued: boolean): AgentEvent => ({
    turn: '',
    time: 6,
    kind: 'user-turn',
    message_id: id,
    content: id,
    attachments: [],
    queued,
  })
  const queue = (...ids: string[]): AgentEvent => ({
    turn: '',
    time: 6,
    kind: 'queue-changed',
    items: ids.map((id) => ({ message_id: id, content: id })),
  })

  // F53: a message sent while busy is there, marked, and goes once.
  it('keeps queued bubbles behind the running turn, and sends them in order', () => {
    const s = run([started, queuedTurn('m-2', true), queue('m-2'), chunk('a')])
    expect(s.conversation.messages.map((m) => [m.id, m.queued])).toEqual([
      ['t-1', false],
      ['m-2', true],
    ])
    const next = reduceAll(s, [
      done,
      { ...at, kind: 'turn-ended', turn_id: 't-1', outcome: 'done' },
      queue(),
      queuedTurn('m-2', false),
      { turn: 't-2', time: 7, kind: 'turn-started', turn_id: 't-2' },
    ])
    expect(next.conversation.messages.map((m) => [m.id, m.queued])).toEqual([
      ['t-1', false],
      ['m-2', false],
      ['t-2', false],
    ])
  })

  it('loses the bubbles that a cancel took out', () => {
    const s = run([started, queuedTurn('m-2', true), queue('m-2'), queue()])
    expect(s.conversation.messages.map((m) => m.id)).toEqual(['t-1'])
  })
})

describe('prompts', () => {
  const opened: AgentEvent = {
    ...at,
    kind: 'prompt-opened',
    id: 'x',
    tier: 'blocking',
    destructive: true,
    allow_pattern: 'Bash(git clean:*)',
    sources: [],
  }
  const asked: AgentEvent = {
    ...at,
    kind: 'permission-request',
    id: 'x',
    name: 'bash',
    arguments: '{}',
  }
  const resolved = (decision: 'allow_once' | 'deny'): AgentEvent => ({
    ...at,
    kind: 'prompt-resolved',
    id: 'x',
    decision,
    by: 'user',
  })

  it('joins what opened it with what it asks', () => {
    const s = run([started, start('x'), opened, asked])
    expect(s.conversation.pending_permissions).toEqual([
      {
        id: 'x',
        name: 'bash',
        arguments: '{}',
        tier: 'blocking',
        destructive: true,
        allow_pattern: 'Bash(git clean:*)',
        sources: [],
        opened_at: 5,
      },
    ])
  })

  // F45: the answer of any window takes the card away in every window.
  it('goes with its resolution and remembers who refused', () => {
    const s = run([started, start('x'), opened, asked, resolved('deny')])
    expect(s.conversation.pending_permissions).toEqual([])
    expect(s.conversation.messages[0]?.tool_calls[0]?.denied_by).toBe('user')
    expect(s.resolved).toMatchObject([{ id: 'x', by: 'user' }])
  })

  it('says nothing of a resolution that this window never saw open', () => {
    expect(run([started, resolved('allow_once')]).resolved).toEqual([])
  })

  it('holds pending edits until they are resolved, and the first baseline', () => {
    const edit = (content: string, before?: string): AgentEvent => ({
      ...at,
      kind: 'pending-edit',
      id: content,
      path: 'a.go',
      content,
      ...(before !== undefined && { before }),
    })
    const s = run([started, edit('one'), edit('two', 'one')])
    expect(s.conversation.pending_edits.map((e) => e.id)).toEqual(['one', 'two'])
    expect(s.baselines).toEqual({ 'a.go': null })
    const after = reduceAll(s, [
      { ...at, kind: 'edit-resolved', id: 'one', decision: 'apply', by: 'user' },
    ])
    expect(after.conversation.pending_edits.map((e) => e.id)).toEqual(['two'])
  })
})

describe('the rest', () => {
  it('asks for the snapshot when messages were replaced', () => {
    expect(run([{ ...at, kind: 'updated', patch: { reload: true } }]).stale).toBe(true)
    expect(run([{ ...at, kind: 'updated', patch: { title: 'T' } }]).stale).toBe(false)
  })
  it('puts a notice into the transcript once', () => {
    const notice: AgentEvent = {
      ...at,
      kind: 'notice',
      message_id: 'm-9',
      level: 'info',
      text: 'x',
    }
    expect(run([notice, notice]).conversation.messages).toHaveLength(1)
  })
  it('replaces the plan, and clears it with an empty one', () => {
    const plan = (n: number): AgentEvent => ({
      ...at,
      kind: 'plan-block',
      items: Array.from({ length: n }, () => ({ content: 'x', status: 'pending' as const })),
    })
    expect(run([plan(2)]).conversation.plan).toHaveLength(2)
    expect(run([plan(2), plan(0)]).conversation.plan).toEqual([])
  })
  it('changes nothing of the messages it does not touch', () => {
    const old = sampleMessage({ id: 'm-1' })
    const s = run([started, chunk('a')], sampleConversation({ messages: [old] }))
    expect(s.conversation.messages[0]).toBe(old)
  })
})
