import type { ToolCall } from '../../contract/model'
import { tokens } from '../../store/format'
import type { TranscriptDensity } from '../../store/prefs'
import { errandOf, prettyInput } from '../../store/tools'
import { Icon } from '../Icon'
import { useBench } from '../bench'
import { Elapsed } from './Elapsed'
import { Fold } from './Fold'
import { Prose } from './Prose'

interface Props {
  call: ToolCall
  conversationId: string
  density: TranscriptDensity
}

/** A sub-agent: what it was sent to do, what it used, what it came back with. */
export function AgentCard({ call, conversationId, density }: Props) {
  const used = useBench((s) => {
    const opened = s.conversations[conversationId]
    return opened?.phase === 'ready' ? opened.state.agents[call.id] : undefined
  })
  const spent = used ? used.input + used.output : 0
  const head = (
    <>
      <Icon name="bot" />
      <span className="mid text-ink keep">Sub-agent</span>
      <span className="cut ink-2" title={errandOf(call)}>
        {errandOf(call) || call.name}
      </span>
      <span className="grow" />
      {spent > 0 && <span className="micro ink-3 num keep">{tokens(spent)} tok</span>}
      {call.status === 'running' && <span className="micro ink-3 keep">running</span>}
      {call.status === 'error' && <span className="exit bad keep">failed</span>}
      <Elapsed conversationId={conversationId} id={call.id} running={call.status === 'running'} />
    </>
  )
  return (
    <div className="tool">
      <Fold density={density} head={head}>
        {density === 'verbose' && /[^{}\s]/.test(call.input) && (
          <>
            <p className="what micro">Input</p>
            <pre>{prettyInput(call.input)}</pre>
          </>
        )}
        {call.content.trim() !== '' ? (
          <div className="came prose">
            <Prose text={call.content} live={false} caret={false} />
          </div>
        ) : (
          <p className="what micro">
            {call.status === 'running' ? 'Nothing has come back yet.' : 'Nothing came back.'}
          </p>
        )}
      </Fold>
    </div>
  )
}
