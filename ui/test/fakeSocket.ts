// A WebSocket in the test's hand, and a service that answers it.

import type { SocketLike } from '../src/net/socket'

export interface Frame {
  id: number
  method: string
  params: Record<string, unknown>
}

export class FakeSocket implements SocketLike {
  onopen: (() => void) | null = null
  onmessage: ((e: { data: unknown }) => void) | null = null
  onclose: (() => void) | null = null
  onerror: (() => void) | null = null
  sent: Frame[] = []
  closed = false

  constructor(private readonly answer: (f: Frame, s: FakeSocket) => unknown) {}

  send(data: string): void {
    const frame = JSON.parse(data) as Frame
    this.sent.push(frame)
    const result = this.answer(frame, this)
    if (result === undefined) return
    this.receive({ jsonrpc: '2.0', id: frame.id, ...(result as object) })
  }
  close(): void {
    this.closed = true
  }
  open(): void {
    this.onopen?.()
  }
  drop(): void {
    this.onclose?.()
  }
  receive(frame: unknown): void {
    this.onmessage?.({ data: JSON.stringify(frame) })
  }
  event(subscription: string, ...events: object[]): void {
    this.receive({ jsonrpc: '2.0', method: 'event', params: { subscription, events } })
  }
}

/** Sockets as they are opened, and the answers of the service behind them. */
export function fakeService(answers: Record<string, (f: Frame) => unknown> = {}) {
  const sockets: FakeSocket[] = []
  let subscriptions = 0
  const service = {
    sockets,
    bootId: 'boot-1',
    answers,
    /** Whether requests are answered at all. */
    silent: false,
    open: (): FakeSocket => {
      const socket = new FakeSocket((f) => {
        if (service.silent) return undefined
        const known = service.answers[f.method]
        if (known) return known(f)
        if (f.method === 'get_session') {
          return { result: { role: 'owner', boot_id: service.bootId, version: 'x' } }
        }
        if (f.method === 'subscribe') {
          return { result: { subscription: `s${++subscriptions}`, head: 10 } }
        }
        return { result: {} }
      })
      sockets.push(socket)
      return socket
    },
    last: (): FakeSocket => {
      const socket = sockets.at(-1)
      if (!socket) throw new Error('No socket was opened.')
      return socket
    },
  }
  return service
}

/** Lets everything that is ready run, without waiting for time. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
