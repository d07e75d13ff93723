// The look of this browser, on the page's root. public/theme.js has done the
// same before the first paint; this follows later changes, of the system, of
// the person, and of other windows.

import type { Bench } from '../store/stores'
import type { Prefs } from '../store/prefs'
import { storageKey } from '../store/storage'

function apply(p: Prefs, light: boolean): void {
  const root = document.documentElement
  root.dataset.theme = p.theme === 'system' ? (light ? 'light' : 'dark') : p.theme
  if (p.density === 'cozy') root.dataset.density = 'cozy'
  else delete root.dataset.density
}

/** Follows until the disposer runs. */
export function installAppearance(bench: Bench): () => void {
  const media = matchMedia('(prefers-color-scheme: light)')
  const draw = (): void => apply(bench.store.getState().prefs, media.matches)
  const onStorage = (e: StorageEvent): void => {
    // A null key means that all of it was cleared.
    if (e.key === null || (e.key.startsWith(storageKey()) && !e.key.includes('draft')))
      bench.actions.rereadStored()
  }
  draw()
  const off = bench.store.subscribe((now, before) => {
    if (now.prefs !== before.prefs) draw()
  })
  media.addEventListener('change', draw)
  addEventListener('storage', onStorage)
  return () => {
    off()
    media.removeEventListener('change', draw)
    removeEventListener('storage', onStorage)
  }
}
