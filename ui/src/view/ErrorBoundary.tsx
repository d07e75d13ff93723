import type { ReactNode } from 'react'
import { Component } from 'react'
import { Icon } from './Icon'

interface Props {
  /** What broke, for example "This conversation encountered an error." */
  sentence: string
  children: ReactNode
}

/** One pane breaks, the rest goes on; nothing of the fault is remembered. */
export class ErrorBoundary extends Component<Props, { details: string }> {
  override state = { details: '' }

  static getDerivedStateFromError(e: unknown): { details: string } {
    return { details: e instanceof Error ? `${e.message}\n${e.stack ?? ''}` : String(e) }
  }

  override render(): ReactNode {
    if (this.state.details === '') return this.props.children
    return (
      <div className="center" role="alert">
        <Icon name="warn" />
        <div>
          <p className="mid">{this.props.sentence}</p>
          <p className="ink-3 micro">The agent itself is not affected.</p>
        </div>
        <div className="row">
          <button type="button" className="btn sm" onClick={() => this.setState({ details: '' })}>
            Draw it again
          </button>
          <button
            type="button"
            className="btn sm quiet"
            onClick={() => void navigator.clipboard?.writeText(this.state.details)}
          >
            Copy details
          </button>
        </div>
      </div>
    )
  }
}
