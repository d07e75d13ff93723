// Where the window is: every view has its own URL, so that reload, back and a
// second window land where one was. Source: ui.md 2.

import { createContext, useContext } from 'react'

/** The groups of the Settings, each with its own address. */
export const settingsGroups = [
  'agents',
  'providers',
  'profiles',
  'appearance',
  'notifications',
  'engines',
  'shortcuts',
] as const

export type SettingsGroup = (typeof settingsGroups)[number]

export type Route =
  | { view: 'agents'; screen: 'list' | 'new' }
  | { view: 'agents'; screen: 'conversation'; id: string }
  | { view: 'history' }
  | { view: 'settings'; group: SettingsGroup }
  | { view: 'work'; id: string }
  /** actor is the key of a node of the tree, empty for none. */
  | { view: 'ops'; actor: string }
  /** what is watched; an empty id is the list of everything. */
  | { view: 'monitor'; id: string; what?: 'terminal' | 'tree' }

export interface Navigation {
  route: Route
  go: (to: Route) => void
}

export function pathOf(route: Route): string {
  if (route.view === 'monitor') {
    if (route.what === 'tree') return '/monitor/actors/all'
    if (route.what === 'terminal') return `/monitor/terminals/${route.id}`
    return route.id === '' ? '/monitor' : `/monitor/${route.id}`
  }
  if (route.view === 'work') return route.id === '' ? '/workspaces' : `/workspaces/${route.id}`
  if (route.view === 'ops')
    return route.actor === '' ? '/ops' : `/ops/${encodeURIComponent(route.actor)}`
  if (route.view === 'settings') return `/settings/${route.group}`
  if (route.view === 'history') return '/history'
  switch (route.screen) {
    case 'list':
      return '/agents'
    case 'new':
      return '/agents/new'
    case 'conversation':
      return `/agents/${route.id}`
  }
}

const Context = createContext<Navigation | undefined>(undefined)

export const NavigationProvider = Context.Provider

export function useNavigation(): Navigation {
  const navigation = useContext(Context)
  if (!navigation) throw new Error('A component was drawn outside NavigationProvider.')
  return navigation
}
