import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeService, settle } from '../../test/fakeSocket'
import type { Envelope } from '../contract/model'
import { CallError, createLink, retryDelay } from './socket'

const envelope = (seq: number): Envelope => ({
  seq,
  time: '',
  subject: 'api-agent.chunk.c-1',
  turn: '',
  data: 'x',
})

function setup() {
  const service = fakeService()
  let reason: 'unauthorized' | 'other' = 'other'
  const link = createLink({
    open: service.open,
    probe: () => Promise.resolve(reason),
    random: () => 0.5,
  })
  return { service, link, refuse: (r: typeof reason) => (reason = r) }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('retryDelay', () => {
  it('doubles within 0.5 s and 10 s, spread by the random number', () => {
    expect([0, 1, 2, 3].map((n) => retryDelay(n, 0.5))).toEqual([500, 1000, 2000, 4000])
    expect(retryDelay(0, 0)).toBe(500)
    expect(retryDelay(30, 0.99)).toBe(10_000)
    expect(retryDelay(2, 0)).toBeLessThan(retryDelay(2, 1))
  })
})

describe('createLink', () => {
  it('is open once the service has said who it is', async () => {
    const { service, link } = setup()
    expect(link.state().phase).toBe('connecting')
    service.last().open()
    await settle()
    expect(link.state().phase).toBe('open')
    expect(link.session()?.role).toBe('owner')
  })

  it('gives the answer to the call that asked, and the refusal with its code', async () => {
    const { service, link } = setup()
    service.answers.get_conversation = () => ({ error: { code: -32004, message: 'No such.' } })
    service.last().open()
    await settle()
    await expect(link.call('anything', {})).resolves.toEqual({})
    const failure = await link.call('get_conversation', {}).catch((e: unknown) => e)
    expect(failure).toBeInstanceOf(CallError)
    expect(failure).toMatchObject({ code: -32004, message: 'No such.' })
  })

  // F40: a page whose server went away tries again, visibly and for ever.
  it('retries after a drop and says until when it waits', async () => {
    const { service, link } = setup()
    service.last().open()
    await settle()
    service.last().drop()
    expect(link.state()).toMatchObject({ phase: 'waiting' })
    for (let i = 0; i < 5; i++) {
      await vi.advanceTimersByTimeAsync(10_000)
      service.last().drop()
    }
    expect(service.sockets.length).toBe(6)
    await vi.advanceTimersByTimeAsync(10_000)
    service.last().open()
    await settle()
    expect(link.state().phase).toBe('open')
  })

  // F38, F39: what was missed is asked for from the next number on.
  it('continues each subscription behind the last event it saw', async () => {
    const { service, link } = setup()
    const seen: number[] = []
    link.subscribe(['api-agent.*.c-1'], 5, {
      onEvents: (events) => seen.push(...events.map((e) => e.seq)),
      onLost: () => undefined,
    })
    service.last().open()
    await settle()
    expect(service.last().sent.find((f) => f.method === 'subscribe')?.params.since).toBe(5)
    service.last().event('s1', envelope(5), envelope(6))
    service.last().drop()
    await vi.advanceTimersByTimeAsync(10_000)
    service.last().open()
    await settle()
    expect(service.last().sent.find((f) => f.method === 'subscribe')?.params.since).toBe(7)
    // A repeated event is not handed on twice.
    service.last().event('s2', envelope(6), envelope(7))
    expect(seen).toEqual([5, 6, 7])
  })

  it('keeps events that overtake the answer to their subscribe', async () => {
    const { service, link } = setup()
    service.last().open()
    await settle()
    service.answers.subscribe = () => undefined
    const seen: number[] = []
    link.subscribe(['x.>'], 1, {
      onEvents: (events) => seen.push(...events.map((e) => e.seq)),
      onLost: () => undefined,
    })
    const request = service.last().sent.at(-1)
    service.last().event('s9', envelope(1))
    expect(seen).toEqual([])
    service.last().receive({ id: request?.id, result: { subscription: 's9', head: 1 } })
    await settle()
    expect(seen).toEqual([1])
  })

  it('ends a subscription on a gap, and tells once', async () => {
    const { service, link } = setup()
    const lost: string[] = []
    link.subscribe(['x.>'], 1, { onEvents: () => undefined, onLost: (r) => lost.push(r) })
    service.last().open()
    await settle()
    const gap = { method: 'gap', params: { subscription: 's1', from: 1, to: 9 } }
    service.last().receive(gap)
    service.last().receive(gap)
    expect(lost).toEqual(['gap'])
    expect(service.last().sent.at(-1)?.method).toBe('unsubscribe')
  })

  it('asks for snapshots again when another start of the service answers', async () => {
    const { service, link } = setup()
    const lost: string[] = []
    link.subscribe(['x.>'], 1, { onEvents: () => undefined, onLost: (r) => lost.push(r) })
    service.last().open()
    await settle()
    service.last().drop()
    service.bootId = 'boot-2'
    await vi.advanceTimersByTimeAsync(10_000)
    service.last().open()
    await settle()
    expect(lost).toEqual(['boot'])
    expect(service.last().sent.some((f) => f.method === 'subscribe')).toBe(false)
  })

  // F41: a connection that only looks alive is found out.
  it('drops a connection that answers nothing', async () => {
    const { service, link } = setup()
    service.last().open()
    await settle()
    const first = service.last()
    service.silent = true
    await vi.advanceTimersByTimeAsync(5_000 + 4_000)
    expect(first.closed).toBe(true)
    expect(link.state().phase).not.toBe('open')
  })

  it('fails calls that were under way, and says that they were sent', async () => {
    const { service, link } = setup()
    service.last().open()
    await settle()
    service.answers.send = () => undefined
    const call = link.call('send', {}).catch((e: unknown) => e)
    service.last().drop()
    expect(await call).toMatchObject({ code: 0, sent: true })
    expect(await link.call('send', {}).catch((e: unknown) => e)).toMatchObject({
      code: 0,
      sent: false,
    })
  })

  it('tells a refused cookie from a service that is away', async () => {
    const { service, link, refuse } = setup()
    refuse('unauthorized')
    service.last().drop()
    await settle()
    expect(link.state().phase).toBe('unauthorized')
    await vi.advanceTimersByTimeAsync(10_000)
    service.last().open()
    await settle()
    expect(link.state().phase).toBe('open')
  })

  it('unsubscribes what is disposed and hears nothing more of it', async () => {
    const { service, link } = setup()
    service.last().open()
    await settle()
    const seen: number[] = []
    const stop = link.subscribe(['x.>'], 1, {
      onEvents: (events) => seen.push(events.length),
      onLost: () => undefined,
    })
    await settle()
    stop()
    expect(service.last().sent.at(-1)).toMatchObject({
      method: 'unsubscribe',
      params: { subscription: 's1' },
    })
    service.last().event('s1', envelope(1))
    expect(seen).toEqual([])
  })
})
