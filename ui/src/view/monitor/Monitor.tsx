import { useEffect, useState } from 'react'
import { markOf } from '../../store/sections'
import { ErrorBoundary } from '../ErrorBoundary'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { useActions, useBench, useWork, useWorkActions } from '../bench'
import { PlanPanel } from '../conversation/PlanPanel'
import { Transcript } from '../conversation/Transcript'
import { Ops } from '../ops/Ops'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { StatusMark } from '../status/StatusMark'
import { standing } from '../terminal/standing'
import { TerminalBody } from '../terminal/TerminalBody'
import { useTerminal } from '../terminal/useTerminal'

const badge = (
  <span className="tag blue keep">
    <Icon name="eye" />
    Read-only Monitor
  </span>
)

const words = 'This window can watch. Answers, messages and Stop are in the main window.'

interface Props {
  id: string
  what?: 'terminal' | 'tree' | undefined
}

/** A window that watches. It has no control that changes anything. */
export function Monitor({ id, what }: Props) {
  const { follow } = useWorkActions()
  useEffect(() => follow(), [follow])
  return (
    <div className="pane h-full monitor">
      <ConnectionBanner />
      <ErrorBoundary sentence="The Monitor encountered an error.">
        {what === 'tree' ? (
          <WatchedTree />
        ) : what === 'terminal' ? (
          <WatchedTerminal key={id} id={id} />
        ) : id === '' ? (
          <Overview />
        ) : (
          <Watched key={id} id={id} />
        )}
      </ErrorBoundary>
      <footer className="bar monitor-foot">
        <span className="micro ink-3 cut">{words}</span>
      </footer>
    </div>
  )
}

/** Back to the list of everything that can be watched. */
function Back() {
  return (
    <Link className="ico" to={{ view: 'monitor', id: '' }} aria-label="Back to the overview">
      <Icon name="left" />
    </Link>
  )
}

function Overview() {
  const summaries = useBench((s) => s.summaries)
  const terminals = useWork((s) => s.terminals)
  const sidecar = useBench((s) => s.sidecar)
  const active = (summaries ?? []).filter((s) => !s.archived)
  return (
    <main className="grow column">
      <header className="bar monitor-bar">
        {badge}
        <h1>Overview</h1>
      </header>
      <div className="list scroll pt-2 grow">
        <section aria-label="Conversations">
          <h3>Conversations</h3>
          {active.map((s) => {
            const mark = markOf(s)
            return (
              <Link key={s.session_id} className="item" to={{ view: 'monitor', id: s.session_id }}>
                <StatusMark kind={mark.kind} words={mark.words} />
                <span className="cut">{s.title || 'Untitled'}</span>
                <span className="t">{s.status}</span>
              </Link>
            )
          })}
          {summaries && active.length === 0 && (
            <p className="none">There are no conversations yet.</p>
          )}
          {summaries === undefined && <p className="none">Opening Monitor…</p>}
        </section>
        <section aria-label="Terminals">
          <h3>Terminals</h3>
          {(terminals ?? []).map((t) => {
            const stand = standing(t)
            return (
              <Link
                key={t.terminal_id}
                className="item"
                to={{ view: 'monitor', what: 'terminal', id: t.terminal_id }}
              >
                <StatusMark kind={stand.mark} words={stand.words} />
                <span className="cut">
                  {t.command} <span className="ink-3">{t.title}</span>
                </span>
                <span className="t">{t.state}</span>
              </Link>
            )
          })}
          {terminals?.length === 0 && <p className="none">No terminal is open.</p>}
        </section>
        <section aria-label="Service">
          <h3>Service</h3>
          <Link className="item" to={{ view: 'monitor', what: 'tree', id: '' }}>
            <Icon name="ops" />
            <span className="cut">The live tree</span>
            {sidecar?.state === 'down' && <span className="t red">the sidecar is down</span>}
          </Link>
        </section>
      </div>
    </main>
  )
}

function WatchedTree() {
  return (
    <>
      <header className="bar monitor-bar">
        <Back />
        {badge}
        <span className="strong">The live tree</span>
      </header>
      <Ops actor="" readOnly />
    </>
  )
}

function WatchedTerminal({ id }: { id: string }) {
  const terminal = useWork((s) => s.terminals?.find((t) => t.terminal_id === id))
  const known = useWork((s) => s.terminals !== undefined)
  if (!terminal) {
    return (
      <main className="center grow">
        <p className="ink-2">{known ? 'This terminal was closed.' : 'Opening Monitor…'}</p>
        <Link className="btn no-underline" to={{ view: 'monitor', id: '' }}>
          Overview
        </Link>
      </main>
    )
  }
  const stand = standing(terminal)
  return (
    <main className="grow column">
      <header className="bar monitor-bar">
        <Back />
        {badge}
        <h1 className="cut">{terminal.command}</h1>
        <span className="row keep gap-1">
          <StatusMark kind={stand.mark} words={stand.words} />
          <span className="ink-2 micro">{stand.words}</span>
        </span>
        <span className="micro ink-3 cut">{terminal.title || terminal.cwd}</span>
      </header>
      <Screen id={id} name={terminal.command} ended={stand.words} />
    </main>
  )
}

function Screen({ id, name, ended }: { id: string; name: string; ended: string }) {
  const [host, setHost] = useState<HTMLElement | null>(null)
  const { mounted, face } = useTerminal(id, host, true, true)
  return (
    <TerminalBody
      mounted={mounted}
      face={face}
      name={name}
      readOnly
      setHost={setHost}
      finding={false}
      onFound={() => undefined}
      ended={
        <p className="term-note" role="status">
          <span className="mid">[Session ended]</span> <span className="micro ink-3">{ended}</span>
        </p>
      }
    />
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
      <main className="center grow">
        <p className="strong">Conversation not found</p>
        <p className="ink-2">It may have been deleted.</p>
      </main>
    )
  }
  if (opened?.phase === 'failed') {
    return (
      <main className="center grow" role="alert">
        <p>{opened.reason}</p>
        <button type="button" className="btn" onClick={() => reload(id)}>
          Retry
        </button>
      </main>
    )
  }
  if (opened?.phase !== 'ready') {
    return (
      <main className="center grow" role="status">
        <p className="ink-3">Opening Monitor…</p>
      </main>
    )
  }
  const c = opened.state.conversation
  const calls = c.messages.flatMap((m) => m.tool_calls)
  const running = calls.filter((t) => t.status === 'running').length
  const mark = markOf(c)
  return (
    <main className="grow column">
      <header className="bar monitor-bar">
        <Back />
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
    </main>
  )
}
