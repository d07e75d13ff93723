import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { BinarySocket, ServerFrame, StreamPhase } from './terminal'
import {
  ackEveryBytes,
  ackFrame,
  createTerminalStream,
  inputFrames,
  maxInputBytes,
  readFrame,
  resizeFrame,
} from './terminal'

const frame = (type: number, ...rest: number[]): ArrayBuffer =>
  new Uint8Array([type, ...rest]).buffer

function data(type: number, offset: number, text: string): ArrayBuffer {
  const body = new TextEncoder().encode(text)
  const out = new Uint8Array(9 + body.length)
  new DataView(out.buffer).setBigUint64(1, BigInt(offset))
  out[0] = type
  out.set(body, 9)
  return out.buffer
}
const output = (offset: number, text: string) => data(0x10, offset, text)
const snapshot = (offset: number, text: string) => data(0x11, offset, text)

describe('frames', () => {
  it.each<[string, ArrayBuffer, ServerFrame | undefined]>([
    ['size', frame(0x13, 0, 80, 0, 24), { kind: 'size', cols: 80, rows: 24 }],
    ['exit', frame(0x12, 0xff, 0xff, 0xff, 0xff), { kind: 'exit', code: -1 }],
    ['nothing', frame(0x13).slice(0, 0), undefined],
    ['a short size', frame(0x13, 0, 80), undefined],
    ['a long exit', frame(0x12, 0, 0, 0, 0, 0), undefined],
    ['output without its offset', frame(0x10, 0, 0), undefined],
    ['an unknown type', frame(0x7f, 1, 2, 3), undefined],
  ])('%s', (_, bytes, want) => {
    expect(readFrame(bytes)).toEqual(want)
  })

  it('reads offsets beyond 32 bits', () => {
    expect(readFrame(output(2 ** 40 + 5, 'x'))).toMatchObject({
      kind: 'output',
      offset: 2 ** 40 + 5,
    })
  })

  it('never throws on bytes it was not made for', () => {
    for (let n = 0; n < 2000; n++) {
      const bytes = crypto.getRandomValues(new Uint8Array(n % 24))
      expect(() => readFrame(bytes.buffer)).not.toThrow()
    }
  })

  it('writes sizes and acknowledgements big-endian', () => {
    expect([...resizeFrame(258, 24)]).toEqual([1, 1, 2, 0, 24])
    expect([...ackFrame(65_536)]).toEqual([2, 0, 0, 0, 0, 0, 1, 0, 0])
  })

  // F56: a paste is cut into frames, and none of it is lost.
  it('cuts a megabyte into frames that join to the same bytes', () => {
    const text = Array.from({ length: 60_000 }, (_, i) => `line ${i} åß€😀`).join('\r')
    const bytes = new TextEncoder().encode(text)
    const frames = inputFrames(bytes)
    expect(bytes.length).toBeGreaterThan(1 << 20)
    expect(frames.every((f) => f[0] === 0 && f.length <= maxInputBytes + 1)).toBe(true)
    const joined = new Uint8Array(bytes.length)
    let at = 0
    for (const f of frames) {
      joined.set(f.subarray(1), at)
      at += f.length - 1
    }
    expect(new TextDecoder().decode(joined)).toBe(text)
  })

  it('claims with one empty frame', () => {
    expect(inputFrames(new Uint8Array()).map((f) => [...f])).toEqual([[0]])
  })
})

class Socket implements BinarySocket {
  onopen: (() => void) | null = null
  onmessage: ((data: ArrayBuffer) => void) | null = null
  onclose: (() => void) | null = null
  sent: number[][] = []
  closed = false
  send(f: Uint8Array<ArrayBuffer>): void {
    this.sent.push([...f])
  }
  close(): void {
    this.closed = true
  }
}

function setUp() {
  const sockets: Socket[] = []
  const frames: ServerFrame[] = []
  const phases: StreamPhase[] = []
  const stream = createTerminalStream({
    open: () => {
      const s = new Socket()
      sockets.push(s)
      return s
    },
    onFrame: (f) => frames.push(f),
    onPhase: (p) => phases.push(p),
    random: () => 1,
  })
  const last = (): Socket => {
    const s = sockets.at(-1)
    if (!s) throw new Error('No socket was opened.')
    return s
  }
  const text = (): string =>
    frames
      .map((f) =>
        f.kind === 'output' || f.kind === 'snapshot' ? new TextDecoder().decode(f.bytes) : f.kind,
      )
      .join('|')
  return { stream, sockets, frames, phases, last, text }
}

describe('a stream', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  it('hears a snapshot and what follows it', () => {
    const t = setUp()
    t.last().onopen?.()
    t.last().onmessage?.(frame(0x13, 0, 80, 0, 24))
    t.last().onmessage?.(snapshot(100, 'screen'))
    t.last().onmessage?.(output(100, 'abc'))
    expect(t.text()).toBe('size|screen|abc')
    expect(t.phases).toEqual(['connecting', 'open'])
  })

  it('draws no byte twice and none before a snapshot', () => {
    const t = setUp()
    t.last().onopen?.()
    t.last().onmessage?.(output(0, 'early'))
    t.last().onmessage?.(snapshot(10, 'S'))
    t.last().onmessage?.(output(4, 'oldold'))
    t.last().onmessage?.(output(8, 'xxnew'))
    expect(t.text()).toBe('S|new')
  })

  // F65: the stream comes back, the program never noticed.
  it('opens again after a loss, with a snapshot and without old bytes', () => {
    const t = setUp()
    t.last().onopen?.()
    t.last().onmessage?.(snapshot(0, 'one'))
    t.last().onclose?.()
    expect(t.phases.at(-1)).toBe('waiting')
    expect(t.stream.input(new Uint8Array([65]))).toBe(false)
    vi.advanceTimersByTime(250)
    expect(t.sockets).toHaveLength(2)
    t.last().onopen?.()
    t.last().onmessage?.(output(3, 'not yet'))
    t.last().onmessage?.(snapshot(40, 'two'))
    t.last().onmessage?.(output(40, '!'))
    expect(t.text()).toBe('one|two|!')
    expect(t.stream.input(new Uint8Array([65]))).toBe(true)
    expect(t.last().sent).toEqual([[0, 65]])
  })

  it('waits longer each time, and not when it is nudged', () => {
    const t = setUp()
    t.last().onclose?.()
    vi.advanceTimersByTime(250)
    t.last().onclose?.()
    vi.advanceTimersByTime(250)
    expect(t.sockets).toHaveLength(2)
    t.stream.nudge()
    expect(t.sockets).toHaveLength(3)
  })

  it('acknowledges every 64 KiB, counted from the snapshot', () => {
    const t = setUp()
    t.last().onopen?.()
    t.last().onmessage?.(snapshot(1000, ''))
    const piece = 'x'.repeat(ackEveryBytes / 2)
    t.last().onmessage?.(output(1000, piece))
    t.stream.consumed(1000 + piece.length)
    expect(t.last().sent).toEqual([])
    t.last().onmessage?.(output(1000 + piece.length, piece))
    t.stream.consumed(1000 + ackEveryBytes)
    expect(t.last().sent).toEqual([[...ackFrame(1000 + ackEveryBytes)]])
    // What was drawn of an earlier connection counts for nothing.
    t.stream.consumed(10_000_000)
    expect(t.last().sent).toHaveLength(1)
  })

  it('ends for good', () => {
    const t = setUp()
    t.stream.close()
    expect(t.last().closed).toBe(true)
    vi.advanceTimersByTime(60_000)
    expect(t.sockets).toHaveLength(1)
    expect(t.phases).toEqual(['connecting'])
  })
})
