import { Fragment } from 'react'
import type { TreeNode } from '../../contract/tree'
import type { End } from '../../store/ops'
import type { ActorAction } from '../../net/ops'
import { markOf } from '../../store/sections'
import { grouped, isDown, labelOf } from '../../store/treeRows'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { useBench, useOps } from '../bench'
import { StatusMark } from '../status/StatusMark'
import { Pips } from './Pips'
import { RestartWindow } from './RestartWindow'

interface Props {
  node: TreeNode
  parent: string
  ends: readonly End[]
  now: number
  /** A Monitor has no actions. */
  readOnly: boolean
  onAct: (action: ActorAction) => void
  onLog: () => void
  onReport: () => void
  onClose: () => void
}

const clockOf = (ms: number): string => new Date(ms).toLocaleTimeString([], { hour12: false })

/** Everything about one node of the tree, and what an operator can do. */
export function Drawer({
  node: n,
  parent,
  ends,
  now,
  readOnly,
  onAct,
  onLog,
  onReport,
  onClose,
}: Props) {
  const own = ends.filter((e) => e.actor === n.name)
  const down = isDown(n)
  const bad = down || n.alarms.length > 0
  const registered = n.kind === 'actor' || n.kind === 'supervisor'
  return (
    <aside className="drawer open" aria-label={`Details of ${labelOf(n)}`}>
      <header className="bar">
        <h2 className="code mid cut">{labelOf(n)}</h2>
        <span className={down ? 'tag red' : 'tag'}>{n.state}</span>
        <span className="grow" />
        <button
          type="button"
          className="ico"
          aria-label="Close details"
          title="Close (Esc)"
          onClick={onClose}
        >
          <Icon name="x" />
        </button>
      </header>
      <div className="scroll grow">
        {(bad || registered) && (
          <section>
            {bad && <Trouble node={n} />}
            {registered && (
              <div className="row wrap">
                {!readOnly && <Actions node={n} onAct={onAct} />}
                {!readOnly && (
                  <button type="button" className="btn quiet" onClick={onLog}>
                    Log
                  </button>
                )}
                <button type="button" className="btn quiet" onClick={onReport}>
                  Copy report
                </button>
              </div>
            )}
          </section>
        )}
        {n.maxRestarts > 0 && (
          <section>
            <h3>
              Restart window <span className="grow" />
              <Pips used={n.restartsInWindow} max={n.maxRestarts} seconds={n.windowSeconds} />
              <span className={n.limitReached ? 'num red' : 'num'}>
                {n.restartsInWindow}/{n.maxRestarts} in {n.windowSeconds} s
              </span>
            </h3>
            <RestartWindow ends={own} seconds={n.windowSeconds} now={now} />
          </section>
        )}
        {(own.length > 0 || n.lastReason !== '') && (
          <section>
            <h3>Last ends</h3>
            {own.length > 0 && (
              <dl className="kv code">
                {own
                  .slice(-6)
                  .reverse()
                  .map((e, i) => (
                    <Fragment key={`${e.at}-${i}`}>
                      <dt>{clockOf(e.at)}</dt>
                      <dd className="break">{e.reason}</dd>
                    </Fragment>
                  ))}
              </dl>
            )}
            {n.lastReason !== '' && <p className="code-s ink-3 break">{n.lastReason}</p>}
          </section>
        )}
        <Conversations node={n} />
        <section>
          <h3>Facts</h3>
          <FactList node={n} parent={parent} />
        </section>
      </div>
    </aside>
  )
}

/** What is wrong, and what to do about it. */
function Trouble({ node: n }: { node: TreeNode }) {
  const alarms = useOps((s) => s.tree?.house?.alarms)
  const own = (alarms ?? []).filter((a) => a.actor === n.name && a.over !== true)
  const label = labelOf(n)
  const words =
    n.limitReached || n.state === 'down'
      ? `${label} ended ${n.restartsInWindow + 1} times in ${n.windowSeconds} s. It stays down until you reset it.`
      : n.state === 'incompatible'
        ? `${label} does not speak the protocol of this service. Install the one that belongs to it, then reset it.`
        : ''
  return (
    <div className={isDown(n) ? 'note red' : 'note amber'} role="status">
      <Icon name="warn" className="i-s" />
      <div>
        {words !== '' && <p>{words}</p>}
        {own.map((a) => (
          <p key={a.kind}>{a.text}</p>
        ))}
      </div>
    </div>
  )
}

function Actions({ node: n, onAct }: { node: TreeNode; onAct: (action: ActorAction) => void }) {
  const busy = useOps((s) => s.acting[n.name])
  const down = n.limitReached || ['down', 'incompatible'].includes(n.state)
  const stopped = n.state === 'stopped'
  const button = (action: ActorAction, words: string, icon: 'restart' | 'stop' | 'play') => (
    <button
      type="button"
      className={action === 'reset' && down ? 'btn primary' : 'btn'}
      disabled={busy !== undefined}
      onClick={() => onAct(action)}
    >
      <Icon name={icon} className="i-s" />
      {words}
      {action === 'reset' && <kbd className="kbd">R</kbd>}
    </button>
  )
  // What has no budget of its own is nobody's to stop.
  if (n.maxRestarts === 0 || n.kind === 'supervisor') return null
  return (
    <>
      {down && button('reset', 'Reset', 'restart')}
      {stopped ? button('start', 'Start', 'play') : !down && button('stop', 'Stop', 'stop')}
    </>
  )
}

/** The conversations that stand on this node. */
function Conversations({ node: n }: { node: TreeNode }) {
  const summaries = useBench((s) => s.summaries)
  const providers = useBench((s) => s.providers)
  const session = n.detail.session_id
  const own = (summaries ?? []).filter((s) => {
    if (n.name === `conversation:${s.session_id}` || s.session_id === session) return true
    const row = providers?.find((p) => p.row === s.row)
    if (n.name === 'sidecar') return row?.transport === 'sidecar'
    if (n.name.startsWith('acp:'))
      return row?.transport === 'acp' && row.provider === n.name.replace(':', '-')
    return false
  })
  if (own.length === 0) return null
  return (
    <section>
      <h3>{own.length === 1 ? 'Conversation' : 'Conversations'}</h3>
      {own.slice(0, 12).map((s) => {
        const mark = markOf(s)
        return (
          <Link
            key={s.session_id}
            className="item"
            to={{ view: 'agents', screen: 'conversation', id: s.session_id }}
          >
            <StatusMark kind={mark.kind} words={mark.words} />
            <span className="cut">{s.title || 'Untitled'}</span>
          </Link>
        )
      })}
      {own.length > 12 && <p className="micro ink-3">and {own.length - 12} more</p>}
    </section>
  )
}

function FactList({ node: n, parent }: { node: TreeNode; parent: string }) {
  const facts: [string, string][] = [
    ['behavior', n.behavior],
    ['pid', n.pid],
    ['parent', parent],
    ['policy', n.maxRestarts > 0 ? `${n.maxRestarts} in ${n.windowSeconds} s` : ''],
    ['restarts', n.restarts > 0 ? String(n.restarts) : ''],
    ['in / out', `${grouped(n.messagesIn)} / ${grouped(n.messagesOut)}`],
    ['mailbox', `${n.mailbox}, most seen ${n.mailboxMax}`],
    ['links', `${n.links} · monitors ${n.monitors}`],
    ...Object.entries(n.detail).map(([k, v]): [string, string] => [
      k.replaceAll('_', ' '),
      typeof v === 'string' ? v : JSON.stringify(v),
    ]),
  ]
  return (
    <dl className="kv">
      {facts
        .filter(([, v]) => v !== '')
        .map(([k, v]) => (
          <Fragment key={k}>
            <dt>{k}</dt>
            <dd className="code break">{v}</dd>
          </Fragment>
        ))}
    </dl>
  )
}
