// Puts the page together: theme.js has set the theme already, the link opens
// while React starts, and the view of the URL is drawn first. Source: ui.md 19.

import './index.css'
import { createRoot } from 'react-dom/client'
import { frameSchedule } from '../net/coalesce'
import { createCommands } from '../net/command'
import { openPageLink } from '../net/socket'
import { readStored, writeStored } from '../store/storage'
import { createBench } from '../store/stores'
import { BenchProvider } from '../view/bench'
import { App } from './App'
import { go, onPath } from './path'
import { installAppearance } from './appearance'
import { createNotifier, pageLocks, showOnDesktop } from './notifier'
import { parseRoute } from './route'

// A bare address opens the last view.
const last = readStored('path')
if (location.pathname === '/' && /^\/(agents|workspaces|ops|history|settings)/.test(last))
  history.replaceState(null, '', last)
addEventListener('pagehide', () => writeStored(location.pathname, 'path'))

const link = openPageLink(parseRoute(location.pathname).view === 'monitor')
const bench = createBench(link, createCommands(link), frameSchedule)

installAppearance(bench)

// A Monitor is silent: its owner's windows speak.
const selected = (): string => {
  const route = parseRoute(location.pathname)
  return route.view === 'agents' && route.screen === 'conversation' ? route.id : ''
}
if (parseRoute(location.pathname).view !== 'monitor') {
  const notifier = createNotifier(bench, {
    locks: pageLocks(),
    show: showOnDesktop,
    now: Date.now,
    selected,
    focused: () => document.hasFocus(),
    open: (id) => go({ view: 'agents', screen: 'conversation', id }),
  })
  addEventListener('focus', notifier.moved)
  addEventListener('blur', notifier.moved)
  onPath(notifier.moved)
}

// A laptop that wakes, a cable that comes back: ask at once.
addEventListener('online', () => link.nudge())
addEventListener('offline', () => link.nudge())
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') link.nudge()
})

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <BenchProvider value={bench}>
      <App />
    </BenchProvider>,
  )
}

// Heavy chunks come in idle time, before the first answer needs them.
const idle: (f: () => void) => void =
  typeof requestIdleCallback === 'function' ? requestIdleCallback : (f) => setTimeout(f, 1000)
idle(() => void import('../view/conversation/Markdown').catch(() => undefined))
