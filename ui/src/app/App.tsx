import { lazy, Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { nextTranscript } from '../store/prefs'
import { nextNeed } from '../store/sections'
import { go, onPath } from './path'
import { parseRoute } from './route'
import { Rail } from './Rail'
import { ErrorBoundary } from '../view/ErrorBoundary'
import { useActions, useBench } from '../view/bench'
import { ConversationPane } from '../view/conversation/Conversation'
import { Launch } from '../view/launch/Launch'
import type { Navigation, Route } from '../view/navigate'
import { NavigationProvider } from '../view/navigate'
import type { ShortcutId } from '../view/shortcuts'
import { installShortcuts } from '../view/shortcuts'
import { Sidebar } from '../view/sidebar/Sidebar'
import { ToastSlot } from '../view/status/ToastSlot'

// Views beside the first one come when they are opened.
const History = lazy(() => import('../view/history/History').then((m) => ({ default: m.History })))
const Monitor = lazy(() => import('../view/monitor/Monitor').then((m) => ({ default: m.Monitor })))
const Ops = lazy(() => import('../view/ops/Ops').then((m) => ({ default: m.Ops })))
const Palette = lazy(() => import('../view/palette/Palette').then((m) => ({ default: m.Palette })))
const Settings = lazy(() =>
  import('../view/settings/Settings').then((m) => ({ default: m.Settings })),
)
const Work = lazy(() => import('../view/workspace/Work').then((m) => ({ default: m.Work })))

/** The window: one route, drawn for the role that its token gave it. */
export function App() {
  const path = useSyncExternalStore(onPath, () => location.pathname)
  const route = useMemo(() => parseRoute(path), [path])
  const navigation = useMemo((): Navigation => ({ route, go }), [route])
  const link = useBench((s) => s.link)
  const role = useBench((s) => s.session?.role)
  useTitle(route)
  const refused = link.phase === 'unauthorized'
  return (
    <NavigationProvider value={navigation}>
      {refused ? (
        <Refused monitor={role === 'monitor' || route.view === 'monitor'} />
      ) : role === undefined ? (
        <Opening />
      ) : role === 'monitor' || route.view === 'monitor' ? (
        <Suspense fallback={<Opening />}>
          <Monitor
            id={route.view === 'monitor' ? route.id : routeId(route)}
            what={route.view === 'monitor' ? route.what : undefined}
          />
        </Suspense>
      ) : (
        <Agents route={route} />
      )}
      <ToastSlot />
    </NavigationProvider>
  )
}

/** The tab says what it shows, and how many conversations wait. */
function useTitle(route: Route): void {
  const id = route.view === 'monitor' ? route.id : routeId(route)
  const name = useBench((s) => s.summaries?.find((x) => x.session_id === id)?.title ?? '')
  const need = useBench((s) =>
    (s.summaries ?? []).reduce((n, x) => n + (x.needs_you > 0 && !x.archived ? 1 : 0), 0),
  )
  useEffect(() => {
    document.title = `${need > 0 ? `(${need}) ` : ''}${name === '' ? '' : `${name} · `}PacketBench`
  }, [name, need])
}

const routeId = (route: Route): string =>
  route.view === 'agents' && route.screen === 'conversation' ? route.id : ''

/** The fields that a key leads into; the one of the view that is shown. */
function focusField(ids: string[]): boolean {
  const field = ids.map((id) => document.getElementById(id)).find((el) => el !== null)
  field?.focus()
  return field !== undefined
}

function Agents({ route }: { route: Exclude<Route, { view: 'monitor' }> }) {
  const actions = useActions()
  const prefs = useBench((s) => s.prefs)
  const summaries = useBench((s) => s.summaries)
  const [palette, setPalette] = useState(false)
  const current = routeId(route)
  useEffect(() => {
    const run = (id: ShortcutId): boolean => {
      switch (id) {
        case 'palette':
          setPalette((open) => !open)
          return true
        case 'agents':
          go({ view: 'agents', screen: 'list' })
          return true
        case 'history':
          go({ view: 'history' })
          return true
        case 'work':
          go({ view: 'work', id: '' })
          return true
        case 'ops':
          go({ view: 'ops', actor: '' })
          return true
        case 'settings':
          go({ view: 'settings', group: 'providers' })
          return true
        case 'newAgent':
          go({ view: 'agents', screen: 'new' })
          return true
        case 'project':
          go({ view: 'agents', screen: 'new' })
          // The picker is there with the next frame.
          requestAnimationFrame(() => focusField(['project-folder']))
          return true
        case 'next': {
          const next = nextNeed(summaries ?? [], current)
          if (!next) return false
          go({ view: 'agents', screen: 'conversation', id: next.session_id })
          return true
        }
        case 'search':
          return focusField(['settings-search', 'history-search', 'conversation-search'])
        case 'transcript': {
          const transcript = nextTranscript(prefs.transcript)
          actions.setPrefs({ transcript })
          actions.say(`Transcript: ${transcript}`)
          return true
        }
        case 'shortcuts':
          go({ view: 'settings', group: 'shortcuts' })
          return true
      }
    }
    return installShortcuts(document, run)
  }, [actions, prefs.transcript, summaries, current])
  return (
    <div className="app">
      <Rail onPalette={() => setPalette(true)} />
      <Suspense fallback={<div className="pane h-full" />}>
        {route.view === 'settings' ? (
          <ErrorBoundary sentence="The settings encountered an error.">
            <Settings group={route.group} />
          </ErrorBoundary>
        ) : route.view === 'work' ? (
          <ErrorBoundary sentence="The workspaces encountered an error.">
            <Work id={route.id} />
          </ErrorBoundary>
        ) : route.view === 'ops' ? (
          <ErrorBoundary sentence="The ops page encountered an error.">
            <Ops actor={route.actor} />
          </ErrorBoundary>
        ) : route.view === 'history' ? (
          <ErrorBoundary sentence="The history encountered an error.">
            <History />
          </ErrorBoundary>
        ) : (
          <div className="view with-side" data-screen={route.screen}>
            <ErrorBoundary sentence="The list of conversations encountered an error.">
              <Sidebar />
            </ErrorBoundary>
            {route.screen === 'conversation' ? (
              <ConversationPane key={route.id} id={route.id} />
            ) : (
              <Launch />
            )}
          </div>
        )}
      </Suspense>
      {palette && (
        <Suspense fallback={null}>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
    </div>
  )
}

function Opening() {
  const link = useBench((s) => s.link)
  const { retryNow } = useActions()
  return (
    <div className="pane h-full">
      <main className="center" role="status">
        {link.phase === 'waiting' ? (
          <>
            <p className="strong">The service does not answer</p>
            <p className="ink-2">
              Start it with <code>packetbench</code>. This page goes on by itself when it is there.
            </p>
            <button type="button" className="btn" onClick={retryNow}>
              Try now
            </button>
          </>
        ) : (
          <p className="ink-3">Opening PacketBench…</p>
        )}
      </main>
    </div>
  )
}

/** The cookie of this page is a Monitor's of another start, or was taken back. */
function Refused({ monitor }: { monitor: boolean }) {
  const { retryNow } = useActions()
  return (
    <div className="pane h-full">
      <main className="center" role="alert">
        <p className="strong">
          {monitor ? 'This Monitor is stale' : 'This page is not signed in any more'}
        </p>
        <p className="ink-2">
          {monitor
            ? 'A Monitor is let in by one start of the service only, and it was started again. Run'
            : 'The service that answers here does not know it. Run'}{' '}
          <code>{monitor ? 'packetbench url --monitor' : 'packetbench url'}</code> in a terminal and
          open what it prints. Agents and drafts are kept.
        </p>
        <button type="button" className="btn" onClick={retryNow}>
          Try again
        </button>
      </main>
    </div>
  )
}
