// The address of the page: who changes it, and who hears of it.

import type { Route } from '../view/navigate'
import { pathOf } from '../view/navigate'

const listeners = new Set<() => void>()

/** Hears every change of the address, until the disposer runs. */
export function onPath(f: () => void): () => void {
  listeners.add(f)
  addEventListener('popstate', f)
  return () => {
    listeners.delete(f)
    removeEventListener('popstate', f)
  }
}

/** Goes to another address of the page. */
export function go(to: Route): void {
  const path = pathOf(to)
  if (path === location.pathname) return
  history.pushState(null, '', path)
  for (const f of listeners) f()
}
