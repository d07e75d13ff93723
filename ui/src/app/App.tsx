import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { parseRoute } from './route'
import { Rail } from './Rail'
import { ErrorBoundary } from '../view/ErrorBoundary'
import { isTyping } from '../view/answerKeys'
import { useActions, useBench } from '../view/bench'
import { ConversationPane } from '../view/conversation/Conversation'
import { Launch } from '../view/launch/Launch'
import { Settings } from '../view/settings/Settings'
import { Monitor } from '../view/monitor/Monitor'
import type { Navigation, Route } from '../view/navigate'
import { NavigationProvider, pathOf } from '../view/navigate'
import { Sidebar } from '../view/sidebar/Sidebar'
import { ToastSlot } from '../view/status/ToastSlot'

const listeners = new Set<() => void>()

const subscribePath = (f: () => void): (() => void) => {
  listeners.add(f)
  addEventListener('popstate', f)
  return () => {
    listeners.delete(f)
    removeEventListener('popstate', f)
  }
}

function go(to: Route): void {
  const path = pathOf(to)
  if (path === location.pathname) return
  history.pushState(null, '', path)
  for (const f of listeners) f()
}

/** The window: one route, drawn for the role that its token gave it. */
export function App() {
  const path = useSyncExternalStore(subscribePath, () => location.pathname)
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
        <Monitor id={route.view === 'monitor' ? route.id : routeId(route)} />
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

function Agents({ route }: { route: Exclude<Route, { view: 'monitor' }> }) {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      // Chords match the physical key, so that every layout has them.
      if (e.altKey && !e.ctrlKey && !e.metaKey && e.code === 'KeyN') {
        if (isTyping(e.target)) return
        e.preventDefault()
        go({ view: 'agents', screen: 'new' })
      }
      if (e.key === '/' && !e.ctrlKey && !e.metaKey && !e.altKey && !isTyping(e.target)) {
        const field = document.getElementById('conversation-search')
        if (!field) return
        e.preventDefault()
        field.focus()
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return (
    <div className="app">
      <Rail />
      {route.view === 'settings' ? (
        <ErrorBoundary sentence="The settings encountered an error.">
          <Settings />
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

/** The cookie of this page is of another start of the service. */
function Refused({ monitor }: { monitor: boolean }) {
  const { retryNow } = useActions()
  return (
    <div className="pane h-full">
      <main className="center" role="alert">
        <p className="strong">
          {monitor ? 'This Monitor is stale' : 'This page is not signed in any more'}
        </p>
        <p className="ink-2">
          The service was started again and gave out a new address. Run{' '}
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
