import type { ComponentType } from 'react'
import { useEffect, useRef, useState } from 'react'
import { Icon } from '../Icon'
import { Link } from '../Link'
import type { SettingsGroup } from '../navigate'
import { useNavigation } from '../navigate'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { AgentGroup } from './AgentGroup'
import { AppearanceGroup } from './AppearanceGroup'
import { findGroups, groupInfo } from './groups'
import { NotificationsGroup } from './NotificationsGroup'
import { ProfilesGroup } from './ProfilesGroup'
import { ProvidersGroup } from './ProvidersGroup'
import { ShortcutsGroup } from './ShortcutsGroup'
import { SidecarGroup } from './SidecarGroup'

const bodies: Record<SettingsGroup, ComponentType> = {
  agents: AgentGroup,
  providers: ProvidersGroup,
  profiles: ProfilesGroup,
  appearance: AppearanceGroup,
  notifications: NotificationsGroup,
  engines: SidecarGroup,
  shortcuts: ShortcutsGroup,
}

/** What holds for every conversation, in groups with an address each. */
export function Settings({ group }: { group: SettingsGroup }) {
  const { go } = useNavigation()
  const [query, setQuery] = useState('')
  const found = findGroups(query)
  const { title, about } = groupInfo[group]
  const Body = bodies[group]
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow screen the groups are a strip that scrolls sideways.
    nav.current
      ?.querySelector('[aria-current]')
      ?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' })
  }, [group])
  return (
    <main className="pane">
      <ConnectionBanner />
      <header className="bar">
        <h1>Settings</h1>
        <span className="grow" />
        <label className="field soft set-search">
          <Icon name="search" className="i-s" />
          <input
            id="settings-search"
            aria-label="Search settings"
            placeholder="Search settings"
            value={query}
            onChange={(e) => setQuery(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === 'Escape') {
                setQuery('')
                e.currentTarget.blur()
              }
              const [first] = found
              if (e.key === 'Enter' && first) go({ view: 'settings', group: first })
            }}
          />
          <kbd className="kbd hide-narrow">/</kbd>
        </label>
      </header>
      <div className="settings">
        <nav className="set-nav" aria-label="Settings groups" ref={nav}>
          {found.map((g) => (
            <Link
              key={g}
              to={{ view: 'settings', group: g }}
              aria-current={g === group ? 'page' : undefined}
            >
              <Icon name={groupInfo[g].icon} className="i-s" />
              {groupInfo[g].title}
            </Link>
          ))}
          {found.length === 0 && (
            <p className="micro ink-3 p-2">No setting says “{query.trim()}”</p>
          )}
        </nav>
        <div className="scroll">
          <section className="set-body" aria-labelledby="settings-title">
            <header>
              <h1 id="settings-title">{title}</h1>
              <p>{about}</p>
            </header>
            <Body key={group} />
          </section>
        </div>
      </div>
    </main>
  )
}
