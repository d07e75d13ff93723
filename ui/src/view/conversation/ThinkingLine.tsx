import { seconds } from '../../store/format'
import type { TranscriptDensity } from '../../store/prefs'
import { useSpan } from './Elapsed'
import { Fold } from './Fold'

interface Props {
  text: string
  live: boolean
  conversationId: string
  /** Names its time, as thoughtKey does. */
  timeKey: string
  density: TranscriptDensity
}

/** One line for a thought; expands in place, so nothing jumps. */
export function ThinkingLine({ text, live, conversationId, timeKey, density }: Props) {
  const span = useSpan(conversationId, timeKey)
  const ms = span?.to === undefined ? 0 : span.to - span.from
  const words = live
    ? 'Thinking...'
    : ms >= 500
      ? `Thought for ${seconds(Math.round(ms / 1000) * 1000)}`
      : 'Thought'
  return (
    <Fold density={density} bare head={<span>{words}</span>}>
      <div className="think-body">{text.trim()}</div>
    </Fold>
  )
}
