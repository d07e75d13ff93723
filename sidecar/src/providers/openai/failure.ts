// What a failed run is told as: what happened, and what to do.
import { fieldsOf, textOf } from '../../fields.js'
import { reason } from '../../log.js'
import { ToolError } from './fence.js'

/** Source: contract.md 4. */
export const INCOMPLETE =
  'Provider stream ended before its completion and usage marker; this request is incomplete'

/** The sentence for whatever a run threw. `endpoint` is the address that was asked. */
export function failureText(thrown: unknown, endpoint: string): string {
  if (thrown instanceof ToolError) return thrown.message
  const f = fieldsOf(thrown) ?? {}
  const { status } = f
  const said = reason(thrown)
  if (typeof status === 'number') return statusText(status, said)
  const name = thrown instanceof Error ? thrown.constructor.name : ''
  if (name === 'APIConnectionTimeoutError') {
    return `${endpoint} did not answer in time. Check the network, then send again.`
  }
  if (name === 'APIConnectionError' || said === 'Connection error.') {
    return `${endpoint} cannot be reached (${causeOf(thrown)}). Check the network and the address, then send again.`
  }
  if (name === 'MaxTurnsExceededError') {
    return 'The agent used all of its 25 steps without an answer. Send again to let it go on.'
  }
  if (/did not produce a final response|terminated$|premature close/i.test(said)) return INCOMPLETE
  return `The OpenAI agent failed: ${said}`
}

function statusText(status: number, said: string): string {
  // The provider's own text quotes a part of the key.
  if (status === 401) {
    return 'OpenAI refused the API key (401). Set a valid one in Settings > API Keys, then send again.'
  }
  const text = said.replace(/^\d{3}\s*/, '')
  if (status === 429) {
    return `OpenAI refused the request because of a limit (429): ${text} Wait, or raise the limit of the account, then send again.`
  }
  if (status === 404) {
    return `OpenAI does not know what was asked for (404): ${text} Choose another model, then send again.`
  }
  if (status >= 500) return `OpenAI failed (${status}): ${text} Send again later.`
  return `OpenAI refused the request (${status}): ${text}`
}

/** The code of the innermost cause: ECONNREFUSED says more than "fetch failed". */
function causeOf(thrown: unknown): string {
  let cause: unknown = thrown
  let best = 'no connection'
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    best = textOf(fieldsOf(cause)?.['code']) ?? best
    ;({ cause } = cause)
  }
  return best
}
