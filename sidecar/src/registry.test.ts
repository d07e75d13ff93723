import { expect, test } from 'vitest'

import type { ProviderEvent, WireEvent } from './protocol.js'
import { Registry } from './registry.js'
import { decodeRequest } from './request.js'
import type { Emit, McpGrant, ProviderFactory, ProviderSession, Turn } from './providers/types.js'

/** A promise and the function that settles it. */
function gate(): { open: () => void; passed: Promise<void> } {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, passed }
}

const granted: McpGrant = {
  servers: {},
  tools: {},
  decide: () => ({ allowed: true }),
  verified: () => true,
}

interface Rig {
  sent: WireEvent[]
  say: (request: Record<string, unknown>) => void
  registry: Registry
}

function rig(provider: ProviderFactory, more: { remote?: boolean } = {}): Rig {
  const sent: WireEvent[] = []
  const registry = new Registry({
    providers: new Map([['fake', provider]]),
    send: (event) => sent.push(event),
    room: () => Promise.resolve(),
    grantServers: () => Promise.resolve(granted),
    loadSources: () =>
      Promise.resolve({
        servers: { s: { command: 'c' } },
        sources: [{ name: 's', transport: 'stdio', scope: 'global' }],
        readErrors: [],
      }),
    remote: more.remote ?? false,
  })
  const say = (request: Record<string, unknown>): void =>
    registry.handle(decodeRequest(Buffer.from(JSON.stringify(request))))
  return { sent, say, registry }
}

const start = (sessionId: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  type: 'start_session',
  sessionId,
  provider: 'fake',
  model: 'm',
  initialMessage: 'hi',
  turnId: 't-1',
  ...more,
})

/** A provider whose session is made by the test. */
const made =
  (session: (emit: Emit, sessionId: string) => Partial<ProviderSession>): ProviderFactory =>
  (options, emit) => ({
    start: () => Promise.resolve(),
    sendMessage: () => {},
    cancel: () => {},
    close: () => {},
    ...session(emit, options.sessionId),
  })

const done: ProviderEvent = { type: 'done', inputTokens: 1, outputTokens: 2 }

test('a slow start of one session does not delay another, and each keeps its order', async () => {
  const order: string[] = []
  const slow = gate()
  const { say, registry } = rig(
    made((_emit, id) => ({
      start: async () => {
        order.push(`${id}:start:begin`)
        if (id === 'a') await slow.passed
        order.push(`${id}:start:end`)
      },
      sendMessage: () => {
        order.push(`${id}:send`)
      },
      close: () => {
        order.push(`${id}:close`)
      },
    })),
  )
  say(start('a'))
  say({ type: 'send_message', sessionId: 'a', content: 'x' })
  say({ type: 'close_session', sessionId: 'a' })
  say(start('b'))
  say({ type: 'close_session', sessionId: 'b' })
  await expect.poll(() => order).toContain('b:close')
  expect(order).toEqual(['a:start:begin', 'b:start:begin', 'b:start:end', 'b:close'])
  slow.open()
  await registry.closeAll()
  expect(order.slice(4)).toEqual(['a:start:end', 'a:send', 'a:close'])
})

test('a failing request does not break the queue, and names itself', async () => {
  const { say, sent, registry } = rig(
    made(() => ({
      setModel: () => {
        throw new Error('setModel failed: no')
      },
    })),
  )
  say(start('a', { initialMessage: '' }))
  say({ type: 'set_model', sessionId: 'a', model: 'x' })
  say({ type: 'set_permission_mode', sessionId: 'a', mode: 'plan' })
  await registry.closeAll()
  expect(sent).toEqual([
    { type: 'error', sessionId: 'a', message: 'setModel failed: no', request: 'set_model' },
    {
      type: 'error',
      sessionId: 'a',
      message: 'fake does not support set_permission_mode',
      request: 'set_permission_mode',
    },
  ])
})

test('start: unknown provider, duplicate, foreign workspace, failure', async () => {
  let starts = 0
  const { say, sent, registry } = rig(
    made((_emit, id) => ({
      start: () => {
        starts += 1
        return id === 'bad' ? Promise.reject(new Error('no key')) : Promise.resolve()
      },
    })),
  )
  say(start('a', { provider: 'nobody' }))
  say(start('b'))
  say(start('b'))
  say(start('c', { workspace: { kind: 'ssh', host: 'h' } }))
  say(start('bad'))
  say({ type: 'cancel', sessionId: 'bad' })
  say({ type: 'close_session', sessionId: 'bad' })
  await registry.closeAll()
  const errors = sent.map((e) => (e.type === 'error' ? [e.sessionId, e.message, e.request] : []))
  expect(errors).toHaveLength(5)
  expect(errors).toContainEqual(['a', 'Unknown provider: nobody', undefined])
  expect(errors).toContainEqual(['b', 'Session already exists: b', undefined])
  expect(errors).toContainEqual(['bad', 'no key', undefined])
  expect(errors).toContainEqual(['bad', 'No active session: bad', 'cancel'])
  expect(errors.find(([id]) => id === 'c')?.[1]).toMatch(
    /^Remote SSH workspace metadata reached the local sidecar/,
  )
  expect(starts).toBe(2)
})

test('an error during start ends the session; later ones end only their turn', async () => {
  let emit: Emit = () => {}
  let turn: Turn = { id: undefined }
  const { say, sent, registry } = rig(
    made((e, id) => ({
      start: (t) => {
        emit = e
        turn = t
        if (id === 'a') e({ type: 'error', message: 'at once' })
        return Promise.resolve()
      },
    })),
  )
  say(start('a'))
  say({ type: 'send_message', sessionId: 'a', content: 'x' })
  await registry.closeAll()
  expect(sent.at(-1)).toMatchObject({ message: 'No active session: a' })
  say(start('b'))
  await expect.poll(() => turn.id).toBe('t-1')
  await Promise.resolve()
  await expect
    .poll(() => {
      emit({ type: 'error', message: 'later' }, turn)
      return sent.filter((e) => e.type === 'error' && e.sessionId === 'b').length
    })
    .toBe(1)
  say({ type: 'send_message', sessionId: 'b', content: 'x' })
  await registry.closeAll()
  expect(sent.filter((e) => e.type === 'error' && e.request !== undefined)).toHaveLength(1)
})

test('the sources are sent before the provider starts, also when it fails', async () => {
  const { say, sent, registry } = rig(
    made(() => ({ start: () => Promise.reject(new Error('no')) })),
    { remote: true },
  )
  say(start('a', { sourceMcpFromFs: true, workspace: { kind: 'ssh' } }))
  await registry.closeAll()
  expect(sent.map((e) => e.type)).toEqual(['mcp_sources', 'error'])
})

test('cancel gives one done, and a late result cannot end the next turn', async () => {
  const turns: Turn[] = []
  let emit: Emit = () => {}
  const { say, sent, registry } = rig(
    made((e) => ({
      start: (t) => {
        emit = e
        turns.push(t)
        return Promise.resolve()
      },
      sendMessage: (t) => {
        turns.push(t)
      },
    })),
  )
  say(start('a'))
  say({ type: 'cancel', sessionId: 'a' })
  say({ type: 'send_message', sessionId: 'a', content: 'x', turnId: 't-2' })
  await expect.poll(() => turns.length).toBe(2)
  // The first turn's result is late; so is its text.
  emit({ type: 'chunk', text: 'late' }, turns[0])
  emit(done, turns[0])
  emit({ type: 'error', message: 'late' }, turns[0])
  emit({ type: 'chunk', text: 'new' }, turns[1])
  emit(done, turns[1])
  emit(done, turns[1])
  emit(done)
  await registry.closeAll()
  expect(sent).toEqual([
    {
      type: 'done',
      inputTokens: 0,
      outputTokens: 0,
      cancelled: true,
      sessionId: 'a',
      turnId: 't-1',
    },
    { type: 'chunk', text: 'new', sessionId: 'a', turnId: 't-2' },
    { ...done, sessionId: 'a', turnId: 't-2' },
  ])
})

test('a provider that ends the cancelled turn itself keeps its counts', async () => {
  const { say, sent, registry } = rig(
    made((emit) => ({
      cancel: () => emit({ ...done, resumeToken: 'r' }),
    })),
  )
  say(start('a'))
  say({ type: 'cancel', sessionId: 'a' })
  say({ type: 'cancel', sessionId: 'a' })
  await registry.closeAll()
  expect(sent).toEqual([
    { ...done, resumeToken: 'r', cancelled: true, sessionId: 'a', turnId: 't-1' },
  ])
})

test('without a turn cancel says nothing, and a failed send is no turn', async () => {
  const { say, sent, registry } = rig(
    made(() => ({
      sendMessage: () => {
        throw new Error('empty')
      },
    })),
  )
  say(start('a', { initialMessage: '' }))
  say({ type: 'cancel', sessionId: 'a' })
  say({ type: 'send_message', sessionId: 'a', content: '', turnId: 't-2' })
  say({ type: 'cancel', sessionId: 'a' })
  await registry.closeAll()
  expect(sent).toEqual([
    { type: 'error', message: 'empty', request: 'send_message', sessionId: 'a' },
  ])
})

test('a closed session is silent', async () => {
  let emit: Emit = () => {}
  const { say, sent, registry } = rig(
    made((e) => {
      emit = e
      return {}
    }),
  )
  say(start('a'))
  say({ type: 'close_session', sessionId: 'a' })
  say({ type: 'close_session', sessionId: 'a' })
  await registry.closeAll()
  emit({ type: 'chunk', text: 'late' })
  emit({ type: 'error', message: 'late', request: 'set_model' })
  expect(sent).toEqual([])
})

test('what is wrong with a request is said on its session', async () => {
  const { say, sent, registry } = rig(made(() => ({})))
  say({ type: 'dance', sessionId: 'z' })
  await registry.closeAll()
  expect(sent).toEqual([
    { type: 'error', message: 'Unknown request type: dance', request: 'dance', sessionId: 'z' },
  ])
})
