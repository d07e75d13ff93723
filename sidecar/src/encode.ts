// Writes one event as one line, within what the host accepts.
import type { WireEvent } from './protocol.js'

/** The longest line that the host reads, in bytes without the line break. Source: sidecar-protocol.md 1. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024

const note = '\n[The rest was cut: it is larger than one message may be.]'

/**
 * The line of an event. One that would be over the limit loses what can be
 * spared (a tool's input, the end of an output); the host would drop it whole,
 * and a call without its result looks as if it still ran.
 */
export function encode(event: WireEvent): string {
  const line = JSON.stringify(event)
  if (fits(line)) return line
  const smaller = JSON.stringify(cut(event))
  if (fits(smaller)) return smaller
  if (event.type === 'ready') return line
  const { sessionId, turnId } = event
  return JSON.stringify({
    type: 'error',
    message: `The agent sent a message over 8 MiB (${event.type}), which cannot be shown.`,
    sessionId,
    ...(turnId === undefined ? {} : { turnId }),
  })
}

function fits(line: string): boolean {
  // Three bytes are the most that one UTF-16 unit takes, so short lines need no count.
  return line.length * 3 <= MAX_FRAME_BYTES || Buffer.byteLength(line) <= MAX_FRAME_BYTES
}

function cut(event: WireEvent): WireEvent {
  switch (event.type) {
    case 'tool_start': {
      const { input: _input, ...rest } = event
      return rest
    }
    case 'tool_result': {
      const { input: _input, ...rest } = event
      return { ...rest, output: shorten(rest.output) }
    }
    case 'tool_output_extended': {
      const { stdout, stderr, ...rest } = event
      return {
        ...rest,
        ...(stdout === undefined ? {} : { stdout: shorten(stdout) }),
        ...(stderr === undefined ? {} : { stderr: shorten(stderr) }),
      }
    }
    case 'edit_baseline': {
      const { before: _before, ...rest } = event
      return rest
    }
    default:
      return event
  }
}

/** At most 1,000,000 UTF-16 units, which are 6 MB of JSON in the worst case. */
function shorten(text: string): string {
  const most = 1_000_000
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}${note}`
}
