import type { ReactNode } from 'react'
import { Icon } from '../Icon'
import { FindScrollback } from './FindScrollback'
import type { PaneTerminal } from './useTerminal'

interface Props extends PaneTerminal {
  name: string
  readOnly: boolean
  setHost: (el: HTMLElement | null) => void
  finding: boolean
  onFound: () => void
  /** What stands over the end of the terminal, once the program has ended. */
  ended?: ReactNode
}

/** The screen of a terminal, and the few lines that may lie over it. */
export function TerminalBody(p: Props) {
  const { mounted, face } = p
  return (
    <div className="term-pane">
      {p.finding && mounted && (
        <FindScrollback mounted={mounted} found={face?.found} onClose={p.onFound} />
      )}
      <div
        ref={p.setHost}
        className={face?.foreign ? 'term term-host boxed' : 'term term-host'}
        data-terminal=""
        data-renderer={face?.renderer}
        data-begun={face?.begun === true}
        role="group"
        aria-label={`Terminal output: ${p.name}`}
      />
      {face && <Notes {...p} face={face} />}
    </div>
  )
}

function Notes({ face, mounted, readOnly, ended }: Props & { face: NonNullable<Props['face']> }) {
  return (
    <div className="term-notes">
      {face.link !== '' && (
        <p className="term-note micro code-s cut">
          {/Mac/.test(navigator.userAgent) ? '⌘' : 'Ctrl'}+click opens {face.link}
        </p>
      )}
      {face.phase !== 'open' && (
        <p className="term-note micro amber" role="status">
          {face.begun ? 'Reconnecting…' : 'Connecting…'}
          {face.unsent && ' What was typed meanwhile was not sent.'}
        </p>
      )}
      {face.foreign && face.phase === 'open' && face.exit === undefined && (
        <div className="term-note row" role="status">
          <Icon name="eye" className="i-s" />
          <span className="micro">
            {readOnly
              ? `${face.size?.cols}×${face.size?.rows}`
              : `Sized by another window, ${face.size?.cols}×${face.size?.rows}`}
          </span>
          {!readOnly && (
            <button type="button" className="btn sm" onClick={() => mounted?.takeOver()}>
              Take over
            </button>
          )}
        </div>
      )}
      {face.exit !== undefined && ended}
    </div>
  )
}
