import type { Conversation, SidecarStatus } from '../../contract/model'
import { isSessionLost } from '../../store/transcript'
import { Icon } from '../Icon'
import { useActions } from '../bench'

/** After a turn that failed: what happened, what is kept, the next step. */
export function FailedNote({ conversation: c }: { conversation: Conversation }) {
  const { retry, say } = useActions()
  const last = c.messages.findLast((m) => m.role === 'assistant')
  if (c.status !== 'failed' || !last || last.error === '' || isSessionLost(last.error)) return null
  return (
    <div className="mb-2">
      <div className="note red" role="alert">
        <Icon name="warn" className="i-s" />
        <span className="grow">
          <span className="mid">Last turn failed.</span> {last.error}
        </span>
      </div>
      <div className="row mt-1">
        <button type="button" className="btn sm" onClick={() => retry(c.session_id)}>
          <Icon name="restart" className="i-s" />
          Retry
        </button>
        <button
          type="button"
          className="btn sm quiet"
          onClick={() =>
            void navigator.clipboard
              ?.writeText(last.error)
              .then(() => say('The details were copied.'))
          }
        >
          Copy details
        </button>
      </div>
    </div>
  )
}

/** Why a sidecar conversation cannot be continued just now. */
export function SidecarNote({ sidecar }: { sidecar: SidecarStatus }) {
  const { resetSidecar } = useActions()
  if (sidecar.state !== 'down' && sidecar.state !== 'incompatible') return null
  const down = sidecar.state === 'down'
  return (
    <div className="mb-2">
      <div className="note red" role="alert">
        <Icon name={down ? 'warn' : 'shield'} className="i-s" />
        <span className="grow">
          <span className="mid">
            {down ? 'The sidecar is down and stays down.' : 'The sidecar is too old to trust.'}
          </span>{' '}
          The transcript and the posture are safe. New turns wait for a reset.
          {sidecar.last_error !== '' && <span className="ink-2"> {sidecar.last_error}</span>}
        </span>
      </div>
      <div className="row mt-1">
        <button type="button" className="btn sm" onClick={resetSidecar}>
          <Icon name="restart" className="i-s" />
          Reset the sidecar
        </button>
      </div>
    </div>
  )
}
