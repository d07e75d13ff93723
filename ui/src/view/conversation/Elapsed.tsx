import { clock, seconds } from '../../store/format'
import type { Span } from '../../store/reduce'
import { useBench, useNow } from '../bench'

/** When a call or a thought began and ended, as far as this window saw it. */
export function useSpan(conversationId: string, key: string): Span | undefined {
  return useBench((s) => {
    const opened = s.conversations[conversationId]
    return opened?.phase === 'ready' ? opened.state.times[key] : undefined
  })
}

/** How long a call has been running, or how long it took. */
export function Elapsed(props: { conversationId: string; id: string; running: boolean }) {
  const span = useSpan(props.conversationId, props.id)
  if (!span) return null
  if (props.running) return <Running from={span.from} />
  const ms = (span.to ?? span.from) - span.from
  // What took no time is not worth a figure.
  return ms < 1000 ? null : <span className="micro ink-3 num keep">{seconds(ms)}</span>
}

function Running({ from }: { from: number }) {
  const now = useNow()
  return <span className="micro ink-3 num keep">{clock(now - from)}</span>
}
