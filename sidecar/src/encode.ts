// Writes one event as one line, within what the host accepts.
import type { WireEvent } from './protocol.js'

/** The longest line that the host reads, in bytes without the line break. Source: sidecar-protocol.md 1. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024

const note = '\n[The rest was cut: it is larger than one message may be.]'

/**
 * The line of an event. One that would be over the limit loses what can be
 * spared (a tool's input, the end of an output); the host would drop it whole,
 * and a call without its result looks as if it still ran. undefined is an event
 * that cannot be made to fit.
 */
export function encode(event: WireEvent): string | undefined {
  const line = JSON.stringify(event)
  if (fits(line)) return line
  const smaller = cut(event)
  if (smaller === undefined) return undefined
  const cutLine = JSON.stringify(smaller)
  return fits(cutLine) ? cutLine : undefined
}

function fits(line: string): boolean {
  // Three bytes are the most that one UTF-16 unit takes, so short lines need no count.
  return line.length * 3 <= MAX_FRAME_BYTES || Buffer.byteLength(line) <= MAX_FRAME_BYTES
}

function cut(event: WireEvent): WireEvent | undefined {
  switch (event.type) {
    case 'tool_start': {
      const { input: _input, ...rest } = event
      return rest
    }
    case 'permission_request':
      return { ...event, input: { note: 'These arguments are over 8 MiB and cannot be shown.' } }
    case 'tool_result': {
      const { input: _input, ...rest } = event
      return { ...rest, output: shorten(rest.output) }
    }
    case 'tool_output_extended': {
      const { stdout, stderr, ...rest } = event
      return {
        ...rest,
        ...(stdout === undefined ? {} : { stdout: shorten(stdout, 600_000) }),
        ...(stderr === undefined ? {} : { stderr: shorten(stderr, 600_000) }),
      }
    }
    case 'chunk':
    case 'thinking':
      return { ...event, text: shorten(event.text) }
    case 'error':
      return { ...event, message: shorten(event.message) }
    default:
      // A baseline without its text would read as "a new file".
      return undefined
  }
}

/** At most that many UTF-16 units, each of which takes 6 bytes of JSON at worst. */
function shorten(text: string, most = 1_200_000): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}${note}`
}
