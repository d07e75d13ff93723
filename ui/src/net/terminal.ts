// One terminal's stream: its frames, and the socket that carries them.
//
// A stream that breaks is opened again; the service then sends a snapshot, so
// its handler never hears a byte twice. What was typed while it was down is
// refused, not kept: a program must not get keys that a person pressed a minute
// ago. Source: interface.md 5, ui.md 15.

/** What the service sends. Offsets count from the terminal's first byte. */
export type ServerFrame =
  | { kind: 'output'; offset: number; bytes: Uint8Array }
  | { kind: 'snapshot'; offset: number; bytes: Uint8Array }
  | { kind: 'exit'; code: number }
  | { kind: 'size'; cols: number; rows: number }

const types = { input: 0x00, resize: 0x01, ack: 0x02, output: 0x10, snapshot: 0x11 } as const
const typeExit = 0x12
const typeSize = 0x13

/** The most that one input frame carries, in bytes. Source: ui.md 15. */
export const maxInputBytes = 64 * 1024

/** After so many consumed bytes they are acknowledged. Source: ui.md 15. */
export const ackEveryBytes = 64 * 1024

/** Reads a frame of the service; undefined for one that this page does not know. */
export function readFrame(data: ArrayBuffer): ServerFrame | undefined {
  const view = new DataView(data)
  const type = view.byteLength > 0 ? view.getUint8(0) : undefined
  switch (type) {
    case types.output:
    case types.snapshot:
      if (view.byteLength < 9) return undefined
      return {
        kind: type === types.output ? 'output' : 'snapshot',
        // Exact up to 2^53 bytes, which no terminal lives to see.
        offset: Number(view.getBigUint64(1)),
        bytes: new Uint8Array(data, 9),
      }
    case typeExit:
      return view.byteLength === 5 ? { kind: 'exit', code: view.getInt32(1) } : undefined
    case typeSize:
      return view.byteLength === 5
        ? { kind: 'size', cols: view.getUint16(1), rows: view.getUint16(3) }
        : undefined
    case undefined:
    default:
      return undefined
  }
}

/** Input as frames of at most maxInputBytes. No input is one empty frame. */
export function inputFrames(bytes: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = []
  for (let at = 0; at < bytes.length || frames.length === 0; at += maxInputBytes) {
    const part = bytes.subarray(at, at + maxInputBytes)
    const frame = new Uint8Array(part.length + 1)
    frame[0] = types.input
    frame.set(part, 1)
    frames.push(frame)
  }
  return frames
}

export function resizeFrame(cols: number, rows: number): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(5)
  const view = new DataView(frame.buffer)
  view.setUint8(0, types.resize)
  view.setUint16(1, cols)
  view.setUint16(3, rows)
  return frame
}

/** consumed is the offset behind the last byte that was drawn. */
export function ackFrame(consumed: number): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(9)
  const view = new DataView(frame.buffer)
  view.setUint8(0, types.ack)
  view.setBigUint64(1, BigInt(consumed))
  return frame
}

/** The part of a browser's WebSocket that is used, so that tests can be one. */
export interface BinarySocket {
  onopen: (() => void) | null
  onmessage: ((data: ArrayBuffer) => void) | null
  onclose: (() => void) | null
  send(frame: Uint8Array<ArrayBuffer>): void
  close(): void
}

export type StreamPhase = 'connecting' | 'open' | 'waiting'

export interface TerminalStreamOptions {
  open: () => BinarySocket
  onFrame: (frame: ServerFrame) => void
  onPhase: (phase: StreamPhase) => void
  random?: () => number
}

export interface TerminalStream {
  /** Sends what was typed; false when the stream is down and nothing was sent. */
  input: (bytes: Uint8Array) => boolean
  /** Claims the size for this window without typing. */
  claim: () => void
  resize: (cols: number, rows: number) => void
  /** Says up to which offset everything was drawn. */
  consumed: (offset: number) => void
  /** Tries at once, where the stream waits for its next try. */
  nudge: () => void
  close: () => void
}

// Waits between tries, in ms.
const firstDelayMs = 250
const maxDelayMs = 5000

export function createTerminalStream(o: TerminalStreamOptions): TerminalStream {
  const random = o.random ?? Math.random
  let socket: BinarySocket | undefined
  let open = false
  let closed = false
  let attempt = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The offset of the next byte; undefined until a snapshot has come. */
  let next: number | undefined
  let acked = 0

  const send = (frame: Uint8Array<ArrayBuffer>): boolean => {
    if (!open || !socket) return false
    socket.send(frame)
    return true
  }

  const lost = (s: BinarySocket): void => {
    if (socket !== s) return
    socket = undefined
    open = false
    next = undefined
    s.onopen = s.onmessage = s.onclose = null
    s.close()
    if (closed) return
    o.onPhase('waiting')
    const ceiling = Math.min(maxDelayMs, firstDelayMs * 2 ** attempt++)
    timer = setTimeout(connect, ceiling * (0.5 + random() / 2))
  }

  const take = (frame: ServerFrame): void => {
    if (frame.kind === 'snapshot') {
      next = frame.offset
      acked = frame.offset
      o.onFrame(frame)
      return
    }
    if (frame.kind !== 'output') {
      o.onFrame(frame)
      return
    }
    if (next === undefined) return
    // What overlaps was drawn already.
    const old = Math.max(0, next - frame.offset)
    if (old >= frame.bytes.length) return
    next = frame.offset + frame.bytes.length
    o.onFrame(
      old === 0
        ? frame
        : { kind: 'output', offset: frame.offset + old, bytes: frame.bytes.subarray(old) },
    )
  }

  function connect(): void {
    clearTimeout(timer)
    if (closed || socket) return
    o.onPhase('connecting')
    const s = o.open()
    socket = s
    s.onopen = () => {
      open = true
      attempt = 0
      o.onPhase('open')
    }
    s.onmessage = (data) => {
      const frame = readFrame(data)
      if (frame) take(frame)
    }
    s.onclose = () => lost(s)
  }

  connect()

  return {
    input: (bytes) => inputFrames(bytes).every(send),
    claim: () => void inputFrames(new Uint8Array()).every(send),
    resize: (cols, rows) => void send(resizeFrame(cols, rows)),
    consumed: (offset) => {
      if (next === undefined || offset > next || offset - acked < ackEveryBytes) return
      if (send(ackFrame(offset))) acked = offset
    },
    nudge: () => {
      if (!socket) connect()
    },
    close: () => {
      closed = true
      clearTimeout(timer)
      if (socket) lost(socket)
    },
  }
}

/** The socket of this page to one terminal; a Monitor asks for the lesser role. */
export function openTerminalSocket(id: string, monitor: boolean): BinarySocket {
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:'
  const role = monitor ? '?role=monitor' : ''
  const ws = new WebSocket(`${scheme}//${location.host}/ws/terminal/${id}${role}`)
  ws.binaryType = 'arraybuffer'
  const s: BinarySocket = {
    onopen: null,
    onmessage: null,
    onclose: null,
    send: (frame) => ws.send(frame),
    close: () => ws.close(),
  }
  ws.onopen = () => s.onopen?.()
  ws.onmessage = (e: MessageEvent<unknown>) => {
    if (e.data instanceof ArrayBuffer) s.onmessage?.(e.data)
  }
  // An error is always followed by a close.
  ws.onclose = () => s.onclose?.()
  return s
}
