import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Frame } from '../../test/fakeSocket'
import { fakeService, settle } from '../../test/fakeSocket'
import { createCommands } from '../net/command'
import { createLink } from '../net/socket'
import { readStored } from './storage'
import type { Bench } from './stores'
import { createBench } from './stores'

// A frame that comes as soon as the test lets go.
const soon = (f: () => void) => {
  let wanted = true
  queueMicrotask(() => wanted && f())
  return () => {
    wanted = false
  }
}

function setup(answers: Record<string, (f: Frame) => unknown> = {}) {
  let refused = false
  let messages: object[] = []
  let seq = 10
  const service = fakeService({
    get_conversation: () => ({
      result: { conversation: { session_id: 'c-1', status: 'idle', messages }, seq },
    }),
    list_conversations: () => ({ result: [{ session_id: 'c-1', title: 'One' }] }),
    list_providers: () => ({ result: [] }),
    ...answers,
  })
  const link = createLink({
    open: service.open,
    probe: () => Promise.resolve(refused ? 'unauthorized' : 'other'),
    random: () => 0.5,
  })
  const bench = createBench(link, createCommands(link), soon)
  const connect = async (): Promise<void> => {
    service.last().open()
    await settle()
  }
  const calls = (method: string): Frame[] =>
    service.sockets.flatMap((s) => s.sent).filter((f) => f.method === method)
  /** The subscription of the open conversation, as the service calls it. */
  const feed = (...events: { what: string; data: unknown; turn?: string }[]): void => {
    const all = calls('subscribe')
    const index = all.findLastIndex((f) => String(f.params.subjects).includes('api-agent.*.c-1'))
    service.last().event(
      `s${index + 1}`,
      ...events.map((e) => ({
        seq: ++seq,
        time: '2026-01-01T00:00:00Z',
        subject: `${e.what}.c-1`,
        turn: e.turn ?? '',
        data: e.data,
      })),
    )
  }
  return {
    service,
    bench,
    connect,
    calls,
    feed,
    setMessages: (m: object[]) => (messages = m),
    drop: () => service.last().drop(),
    /** As another start of the service does to an old cookie. */
    refuse: async () => {
      refused = true
      await vi.advanceTimersByTimeAsync(10_000)
      service.last().drop()
      await settle()
    },
    reconnect: async () => {
      await vi.advanceTimersByTimeAsync(10_000)
      await connect()
    },
  }
}

const ready = (bench: Bench) => {
  const opened = bench.store.getState().conversations['c-1']
  if (opened?.phase !== 'ready') throw new Error(`c-1 is ${opened?.phase ?? 'not open'}`)
  return opened.state
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('an open conversation', () => {
  it('is a snapshot and the events behind it', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    expect(t.calls('subscribe').at(-1)?.params).toEqual({
      subjects: ['api-agent.*.c-1', 'conversation.*.c-1'],
      since: 11,
    })
    t.feed(
      { what: 'conversation.turn-started', data: { turn_id: 't-1' }, turn: 't-1' },
      { what: 'api-agent.chunk', data: 'hello', turn: 't-1' },
    )
    await settle()
    expect(ready(t.bench).conversation.messages[0]?.content).toBe('hello')
  })

  // F47: what another window typed is shown here.
  it('shows the message that another window sent', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    t.feed({
      what: 'conversation.user-turn',
      data: { message_id: 'm-1', content: 'from A', attachments: [], queued: false },
    })
    await settle()
    expect(ready(t.bench).conversation.messages).toMatchObject([
      { role: 'user', content: 'from A' },
    ])
  })

  // F46: closing a view ends its subscription and cancels nothing.
  it('is left without a word to the agent', async () => {
    const t = setup()
    await t.connect()
    const close = t.bench.actions.open('c-1')
    await settle()
    close()
    expect(t.calls('unsubscribe')).toHaveLength(1)
    expect(t.calls('cancel_api_agent_session')).toEqual([])
    expect(t.bench.store.getState().conversations).toEqual({})
  })

  it('reads the snapshot again after a gap and after a retry', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    const index = t.calls('subscribe').length
    t.service.last().receive({
      method: 'gap',
      params: { subscription: `s${index}`, from: 11, to: 99 },
    })
    await settle()
    expect(t.calls('get_conversation')).toHaveLength(2)
    // It heals by itself, and says that it had to.
    expect(t.bench.store.getState().gaps['c-1']).toBeGreaterThan(0)
    t.feed({ what: 'conversation.updated', data: { reload: true } })
    await settle()
    expect(t.calls('get_conversation')).toHaveLength(3)
  })

  it('says when there is none of that id', async () => {
    const t = setup({
      get_conversation: () => ({ error: { code: -32004, message: 'No active session: c-1' } }),
    })
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    expect(t.bench.store.getState().conversations['c-1']?.phase).toBe('missing')
  })

  // F43: the prompt is in the snapshot, so a reload shows it again.
  it('holds the prompts of its snapshot', async () => {
    const t = setup({
      get_conversation: () => ({
        result: {
          conversation: {
            session_id: 'c-1',
            pending_permissions: [{ id: 'x', name: 'bash', arguments: '{}' }],
          },
          seq: 1,
        },
      }),
    })
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    expect(ready(t.bench).conversation.pending_permissions).toMatchObject([{ id: 'x' }])
  })
})

describe('sending', () => {
  const type = (bench: Bench, text: string): void => {
    bench.actions.setDraft('c-1', text)
    bench.actions.send('c-1')
  }

  it('takes the draft along and clears it', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    type(t.bench, ' hello ')
    await settle()
    expect(t.calls('send_api_agent_message').at(-1)?.params).toEqual({
      session_id: 'c-1',
      message: 'hello',
    })
    expect(t.bench.store.getState().drafts['c-1']).toBe('')
    expect(t.bench.store.getState().outbox).toEqual([])
  })

  it('gives a refused text back and says why', async () => {
    const t = setup({
      send_api_agent_message: () => ({ error: { code: -32009, message: 'Not now.' } }),
    })
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    type(t.bench, 'hello')
    await settle()
    expect(t.bench.store.getState().drafts['c-1']).toBe('hello')
    expect(t.bench.store.getState().composerErrors['c-1']).toBe('Not now.')
  })

  // F41: typed while cut off, shown as waiting, sent once.
  it('waits visibly while cut off and goes out once', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    t.drop()
    type(t.bench, 'later')
    await settle()
    expect(t.bench.store.getState().outbox).toMatchObject([{ text: 'later', state: 'waiting' }])
    expect(t.calls('send_api_agent_message')).toEqual([])
    await t.reconnect()
    await settle()
    expect(t.calls('send_api_agent_message')).toHaveLength(1)
    expect(t.bench.store.getState().outbox).toEqual([])
  })

  it('returns to the draft when another start of the service answers', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    t.drop()
    type(t.bench, 'later')
    t.service.bootId = 'boot-2'
    await t.reconnect()
    await settle()
    expect(t.calls('send_api_agent_message')).toEqual([])
    expect(t.bench.store.getState().drafts['c-1']).toBe('later')
    expect(t.bench.store.getState().composerErrors['c-1']).toContain('not sent')
  })

  // F41 ends with a new sign-in, and that loads the page anew.
  it('returns to the stored draft when the page is no longer signed in', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    t.drop()
    type(t.bench, 'first')
    type(t.bench, 'second')
    await t.refuse()
    expect(t.bench.store.getState().link.phase).toBe('unauthorized')
    expect(t.bench.store.getState().outbox).toEqual([])
    expect(readStored('draft', 'c-1')).toBe('first\nsecond')
  })

  it('does not send again what had arrived before the connection broke', async () => {
    const t = setup({ send_api_agent_message: () => undefined })
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    type(t.bench, 'once')
    await settle()
    t.drop()
    await settle()
    expect(t.bench.store.getState().outbox).toMatchObject([{ state: 'unsure' }])
    t.setMessages([{ id: 'm-7', role: 'user', content: 'once' }])
    await t.reconnect()
    await settle()
    expect(t.calls('send_api_agent_message')).toHaveLength(1)
    expect(t.bench.store.getState().outbox).toEqual([])
  })
})

describe('answers', () => {
  it('are given once, however often the key is pressed', async () => {
    const t = setup({ respond_permission: () => undefined })
    await t.connect()
    t.bench.actions.answer('c-1', 'x', 'allow_once')
    t.bench.actions.answer('c-1', 'x', 'allow_once')
    t.bench.actions.answer('c-1', 'x', 'deny')
    expect(t.calls('respond_permission')).toHaveLength(1)
  })
  it('that come second say nothing and are not taken for our own', async () => {
    const t = setup({
      respond_permission: () => ({
        error: { code: -32010, message: 'This prompt was already answered.', data: { by: 'user' } },
      }),
    })
    await t.connect()
    t.bench.actions.answer('c-1', 'x', 'allow_once')
    await settle()
    expect(t.bench.store.getState().toast).toBeUndefined()
    expect(t.bench.store.getState().answering).toEqual({})
  })
})

describe('the list', () => {
  it('follows created, updated and deleted', async () => {
    const t = setup()
    await t.connect()
    const event = (what: string, id: string, data: object, seq: number): void =>
      t.service.last().event('s1', {
        seq,
        time: '',
        subject: `conversation.${what}.${id}`,
        data,
      })
    event('created', 'c-2', { session_id: 'c-2', title: 'Two' }, 11)
    event('updated', 'c-1', { title: 'Uno', needs_you: 1 }, 12)
    expect(t.bench.store.getState().summaries).toMatchObject([
      { session_id: 'c-1', title: 'Uno', needs_you: 1 },
      { session_id: 'c-2', title: 'Two' },
    ])
    event('deleted', 'c-1', {}, 13)
    expect(t.bench.store.getState().summaries).toMatchObject([{ session_id: 'c-2' }])
  })
  it('asks for the badges again when a key or the sidecar changed', async () => {
    const t = setup()
    await t.connect()
    const before = t.calls('list_providers').length
    t.service.last().event('s1', {
      seq: 11,
      time: '',
      subject: 'sidecar-status.changed',
      data: { state: 'down', restarts: 4, last_error: 'x' },
    })
    expect(t.bench.store.getState().sidecar?.state).toBe('down')
    expect(t.calls('list_providers').length).toBe(before + 1)
  })
})

describe('Stop', () => {
  const queued = (id: string, content: string) => ({
    what: 'conversation.user-turn',
    data: { message_id: id, content, attachments: [], queued: true },
  })
  const empty = { what: 'conversation.queue-changed', data: { items: [] } }
  const started = (turn: string) => ({
    what: 'conversation.turn-started',
    data: { turn_id: turn },
    turn,
  })
  const ended = (outcome: string, turn = 't-1') => ({
    what: 'conversation.turn-ended',
    data: { turn_id: turn, outcome },
    turn,
  })
  const running = async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    t.feed(started('t-1'), queued('m-2', 'and this'), queued('m-3', 'then that'))
    await settle()
    return t
  }
  it('gives the queue back to the draft of the window that pressed it', async () => {
    const t = await running()
    t.bench.actions.setDraft('c-1', 'typed since')
    t.bench.actions.stop('c-1')
    t.feed(empty)
    await settle()
    expect(t.bench.store.getState().drafts['c-1']).toBe('typed since')
    t.feed(ended('cancelled'))
    await settle()
    expect(t.bench.store.getState().drafts['c-1']).toBe('typed since\nand this\nthen that')
  })
  it('pressed elsewhere leaves the draft alone', async () => {
    const t = await running()
    t.feed(empty, ended('cancelled'))
    await settle()
    expect(t.bench.store.getState().drafts['c-1']).toBeUndefined()
  })
  it('does not give back what went out before the Stop arrived', async () => {
    const t = await running()
    t.bench.actions.stop('c-1')
    const sent = queued('m-2', 'and this')
    t.feed(
      { what: 'conversation.queue-changed', data: { items: [{ message_id: 'm-3', content: '' }] } },
      { ...sent, data: { ...sent.data, queued: false } },
      started('t-2'),
      empty,
      ended('done', 't-1'),
      ended('cancelled', 't-2'),
    )
    await settle()
    expect(t.bench.store.getState().drafts['c-1']).toBe('then that')
  })
})

describe('a connection that comes back', () => {
  it.each([
    ['boot-1', 'Reconnected. Nothing was lost.'],
    ['boot-2', /^Reconnected. The service was started again meanwhile/],
  ])('of %s says %s', async (boot, words) => {
    const t = setup()
    await t.connect()
    expect(t.bench.store.getState().toast).toBeUndefined()
    t.drop()
    expect(t.bench.store.getState().toast).toBeUndefined()
    t.service.bootId = boot
    await t.reconnect()
    expect(t.bench.store.getState().toast?.text).toMatch(words)
  })
})

describe('settings of the providers', () => {
  it('are patched by key, and a named provider inside its object', async () => {
    const t = setup({
      set_settings: () => ({
        result: { app: {}, providers: { custom_compat_base_url: 'http://127.0.0.1:1/v1' } },
      }),
    })
    await t.connect()
    const { setProviderSetting } = t.bench.actions
    expect(await setProviderSetting('custom_compat_base_url', 'http://127.0.0.1:1/v1/')).toBe('')
    expect(await setProviderSetting('named_provider_base_urls.openai', null)).toBe('')
    expect(t.calls('set_settings').map((f) => f.params)).toEqual([
      { providers: { custom_compat_base_url: 'http://127.0.0.1:1/v1/' } },
      { providers: { named_provider_base_urls: { openai: null } } },
    ])
    // What is shown is what the service made of it.
    expect(t.bench.store.getState().providerSettings?.urls.custom_compat_base_url).toBe(
      'http://127.0.0.1:1/v1',
    )
  })
  it('say why they were refused, without the name on the wire', async () => {
    const message = 'ollama_base_url: an URL must begin with http:// or https://.'
    const t = setup({ set_settings: () => ({ error: { code: -32602, message } }) })
    await t.connect()
    expect(await t.bench.actions.setProviderSetting('ollama_base_url', 'ftp://x')).toBe(
      'An URL must begin with http:// or https://.',
    )
    expect(t.bench.store.getState().toast).toBeUndefined()
  })
})

describe('a launch', () => {
  const request = {
    session_id: 'c-9',
    provider: 'demo',
    row: 'api-demo',
    model: 'demo',
    project_path: '/nowhere',
    initial_message: 'x',
    plan_mode: false,
    permission_mode: 'auto' as const,
  }
  it('tells a bad folder from another refusal', async () => {
    const answers = [
      { code: -32602, message: 'project_path: the folder /nowhere does not exist.' },
      { code: -32009, message: 'Not now.' },
    ]
    const t = setup({ start_api_agent_session: () => ({ error: answers.shift() }) })
    await t.connect()
    expect(await t.bench.actions.start(request, '+launch')).toEqual({
      ok: false,
      project: 'The folder /nowhere does not exist.',
    })
    expect(t.bench.store.getState().toast).toBeUndefined()
    expect(await t.bench.actions.start(request, '+launch')).toEqual({ ok: false, project: '' })
    expect(t.bench.store.getState().toast?.text).toBe('Not now.')
  })
})

describe('archiving', () => {
  it('is said when it was done, and not before', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.archive('c-1', true)
    expect(t.bench.store.getState().toast).toBeUndefined()
    await settle()
    expect(t.bench.store.getState().toast?.text).toBe('Archived')
  })
})

describe('sizes of edits', () => {
  it('are read with the snapshot once the turn is over', async () => {
    const t = setup()
    await t.connect()
    t.bench.actions.open('c-1')
    await settle()
    const turn = 't-1'
    const end = { what: 'conversation.turn-ended', data: { turn_id: turn, outcome: 'done' }, turn }
    t.feed(
      { what: 'conversation.turn-started', data: { turn_id: turn }, turn },
      { what: 'api-agent.tool-start', data: { id: 'e', name: 'edit_file', input: '{}' }, turn },
      { what: 'api-agent.tool-result', data: { id: 'e', name: 'edit_file', content: 'ok' }, turn },
    )
    await settle()
    expect(t.calls('get_conversation')).toHaveLength(1)
    t.feed(end)
    await settle()
    expect(t.calls('get_conversation')).toHaveLength(2)
  })
})
