// How a terminal stands, as a mark and in words.

import type { Terminal } from '../../contract/gen'
import type { MarkKind } from '../../store/sections'

/** badge is what the bar of its tile says; empty while all is as usual. */
export function standing(t: Terminal): { mark: MarkKind; words: string; badge: string } {
  if (t.state === 'starting') return { mark: 'stop', words: 'starting', badge: 'starting' }
  if (t.state === 'running') return { mark: 'run', words: 'running', badge: '' }
  if (t.signal !== null) return { mark: 'fail', words: `ended by ${t.signal}`, badge: t.signal }
  if (t.exit_code === 0) return { mark: 'done', words: 'ended', badge: 'exit 0' }
  // A stop of the service ends a program without a code of its own.
  if (t.exit_code === null || t.exit_code < 0)
    return { mark: 'idle', words: 'ended with the service', badge: 'ended' }
  return {
    mark: 'fail',
    words: `ended with code ${t.exit_code}`,
    badge: `exit ${t.exit_code}`,
  }
}
