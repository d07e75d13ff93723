// URL -> view. A path that no longer exists falls back to the list's screen.

import { validId } from '../contract/subjects'
import type { Route } from '../view/navigate'
import { settingsGroups } from '../view/navigate'

export function parseRoute(path: string): Route {
  const [view = '', id = '', more = ''] = path.split('/').filter(Boolean)
  if (view === 'monitor') {
    // A second part tells these from a conversation of that name.
    if (id === 'terminals' && validId(more)) return { view: 'monitor', what: 'terminal', id: more }
    if (id === 'actors' && more !== '') return { view: 'monitor', what: 'tree', id: '' }
    return { view: 'monitor', id: validId(id) ? id : '' }
  }
  if (view === 'workspaces') return { view: 'work', id: validId(id) ? id : '' }
  if (view === 'ops') return { view: 'ops', actor: decoded(id) }
  if (view === 'settings') {
    return { view: 'settings', group: settingsGroups.find((g) => g === id) ?? 'providers' }
  }
  if (view === 'history') return { view: 'history' }
  if (view === 'agents' && id === '') return { view: 'agents', screen: 'list' }
  if (view === 'agents' && id !== 'new' && validId(id)) {
    return { view: 'agents', screen: 'conversation', id }
  }
  return { view: 'agents', screen: 'new' }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}
