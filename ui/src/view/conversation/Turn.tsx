import { memo } from 'react'
import type { Message } from '../../contract/model'
import { tokens } from '../../store/format'
import type { TranscriptDensity } from '../../store/prefs'
import { thoughtKey } from '../../store/reduce'
import type { Fate, Step } from '../../store/transcript'
import { isSessionLost, rateLine, withoutError } from '../../store/transcript'
import { Icon } from '../Icon'
import { useActions } from '../bench'
import { AgentCard } from './AgentCard'
import { CopyButton } from './CopyButton'
import { EditCard } from './EditCard'
import { EditChips } from './EditChips'
import { EditedCard } from './EditedCard'
import { ExploreLine } from './ExploreLine'
import { PermissionCard } from './PermissionCard'
import { Prose } from './Prose'
import { RestartMark } from './RestartMark'
import { TaskCard } from './TaskCard'
import { ThinkingLine } from './ThinkingLine'
import { ToolCard } from './ToolCard'

/** What the steps of every turn need to know of their conversation. */
export interface TurnContext {
  conversationId: string
  project: string
  patterns: string[]
  baselines: Record<string, string | null>
  readOnly: boolean
  density: TranscriptDensity
  /** Whether an earlier message may be sent again in another way. */
  canFork: boolean
  /** Whether a turn runs, so that nothing can be taken back now. */
  active: boolean
  /** The prompt that Y and N would answer; empty when there is none. */
  armed: string
}

interface Props {
  message: Message
  steps: Step[]
  number: number
  last: boolean
  fate: Fate
  context: TurnContext
}

/** One turn of the assistant: steps on a rail, in the order they happened. */
export const Turn = memo(function Turn(props: Props) {
  const { message, steps, number, last, fate, context } = props
  const live = message.is_streaming
  const lost = message.outcome === 'interrupted' || isSessionLost(message.error)
  const spent = message.input_tokens + message.output_tokens
  const waits = steps.some((s) => s.type === 'permission' || s.type === 'edit')
  const writing = live && !waits && steps.at(-1)?.type === 'text'
  const thinking = steps.at(-1)?.type === 'thinking'
  return (
    <>
      <section
        className={live ? 'turn live' : lost ? 'turn cut-off' : 'turn'}
        aria-label={`Turn ${number}, ${fate}`}
      >
        {steps.map((step) => (
          <TurnStep
            // Another density mounts its cards anew, folded or open.
            key={`${step.key} ${context.density}`}
            step={step}
            messageId={message.id}
            context={context}
            lost={lost}
            caret={writing && step === steps.at(-1)}
            failed={message.error !== '' && step === steps.at(-1)}
          />
        ))}
        {live && !writing && !waits && !thinking && (
          <div className="step n-run">
            <div className="line">
              <span>{steps.length === 0 ? 'Thinking...' : 'Responding...'}</span>
            </div>
          </div>
        )}
        {message.error !== '' && steps.length === 0 && !lost && (
          <div className="step n-fail">
            <div className="line">Failed before there was an answer.</div>
          </div>
        )}
        {!live && message.outcome === 'cancelled' && (
          <div className="step n-none foot-line">Stopped.</div>
        )}
        {!live && message.outcome === 'interrupted' && (
          <div className="step n-none foot-line">
            Interrupted: the service was restarted. What was written is kept; send again to
            continue.
          </div>
        )}
        {!live && <Foot message={message} spent={spent} last={last} context={context} />}
        {message.error !== '' && !isSessionLost(message.error) && !last && (
          <div className="step n-fail note red">
            <span className="grow">{message.error}</span>
          </div>
        )}
      </section>
      {isSessionLost(message.error) && (
        <RestartMark
          text={message.error}
          conversationId={context.conversationId}
          offer={last && !context.readOnly}
        />
      )}
    </>
  )
})

/** What a turn cost, and what can be done with it. */
function Foot(props: { message: Message; spent: number; last: boolean; context: TurnContext }) {
  const { message, spent, last, context } = props
  const { retry } = useActions()
  const text = withoutError(message).trim()
  // A turn that failed has its Retry beside the reason.
  const again = last && message.error === '' && !context.readOnly && !context.active
  if (spent === 0 && text === '' && !again) return null
  return (
    <div className="step n-none foot-line num foot-acts">
      {spent > 0 && <span>{tokens(spent)} tok</span>}
      {text !== '' && <CopyButton text={text} name="Copy answer" />}
      {again && (
        <button
          type="button"
          className="ico"
          aria-label="Retry this turn"
          title="Retry — drops this answer and runs the turn again"
          onClick={() => retry(context.conversationId)}
        >
          <Icon name="restart" className="i-s" />
        </button>
      )}
    </div>
  )
}

export function TurnStep(props: {
  step: Step
  /** The message that the step is of; empty for a prompt without one. */
  messageId: string
  context: TurnContext
  lost: boolean
  caret: boolean
  /** Whether the turn failed at this step. */
  failed: boolean
}) {
  const { step, context } = props
  switch (step.type) {
    case 'thinking':
      if (context.density === 'summary') return null
      return (
        <div className={step.live ? 'step n-run' : 'step n-think'}>
          <ThinkingLine
            text={step.text}
            live={step.live}
            conversationId={context.conversationId}
            timeKey={thoughtKey(props.messageId, step.part)}
            density={context.density}
          />
        </div>
      )
    case 'explore': {
      const failed = step.calls.some((c) => c.status === 'error')
      return (
        <div className={step.live ? 'step n-run' : failed ? 'step n-fail' : 'step n-tool'}>
          <ExploreLine
            calls={step.calls}
            live={step.live}
            project={context.project}
            density={context.density}
          />
        </div>
      )
    }
    case 'tool': {
      const nodes = { running: 'step n-run', done: 'step n-tool', error: 'step n-fail' }
      return (
        <div className={step.call.denied_by ? 'step n-tool' : nodes[step.call.status]}>
          <ToolCard
            call={step.call}
            project={context.project}
            conversationId={context.conversationId}
            density={context.density}
          />
        </div>
      )
    }
    case 'tasks':
      return (
        <div className="step n-tool">
          <TaskCard calls={step.calls} density={context.density} />
        </div>
      )
    case 'agent': {
      const nodes = { running: 'step n-run', done: 'step n-tool', error: 'step n-fail' }
      return (
        <div className={nodes[step.call.status]}>
          <AgentCard
            call={step.call}
            conversationId={context.conversationId}
            density={context.density}
          />
        </div>
      )
    }
    case 'edits':
      return (
        <div className="step n-edit">
          <EditChips
            calls={step.calls}
            project={context.project}
            baselines={context.baselines}
            conversationId={context.conversationId}
            readOnly={context.readOnly}
          />
        </div>
      )
    case 'edited':
      return (
        <div className="step n-edit">
          <EditedCard
            calls={step.calls}
            project={context.project}
            baselines={context.baselines}
            conversationId={context.conversationId}
            readOnly={context.readOnly}
            density={context.density}
          />
        </div>
      )
    case 'text':
      return (
        <div className={`step prose ${props.lost ? 'lost' : props.failed ? 'n-fail' : ''}`}>
          <Prose text={step.text} live={step.live} caret={props.caret} />
        </div>
      )
    case 'permission':
      return (
        <div className="step n-ask">
          <PermissionCard
            conversationId={context.conversationId}
            prompt={step.prompt}
            project={context.project}
            patterns={context.patterns}
            readOnly={context.readOnly}
            armed={context.armed === step.prompt.id}
          />
        </div>
      )
    case 'edit':
      return (
        <div className="step n-ask">
          <EditCard
            conversationId={context.conversationId}
            edit={step.edit}
            project={context.project}
            readOnly={context.readOnly}
            armed={context.armed === step.edit.id}
          />
        </div>
      )
    case 'rate':
      return (
        <div className="step n-run">
          <div className="line rate" role="status">
            <Icon name="history" />
            <span>{rateLine(step.limit)}</span>
          </div>
        </div>
      )
  }
}
