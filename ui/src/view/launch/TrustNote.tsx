import { baseName } from '../../store/format'
import { Icon } from '../Icon'

/** The one question that a new project raises. Source: mcp-state.md 7. */
export function TrustNote(props: { project: string; onAnswer: (trusted: boolean) => void }) {
  return (
    <div className="note trust" role="group" aria-label="Trust this project?">
      <Icon name="shield" className="i-s" />
      <div className="grow">
        <p className="mid" title={props.project}>
          Trust {baseName(props.project)}?
        </p>
        <p className="ink-2 micro">
          Its own hooks, MCP servers and agent files run only when you do. Launching works either
          way.
        </p>
      </div>
      <span className="row">
        <button type="button" className="btn sm" onClick={() => props.onAnswer(true)}>
          Trust
        </button>
        <button type="button" className="btn sm" onClick={() => props.onAnswer(false)}>
          Do not trust
        </button>
      </span>
    </div>
  )
}
