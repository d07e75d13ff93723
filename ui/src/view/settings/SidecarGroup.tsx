import { useEffect } from 'react'
import type { SidecarStatus } from '../../contract/model'
import { useActions, useBench } from '../bench'
import { StatusMark } from '../status/StatusMark'
import { SetRow } from './SetRow'
import type { MarkKind } from '../../store/sections'

interface Look {
  mark: MarkKind
  word: string
  about: string
}

/** A state in words: what it means, and what to do. */
export function lookOf(state: SidecarStatus['state']): Look {
  switch (state) {
    case 'not_started':
      return {
        mark: 'idle',
        word: 'Not started',
        about: 'It starts with the first agent that needs it.',
      }
    case 'starting':
      return { mark: 'stop', word: 'Starting…', about: 'Agents that need it wait for it.' }
    case 'ready':
      return {
        mark: 'done',
        word: 'Ready',
        about: 'Claude Agent SDK and OpenAI Agents SDK run in it.',
      }
    case 'restarting':
      return {
        mark: 'stop',
        word: 'Restarting…',
        about: 'It ended and is started again in about half a second.',
      }
    case 'down':
      return {
        mark: 'fail',
        word: 'Down',
        about: 'It ended too often in 60 s and stays down until you reset it.',
      }
    case 'incompatible':
      return {
        mark: 'fail',
        word: 'Incompatible',
        about:
          'It speaks another protocol than this service. Rebuild or reinstall it, then reset it.',
      }
  }
}

/** How the sidecar is, and the one thing to do about it. */
export function SidecarGroup() {
  const status = useBench((s) => s.sidecar)
  const open = useBench((s) => s.link.phase === 'open')
  const { reloadSidecar, resetSidecar } = useActions()
  useEffect(() => {
    if (open) reloadSidecar()
  }, [open, reloadSidecar])
  if (!status) return <p className="panel none">The sidecar is being asked…</p>
  const look = lookOf(status.state)
  const stuck = status.state === 'down' || status.state === 'incompatible'
  return (
    <div className="panel">
      <SetRow label="State" hint={look.about}>
        <span className="row">
          <StatusMark kind={look.mark} />
          <span>{look.word}</span>
        </span>
        <button
          type="button"
          className="btn sm"
          aria-disabled={!stuck}
          title={stuck ? undefined : 'There is nothing to reset: it is not down.'}
          onClick={() => stuck && resetSidecar()}
        >
          Reset the sidecar
        </button>
      </SetRow>
      <SetRow label="Version" hint="As it said when it started.">
        <span className="num">
          {status.version === '' ? 'Not known yet' : status.version}
          {status.protocol > 0 && ` · protocol ${status.protocol}`}
        </span>
      </SetRow>
      <SetRow label="Restarts" hint="At most 3 in 60 s; the next end takes it down.">
        <span className="num">
          {status.restarts} in this run · {status.crashes} crashes over all
        </span>
      </SetRow>
      {status.last_error !== '' && (
        <SetRow
          label="Last error"
          hint={<span className="code-s error-text">{status.last_error}</span>}
        >
          <span />
        </SetRow>
      )}
    </div>
  )
}
