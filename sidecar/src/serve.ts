// The life of this child: the handshake, requests until stdin ends or a signal
// comes, then every session closed and exit 0. Source: sidecar-protocol.md 4.1, 10.
import { encode } from './encode.js'
import { LineSplitter } from './lines.js'
import { log, reason } from './log.js'
import { PROTOCOL_VERSION, type WireEvent } from './protocol.js'
import { Registry, type RegistryOptions } from './registry.js'
import { decodeRequest } from './request.js'
import { frames } from './stdio.js'

/** How long closing may take before the process leaves anyway; the host sends a signal after 2 s. */
const CLOSE_MS = 3500

/** What the parts that vary are. */
export interface ServeOptions extends Omit<RegistryOptions, 'send' | 'room'> {
  /** Of the package; sent in `ready`. */
  version: string
  /** Runs last, in the process's exit: it must be synchronous. */
  cleanup: () => void
}

/** Serves stdin and stdout; it does not return before the process ends. */
export function serve(options: ServeOptions): void {
  const send = (event: WireEvent): void => {
    const line = encode(event)
    if (line === undefined) log(`dropped an event over 8 MiB: ${event.type}`)
    else frames.send(line)
  }
  const registry = new Registry({ ...options, send, room: () => frames.room() })
  const lines = new LineSplitter((line) => {
    if (line === undefined) log('dropped a line: a request is over the limit')
    else registry.handle(decodeRequest(line))
  })

  let leaving = false
  const leave = (why: string): void => {
    if (leaving) return
    leaving = true
    log(`closing: ${why}`)
    const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS))
    void Promise.race([registry.closeAll().then(() => frames.room()), late]).then(() => {
      process.exit(0)
    })
  }

  process.on('exit', options.cleanup)
  process.on('SIGTERM', () => leave('SIGTERM'))
  process.on('SIGINT', () => leave('SIGINT'))
  // An SDK that loses a promise must not end everybody's conversations.
  process.on('unhandledRejection', (thrown) => log(`unhandled rejection: ${reason(thrown)}`))
  process.on('uncaughtException', (thrown) =>
    log(`uncaught exception: ${thrown.stack ?? reason(thrown)}`),
  )
  frames.whenBroken(() => leave('stdout is gone'))

  send({
    type: 'ready',
    pid: process.pid,
    version: options.version,
    protocolVersion: PROTOCOL_VERSION,
  })

  process.stdin.on('data', (bytes: Buffer) => lines.push(bytes))
  process.stdin.on('error', (thrown) => leave(`stdin failed: ${reason(thrown)}`))
  process.stdin.on('end', () => {
    lines.end()
    leave('stdin ended')
  })
}
