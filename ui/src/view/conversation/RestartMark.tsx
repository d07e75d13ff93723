import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'

interface Props {
  /** The contract's sentence, shown as it is. */
  text: string
  conversationId: string
  /** Whether it may offer to send the last message again. */
  offer: boolean
}

/** The rail breaks where a host died; the card says what was kept. */
export function RestartMark({ text, conversationId, offer }: Props) {
  const { resend } = useActions()
  const opened = useBench((s) => s.conversations[conversationId])
  const c = opened?.phase === 'ready' ? opened.state.conversation : undefined
  const lastUser = c?.messages.findLast((m) => m.role === 'user' && !m.queued)
  const queued = c?.queue.length ?? 0
  const kept = ['transcript', 'posture', c && c.plan.length > 0 ? 'plan' : '', queuedWords(queued)]
  return (
    <section className="broke" aria-label="The connection to the agent was lost">
      <Icon name="zap" className="zap" />
      <div className="broke-card">
        <p className="mid">{text}</p>
        <dl>
          <dt>Kept</dt>
          <dd>{kept.filter(Boolean).join(', ')}</dd>
          <dt>Lost</dt>
          <dd>the rest of this answer</dd>
        </dl>
        {offer && lastUser && (
          <div className="row">
            <button
              type="button"
              className="btn sm"
              onClick={() => resend(conversationId, lastUser.content)}
            >
              <Icon name="restart" className="i-s" />
              Resend
            </button>
          </div>
        )}
      </div>
    </section>
  )
}

function queuedWords(n: number): string {
  if (n === 0) return ''
  return n === 1 ? '1 queued message' : `${n} queued messages`
}
