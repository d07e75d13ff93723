import { useEffect } from 'react'
import { markOf } from '../../store/sections'
import { ErrorBoundary } from '../ErrorBoundary'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { useActions, useBench } from '../bench'
import { PlanPanel } from '../conversation/PlanPanel'
import { Transcript } from '../conversation/Transcript'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { StatusMark } from '../status/StatusMark'

const badge = (
  <span className="tag blue">
    <Icon name="eye" />
    Read-only Monitor
  </span>
)

/** A window that watches. It has no control that changes anything. */
export function Monitor({ id }: { id: string }) {
  return (
    <main className="pane h-full">
      <ConnectionBanner />
      <ErrorBoundary sentence="This conversation encountered an error.">
        {id === '' ? <MonitorList /> : <Watched key={id} id={id} />}
      </ErrorBoundary>
    </main>
  )
}

function MonitorList() {
  const summaries = useBench((s) => s.summaries)
  return (
    <>
      <header className="bar">
        {badge}
        <h1>Conversations</h1>
      </header>
      <div className="list scroll pt-2">
        {(summaries ?? []).map((s) => {
          const mark = markOf(s)
          return (
            <Link key={s.session_id} className="item" to={{ view: 'monitor', id: s.session_id }}>
              <StatusMark kind={mark.kind} words={mark.words} />
              <span className="cut">{s.title || 'Untitled'}</span>
              <span className="t">{s.status}</span>
            </Link>
          )
        })}
        {summaries?.length === 0 && <p className="none">There are no conversations yet.</p>}
        {summaries === undefined && <p className="none">Opening Monitor…</p>}
      </div>
    </>
  )
}

function Watched({ id }: { id: string }) {
  const opened = useBench((s) => s.conversations[id])
  const { open, reload } = useActions()
  const label = useBench((s) => {
    const c = s.conversations[id]
    const row = c?.phase === 'ready' ? c.state.conversation.row : ''
    return s.providers?.find((p) => p.row === row)?.label ?? row
  })
  useEffect(() => open(id), [id, open])
  if (opened?.phase === 'missing') {
    return (
      <div className="center">
        <p className="strong">Conversation not found</p>
        <p className="ink-2">It may have been deleted.</p>
      </div>
    )
  }
  if (opened?.phase === 'failed') {
    return (
      <div className="center" role="alert">
        <p>{opened.reason}</p>
        <button type="button" className="btn" onClick={() => reload(id)}>
          Retry
        </button>
      </div>
    )
  }
  if (opened?.phase !== 'ready') {
    return (
      <div className="center" role="status">
        <p className="ink-3">Opening Monitor…</p>
      </div>
    )
  }
  const c = opened.state.conversation
  const calls = c.messages.flatMap((m) => m.tool_calls)
  const running = calls.filter((t) => t.status === 'running').length
  const mark = markOf(c)
  return (
    <>
      <header className="bar monitor-bar">
        {badge}
        <h1 className="cut">{c.title || 'Untitled'}</h1>
        <span className="row keep gap-1">
          <StatusMark kind={mark.kind} words={mark.words} />
          <span className="ink-2 micro">{c.status}</span>
        </span>
        <span className="micro ink-3 cut">
          {label} · {c.model} · {c.project_path}
        </span>
        <span className="grow" />
        <span className="micro ink-3 num keep">
          {calls.length} tool call(s) · {running} active
        </span>
        <span className="micro ink-3 num keep">
          Updated {new Date(c.updated_at).toLocaleTimeString()}
        </span>
      </header>
      <PlanPanel items={c.plan} />
      <Transcript key={id} state={opened.state} readOnly top />
    </>
  )
}
