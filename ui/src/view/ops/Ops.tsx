import { useEffect, useMemo, useRef, useState } from 'react'
import type { TreeNode } from '../../contract/tree'
import type { ActorAction } from '../../net/ops'
import { findNode, isDown, labelOf, rowsOf } from '../../store/treeRows'
import { Icon } from '../Icon'
import { isTyping, overlayOpen } from '../answerKeys'
import { useActions, useBench, useNow, useOps, useOpsActions } from '../bench'
import { useNavigation } from '../navigate'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { CloseDialog } from '../workspace/CloseDialog'
import { Drawer } from './Drawer'
import { Facts } from './Facts'
import type { TailTab } from './Tail'
import { Tail } from './Tail'
import { TreeGrid } from './TreeGrid'

interface Props {
  /** The key of the node whose details are open, empty for none. */
  actor: string
  /** In a Monitor nothing can act. */
  readOnly?: boolean
}

// A restart is seen for so long. In ms.
const flashMs = 3000

/** The live tree, what it says of itself, and the few things to do about it. */
export function Ops({ actor, readOnly = false }: Props) {
  const ops = useOpsActions()
  const tree = useOps((s) => s.tree)
  const error = useOps((s) => s.treeError)
  const frozen = useOps((s) => s.frozen)
  const ends = useOps((s) => s.ends)
  const logFilter = useOps((s) => s.logFilter)
  const summaries = useBench((s) => s.summaries)
  const { say } = useActions()
  const { go } = useNavigation()
  const clock = useNow()
  const [search, setSearch] = useState('')
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const [picked, setPicked] = useState(actor)
  const [tab, setTab] = useState<TailTab>('events')
  const [asking, setAsking] = useState<{ action: ActorAction; node: TreeNode }>()
  // Elsewhere the drawer has no address.
  const [opened, setOpened] = useState(actor)
  const drawer = readOnly ? opened : actor
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => ops.watch(), [ops])

  const now = frozen && tree ? Date.parse(tree.time) : clock
  const names = useMemo(() => {
    const titles = new Map((summaries ?? []).map((s) => [s.session_id, s.title]))
    return {
      titleOf: (id: string) => titles.get(id) ?? '',
      asleep: Math.max(0, (tree?.house?.stored ?? 0) - (tree?.house?.awake ?? 0)),
    }
  }, [summaries, tree])
  const rows = useMemo(
    () => (tree ? rowsOf(tree.root, folded, search, names) : []),
    [tree, folded, search, names],
  )
  const flashing = new Set(ends.filter((e) => e.at > clock - flashMs).map((e) => e.actor))
  const detail = tree && drawer !== '' ? findNode(tree.root, drawer) : undefined

  const show = (key: string): void => {
    setPicked(key)
    if (readOnly) setOpened(key)
    else go({ view: 'ops', actor: key })
  }
  const close = (): void => {
    if (readOnly) setOpened('')
    else go({ view: 'ops', actor: '' })
  }
  const freeze = (): void => ops.freeze(!frozen)
  const fold = (key: string, on: boolean): void => {
    const next = new Set(folded)
    if (on) next.add(key)
    else next.delete(key)
    setFolded(next)
  }
  const ask = (key: string): void => {
    const found = tree && findNode(tree.root, key)
    if (found && !readOnly && isDown(found.node) && found.node.maxRestarts > 0)
      setAsking({ action: 'reset', node: found.node })
  }
  const copy = (text: string, done: string): void => {
    void navigator.clipboard
      ?.writeText(text)
      .then(() => say(done))
      .catch(() => say('The browser did not allow copying.', 'error'))
  }

  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return
      if (isTyping(e.target) || overlayOpen(document)) return
      if (e.key === '#') {
        e.preventDefault()
        field.current?.focus()
      } else if (e.key === 'Escape' && drawer !== '') {
        e.preventDefault()
        close()
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })

  const alarms = (tree?.house?.alarms ?? []).filter((a) => a.over !== true)
  return (
    <main className="pane h-full">
      {!readOnly && <ConnectionBanner />}
      <header className="bar">
        <h1>Ops</h1>
        <span className="micro ink-3 code-s hide-tight">{tree?.root.name}</span>
        <span className="grow" />
        <label className="field soft ops-find">
          <Icon name="search" className="i-s" />
          <input
            ref={field}
            aria-label="Find an actor"
            placeholder="Find an actor, session or pid"
            value={search}
            spellCheck={false}
            onChange={(e) => setSearch(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Escape') return
              e.preventDefault()
              setSearch('')
            }}
          />
          <kbd className="kbd">#</kbd>
        </label>
        <button
          type="button"
          className="btn sm quiet hide-tight"
          aria-pressed={frozen}
          onClick={freeze}
        >
          <Icon name={frozen ? 'play' : 'pause'} className="i-s" />
          {frozen ? 'Frozen' : 'Freeze'} <kbd className="kbd">Space</kbd>
        </button>
        <button
          type="button"
          className="ico"
          aria-label="Copy the tree as JSON"
          onClick={() => copy(JSON.stringify(tree?.raw, null, 2), 'Copied the tree')}
        >
          <Icon name="copy" />
        </button>
      </header>
      {tree === undefined ? (
        <div className="center" role={error === '' ? 'status' : 'alert'}>
          <p className="ink-2">{error === '' ? 'Asking for the tree…' : error}</p>
          {error !== '' && (
            <button type="button" className="btn" onClick={ops.refresh}>
              Retry
            </button>
          )}
        </div>
      ) : (
        <div className={detail ? 'ops' : 'ops alone'}>
          <Facts tree={tree} ends={ends} now={now} />
          <div className="ops-main">
            {error !== '' && (
              <p className="note amber" role="status">
                The tree is as it was before: {error}
              </p>
            )}
            {alarms.map((a) => (
              <p key={`${a.actor} ${a.kind}`} className="note amber alarm" role="alert">
                <Icon name="bell" className="i-s" />
                <span className="grow">{a.text}</span>
                <button type="button" className="btn sm" onClick={() => show(a.actor)}>
                  Show {a.actor}
                </button>
              </p>
            ))}
            <TreeGrid
              rows={rows}
              selected={picked}
              flashing={flashing}
              onSelect={(key) => {
                setPicked(key)
                // Open details follow the row that is stood on.
                if (drawer !== '') show(key)
              }}
              onFold={fold}
              onOpen={show}
              onReset={ask}
              onFreeze={freeze}
            />
            {rows.length === 0 && <p className="none">No actor of that name.</p>}
          </div>
          {detail && (
            <Drawer
              node={detail.node}
              parent={detail.parent}
              ends={ends}
              now={now}
              readOnly={readOnly}
              onAct={(action) => setAsking({ action, node: detail.node })}
              onLog={() => {
                ops.setLogFilter({ ...logFilter, actor: detail.node.name })
                setTab('log')
              }}
              onReport={() =>
                copy(
                  JSON.stringify(
                    { ...detail, ends: ends.filter((e) => e.actor === detail.node.name) },
                    null,
                    2,
                  ),
                  'Copied the report',
                )
              }
              onClose={close}
            />
          )}
          <Tail tab={tab} onTab={setTab} readOnly={readOnly} />
        </div>
      )}
      {asking && (
        <CloseDialog
          {...questionOf(asking.action, labelOf(asking.node))}
          onClose={() => setAsking(undefined)}
          onConfirm={() => void ops.act(asking.action, asking.node.name)}
        />
      )}
    </main>
  )
}

/** What is asked before an actor is touched, and what that costs. */
function questionOf(
  action: ActorAction,
  name: string,
): { title: string; words: string; button: string } {
  switch (action) {
    case 'reset':
      return {
        title: `Reset ${name}?`,
        words: 'Its budget of restarts begins anew, and it is started again at once.',
        button: `Reset ${name}`,
      }
    case 'stop':
      return {
        title: `Stop ${name}?`,
        words:
          'What it is doing now is ended, and a turn that stands on it fails. It stays stopped until you start it.',
        button: `Stop ${name}`,
      }
    case 'start':
      return {
        title: `Start ${name}?`,
        words: 'It was stopped by a person. It is started again at once.',
        button: `Start ${name}`,
      }
  }
}
