// The groups of the Settings: names, icons, and the words a search finds them
// by. Source: ui.md 18.

import type { IconName } from '../Icon'
import type { SettingsGroup } from '../navigate'

export interface GroupInfo {
  title: string
  icon: IconName
  about: string
  /** Labels and other words of what is in it. */
  words: string
}

export const groupInfo: Record<SettingsGroup, GroupInfo> = {
  agents: {
    title: 'Agent behavior',
    icon: 'bot',
    about: 'What a new agent starts with, and what happens to finished ones.',
    words:
      'launch location project worktree auto-archive done days failover fallback model onboarding first steps audit retention',
  },
  providers: {
    title: 'Providers and models',
    icon: 'key',
    about:
      'A key is kept in the credential store of this machine. It is used to call its provider and is never shown again, here or in a log.',
    words:
      'api keys anthropic openai openrouter minimax ollama custom endpoint base url models context cap keep-alive test',
  },
  profiles: {
    title: 'Profiles',
    icon: 'user',
    about:
      'A profile is how an agent behaves: its instructions, its tools and its memory. The mode you pick at launch wins over a profile’s posture.',
    words: 'default scout reviewer clone instructions system prompt tools permission memory model',
  },
  appearance: {
    title: 'Appearance',
    icon: 'sun',
    about: 'How the page looks in this browser, in every window of it.',
    words: 'theme dark light system density compact cozy rows transcript summary normal verbose',
  },
  notifications: {
    title: 'Notifications',
    icon: 'bell',
    about:
      'When this browser speaks up. The title of the page counts what waits for you in any case.',
    words: 'desktop notification approval needed session complete error unfocused focus title',
  },
  engines: {
    title: 'Sidecar',
    icon: 'server',
    about: 'The helper process that runs the agent SDKs of the vendors.',
    words: 'sidecar status state version protocol restarts last error reset sdk',
  },
  shortcuts: {
    title: 'Shortcuts',
    icon: 'keys',
    about: 'Chords match the physical key, so they are in the same place on every keyboard.',
    words: 'keyboard keys chords hotkeys help',
  },
}

/** The groups in the order of their list. */
export const settingsTitles: readonly (readonly [SettingsGroup, string])[] = [
  ['agents', groupInfo.agents.title],
  ['providers', groupInfo.providers.title],
  ['profiles', groupInfo.profiles.title],
  ['appearance', groupInfo.appearance.title],
  ['notifications', groupInfo.notifications.title],
  ['engines', groupInfo.engines.title],
  ['shortcuts', groupInfo.shortcuts.title],
]

/** The groups that a search finds. */
export function findGroups(query: string): SettingsGroup[] {
  const wanted = query.trim().toLowerCase().split(/\s+/).filter(Boolean)
  return settingsTitles
    .map(([group]) => group)
    .filter((group) => {
      const { title, about, words } = groupInfo[group]
      const text = `${title} ${about} ${words}`.toLowerCase()
      return wanted.every((w) => text.includes(w))
    })
}
