import { DropdownMenu } from 'radix-ui'
import { useEffect, useMemo, useRef, useState } from 'react'
import { neighbour } from '../../store/layout'
import type { MarkKind } from '../../store/sections'
import { markOf } from '../../store/sections'
import { readStored, storageKey, writeStored } from '../../store/storage'
import type { Workspace } from '../../store/workspace'
import { Icon } from '../Icon'
import { overlayOpen } from '../answerKeys'
import { useBench, useWork, useWorkActions } from '../bench'
import { useNavigation } from '../navigate'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { StatusMark } from '../status/StatusMark'
import { chordOf } from '../terminal/keys'
import { standing } from '../terminal/standing'
import { AddMenu } from './AddMenu'
import { CloseDialog } from './CloseDialog'
import { Mosaic } from './Mosaic'
import { NameDialog } from './NameDialog'
import { NewWorkspace } from './NewWorkspace'
import type { TileHandle, Tiles } from './tileContext'
import { TilesProvider } from './tileContext'

/** Workspaces: tabs, and the tiles of the one that is open. */
export function Work({ id }: { id: string }) {
  const work = useWorkActions()
  const workspaces = useWork((s) => s.workspaces)
  const error = useWork((s) => s.workspacesError)
  const { go } = useNavigation()
  const [making, setMaking] = useState(false)
  const current = workspaces?.find((w) => w.id === id) ?? fallback(workspaces)
  useEffect(() => work.follow(), [work])
  useEffect(() => {
    work.reload()
    work.reloadPresets()
  }, [work])
  useOtherWindows()
  useEffect(() => {
    if (current) writeStored(current.id, 'workspace')
  }, [current])

  // What was opened once stays: a change of the tab must not draw it anew.
  const [seen, setSeen] = useState<string[]>([])
  if (current && !seen.includes(current.id)) setSeen([...seen, current.id])

  return (
    <main className="pane h-full">
      <ConnectionBanner />
      <header className="bar work-bar">
        <Tabs workspaces={workspaces ?? []} current={current?.id} />
        <button
          type="button"
          className="ico"
          aria-label="New workspace"
          title="New workspace"
          onClick={() => setMaking(true)}
        >
          <Icon name="plus" />
        </button>
        <span className="grow" />
        {current && <Programs workspace={current} />}
        {current && <AddMenu workspace={current} />}
        {current && <WorkspaceMenu workspace={current} />}
      </header>
      <div className="work-room">
        {workspaces
          ?.filter((w) => seen.includes(w.id))
          .map((w) => (
            <Room key={w.id} workspace={w} visible={w.id === current?.id} />
          ))}
        {workspaces?.length === 0 && (
          <div className="center">
            <div>
              <p className="strong">No workspace yet</p>
              <p className="ink-2">
                A workspace is a project folder with terminals and conversations side by side. What
                runs in it goes on when this page is closed.
              </p>
            </div>
            <button type="button" className="btn primary" onClick={() => setMaking(true)}>
              New workspace
            </button>
          </div>
        )}
        {workspaces === undefined && (
          <div className="center" role={error === '' ? 'status' : 'alert'}>
            <p className="ink-2">{error === '' ? 'Opening…' : error}</p>
            {error !== '' && (
              <button type="button" className="btn" onClick={work.reload}>
                Retry
              </button>
            )}
          </div>
        )}
      </div>
      {making && (
        <NewWorkspace
          onClose={() => setMaking(false)}
          onMade={(made) => {
            setMaking(false)
            go({ view: 'work', id: made })
          }}
        />
      )}
    </main>
  )
}

const fallback = (all: Workspace[] | undefined): Workspace | undefined =>
  all?.find((w) => w.id === readStored('workspace')) ?? all?.[0]

/** Another window of this browser has changed a workspace: read them again. */
function useOtherWindows(): void {
  const { store, reload } = useWorkActions()
  useEffect(() => {
    const key = storageKey('workspaces')
    const onStorage = (e: StorageEvent): void => {
      if (e.key === key) reload()
    }
    const off = store.subscribe((s, before) => {
      if (s.saved !== before.saved) writeStored(String(Date.now()), 'workspaces')
    })
    addEventListener('storage', onStorage)
    return () => {
      off()
      removeEventListener('storage', onStorage)
    }
  }, [store, reload])
}

const severity: readonly MarkKind[] = ['need', 'fail', 'stop', 'run', 'done', 'idle']

/** The mark of a workspace: the one of its tiles that matters most. */
function useWorkspaceMark(w: Workspace): { kind: MarkKind; words: string } {
  const terminals = useWork((s) => s.terminals)
  const summaries = useBench((s) => s.summaries)
  return useMemo(() => {
    const marks = w.panes.flatMap((p): { kind: MarkKind; words: string }[] => {
      if (p.kind === 'terminal') {
        const t = terminals?.find((x) => x.terminal_id === p.id)
        if (!t) return []
        const { mark, words } = standing(t)
        return [{ kind: mark, words: `${p.name} ${words}` }]
      }
      const s = p.kind === 'conversation' && summaries?.find((x) => x.session_id === p.ref)
      return s ? [markOf(s)] : []
    })
    const rank = (m: { kind: MarkKind }): number => severity.indexOf(m.kind)
    return marks.sort((a, b) => rank(a) - rank(b))[0] ?? { kind: 'idle', words: 'idle' }
  }, [w, terminals, summaries])
}

function Tabs({ workspaces, current }: { workspaces: Workspace[]; current: string | undefined }) {
  const { go } = useNavigation()
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label="Workspaces"
      onKeyDown={(e) => {
        const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
        if (by === 0 || workspaces.length === 0) return
        e.preventDefault()
        const at = workspaces.findIndex((w) => w.id === current)
        const next = workspaces[(at + by + workspaces.length) % workspaces.length]
        if (!next) return
        go({ view: 'work', id: next.id })
        document.getElementById(`tab-${next.id}`)?.focus()
      }}
    >
      {workspaces.map((w) => (
        <Tab key={w.id} workspace={w} selected={w.id === current} />
      ))}
    </div>
  )
}

function Tab({ workspace: w, selected }: { workspace: Workspace; selected: boolean }) {
  const { go } = useNavigation()
  const mark = useWorkspaceMark(w)
  return (
    <button
      type="button"
      id={`tab-${w.id}`}
      className="tab"
      role="tab"
      aria-selected={selected}
      tabIndex={selected ? 0 : -1}
      title={w.projectPath || 'A scratch folder'}
      onClick={() => go({ view: 'work', id: w.id })}
    >
      <StatusMark kind={mark.kind} words={mark.words} />
      {w.name}
    </button>
  )
}

/** What runs here, counted: "bash ×2". */
function Programs({ workspace }: { workspace: Workspace }) {
  const counts = new Map<string, number>()
  for (const p of workspace.panes) {
    if (p.kind === 'terminal') counts.set(p.name, (counts.get(p.name) ?? 0) + 1)
  }
  return (
    <>
      {[...counts].map(([name, n]) => (
        <span key={name} className="chip num hide-narrow">
          {name} ×{n}
        </span>
      ))}
    </>
  )
}

function WorkspaceMenu({ workspace: w }: { workspace: Workspace }) {
  const { remove, rename } = useWorkActions()
  const [removing, setRemoving] = useState(false)
  const [naming, setNaming] = useState(false)
  return (
    <>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <button type="button" className="ico" aria-label="Workspace menu">
            <Icon name="dots" />
          </button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            <DropdownMenu.Item className="mi" onSelect={() => setNaming(true)}>
              <Icon name="pencil" />
              <span className="grow">Rename workspace</span>
            </DropdownMenu.Item>
            <DropdownMenu.Item className="mi" onSelect={() => setRemoving(true)}>
              <Icon name="trash" />
              <span className="grow">Remove workspace</span>
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {naming && (
        <NameDialog
          name={w.name}
          onClose={() => setNaming(false)}
          onName={(name) => rename(w.id, name)}
        />
      )}
      {removing && (
        <CloseDialog
          title={`Remove ${w.name}?`}
          words="Any live PTY and CLI process in this workspace will be stopped. Its conversations and files stay."
          button="Remove workspace"
          onClose={() => setRemoving(false)}
          onConfirm={() => void remove(w.id)}
        />
      )}
    </>
  )
}

/** One workspace, drawn also while another one is in front. */
function Room({ workspace, visible }: { workspace: Workspace; visible: boolean }) {
  const { focus, zoom } = useWorkActions()
  const focused = useWork((s) => s.focused[workspace.id]) ?? workspace.panes[0]?.id
  const zoomed = useWork((s) => s.zoomed[workspace.id])
  const handles = useRef(new Map<string, TileHandle>())
  const tiles = useMemo(
    (): Tiles => ({
      register: (pane, handle) => {
        handles.current.set(pane, handle)
        return () => {
          if (handles.current.get(pane) === handle) handles.current.delete(pane)
        }
      },
    }),
    [],
  )
  useEffect(() => {
    if (!visible) return
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || overlayOpen(document) || focused === undefined) return
      const inTerminal = e.target instanceof Element && e.target.closest('[data-terminal]') !== null
      if (e.key === 'Escape' && !e.altKey && zoomed !== undefined && !inTerminal) {
        e.preventDefault()
        zoom(workspace.id, undefined)
        return
      }
      const chord = chordOf(e)
      switch (chord) {
        case 'left':
        case 'right':
        case 'up':
        case 'down': {
          const next = zoomed === undefined && neighbour(workspace.layout, focused, chord)
          if (!next) return
          e.preventDefault()
          focus(workspace.id, next)
          handles.current.get(next)?.focus?.()
          return
        }
        case 'zoom':
          e.preventDefault()
          zoom(workspace.id, zoomed === undefined ? focused : undefined)
          return
        case 'find': {
          const find = handles.current.get(focused)?.find
          if (!find) return
          e.preventDefault()
          find()
          return
        }
        case 'leave':
          e.preventDefault()
          document.querySelector<HTMLElement>(`[data-pane="${focused}"] > .bar button`)?.focus()
          return
        case 'copy':
        case undefined:
          return
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [visible, focused, zoomed, workspace, focus, zoom])
  return (
    <div className="work-one" data-shown={visible} inert={!visible}>
      {workspace.panes.length === 0 ? (
        <div className="center">
          <p className="ink-2">Nothing is open in this workspace.</p>
          <AddMenu workspace={workspace} />
        </div>
      ) : (
        <TilesProvider value={tiles}>
          <Mosaic workspace={workspace} visible={visible} />
        </TilesProvider>
      )}
    </div>
  )
}
