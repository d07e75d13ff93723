// What launching and steering keep in a window, and the actions that change
// it: preferences, unread marks, projects, profiles, settings of the app, and
// the trimmed view of a transcript.

import type { AppSettings, FileCommand, ProfileList } from '../contract/desk'
import type {
  Confirm,
  Exported,
  ExportFormat,
  KeyTest,
  Profile,
  ProjectDiff,
  ProjectFacts,
  PromptLayers,
  SearchResult,
  WorktreeOutcome,
  WorktreeStatus,
} from '../contract/gen'
import type { Envelope, Message, Summary } from '../contract/model'
import { readEvent } from '../contract/guards'
import { parseSubject } from '../contract/subjects'
import { refusalOf, sentence } from '../net/command'
import type { DeskCommands } from '../net/desk'
import type { Alert, Unread } from './attention'
import { alertFor, followUnread, readUnread, unreadText } from './attention'
import type { Prefs } from './prefs'
import { readPrefs, writePrefs } from './prefs'
import { readStored, writeStored } from './storage'

export interface DeskState {
  prefs: Prefs
  /** Conversations whose turn ended while nobody of this browser looked. */
  unread: string[]
  /** undefined until somebody asked. */
  profiles: ProfileList | undefined
  profilesError: string
  /** undefined until somebody asked. */
  appSettings: AppSettings | undefined
  /** What is known of project folders, by path. */
  projects: Record<string, ProjectFacts>
  /** From which message on a transcript is shown, by conversation. */
  trims: Record<string, string>
}

export interface DeskActions {
  setPrefs: (change: Partial<Prefs>) => void
  /** Reads again what another window of this browser has written. */
  rereadStored: () => void
  markRead: (id: string) => void
  /** Files that match what stands behind an `@`. */
  findFiles: (project: string, query: string) => Promise<string[]>
  /** The Markdown commands of a project and of the person. */
  listCommands: (project: string) => Promise<FileCommand[]>
  reloadProject: (path: string) => void
  /** What is staged, else changed, in a folder; a string is why not. */
  projectDiff: (path: string) => Promise<ProjectDiff | string>
  /** Answers the one question that a new project raises. */
  trustProject: (path: string, trusted: boolean) => void
  reloadProfiles: () => void
  /** Saves a profile; the reason when it was refused. */
  saveProfile: (profile: Profile) => Promise<string>
  /** Clones a profile; its id, empty when that did not work. */
  cloneProfile: (id: string) => Promise<string>
  deleteProfile: (id: string) => Promise<string>
  setDefaultProfile: (id: string) => void
  reloadAppSettings: () => void
  /** Saves one setting of the app; the reason when it was refused. */
  setAppSetting: (key: string, value: unknown) => Promise<string>
  /** Searches titles, paths and messages; a string is why it failed. */
  search: (query: string) => Promise<SearchResult | string>
  testKey: (provider: string) => Promise<KeyTest>
  /** What a deletion loses; undefined when it could not be found out. */
  confirmDelete: (id: string) => Promise<Confirm | undefined>
  /** The layers of a system prompt as they were frozen; a string is why not. */
  promptLayers: (id: string) => Promise<PromptLayers | string>
  /** A transcript as a file; undefined when it failed, which has been said. */
  exportTranscript: (id: string, format: ExportFormat) => Promise<Exported | undefined>
  /** How a worktree stands; undefined when it could not be found out. */
  getWorktree: (id: string) => Promise<WorktreeStatus | undefined>
  /** Ends a worktree in one of three ways; a string is why it failed. */
  endWorktree: (id: string, ending: WorktreeEnding) => Promise<WorktreeOutcome | string>
  /** Shows only the last n messages of a transcript; the service keeps all. */
  trim: (id: string, messages: Message[], keep: number) => void
  untrim: (id: string) => void
}

/** How a worktree ends; base is wanted where its own is not recorded. */
export type WorktreeEnding =
  { kind: 'merge' | 'pr'; base: string } | { kind: 'discard'; confirmed: boolean }

/** The mark of a view that was cleared: everything so far is hidden. */
const clearedPrefix = 'after:'

export function readDesk(): DeskState {
  return {
    prefs: readPrefs(),
    unread: readUnread(readStored('unread')).unread,
    profiles: undefined,
    profilesError: '',
    appSettings: undefined,
    projects: {},
    trims: {},
  }
}

interface Context {
  get: () => DeskState & { summaries: Summary[] | undefined }
  set: (f: (s: DeskState) => Partial<DeskState>) => void
  commands: DeskCommands
  say: (text: string, tone?: 'info' | 'error') => void
  /** Whether this window shows a conversation. */
  isOpen: (id: string) => boolean
}

export function createDesk(c: Context): {
  actions: DeskActions
  /** Called with the events of the list, before they are applied. */
  hear: (events: Envelope[]) => void
  /** Called after the list has changed. */
  follow: () => void
  onAlert: (f: (a: Alert) => void) => () => void
} {
  const listeners = new Set<(a: Alert) => void>()
  let marks: Unread = readUnread(readStored('unread'))

  const keepMarks = (next: Unread): void => {
    const text = unreadText(next)
    const same = text === unreadText(marks)
    marks = next
    if (same) return
    writeStored(text, 'unread')
    c.set(() => ({ unread: next.unread }))
  }

  const follow = (): void => {
    const { summaries } = c.get()
    if (summaries) keepMarks(followUnread(marks, summaries, c.isOpen))
  }

  const hear = (events: Envelope[]): void => {
    for (const envelope of events) {
      const { family, id } = parseSubject(envelope.subject)
      if (family !== 'conversation') continue
      const before = c.get().summaries?.find((s) => s.session_id === id)
      const event = readEvent(envelope)
      const alert = before && event && alertFor(event, before)
      if (alert) for (const f of listeners) f(alert)
    }
  }

  const putProfiles = (next: ProfileList): void =>
    c.set(() => ({
      profiles: { profiles: next.profiles, default: next.default },
      profilesError: '',
    }))

  const changeProfiles = async (work: Promise<ProfileList>, field = ''): Promise<string> => {
    try {
      putProfiles(await work)
      return ''
    } catch (e) {
      return refusalOf(e, field) ?? sentence(e)
    }
  }

  const setTrim = (id: string, from: string): void => {
    writeStored(from, 'trim', id)
    c.set((s) => ({ trims: { ...s.trims, [id]: from } }))
  }

  const actions: DeskActions = {
    setPrefs: (change) => {
      const prefs = { ...c.get().prefs, ...change }
      writePrefs(prefs)
      c.set(() => ({ prefs }))
    },
    rereadStored: () => {
      marks = readUnread(readStored('unread'))
      c.set(() => ({ prefs: readPrefs(), unread: marks.unread }))
    },
    markRead: (id) => {
      if (!marks.unread.includes(id)) return
      keepMarks({ running: marks.running, unread: marks.unread.filter((x) => x !== id) })
    },
    findFiles: (project, query) => c.commands.findFiles(project, query),
    listCommands: (project) => c.commands.listCommands(project),
    reloadProject: (path) => {
      if (path === '') return
      // A folder that does not exist has no facts; its launch says why.
      c.commands
        .getProject(path)
        .then((facts) => c.set((s) => ({ projects: { ...s.projects, [path]: facts } })))
        .catch(() => undefined)
    },
    projectDiff: (path) => c.commands.projectDiff(path).catch((e: unknown) => sentence(e)),
    trustProject: (path, trusted) => {
      c.commands
        .trustProject(path, trusted)
        .then(() => actions.reloadProject(path))
        .catch((e: unknown) => c.say(sentence(e), 'error'))
    },
    reloadProfiles: () => {
      c.commands
        .listProfiles()
        .then(putProfiles)
        .catch((e: unknown) => c.set(() => ({ profilesError: sentence(e) })))
    },
    saveProfile: (profile) => changeProfiles(c.commands.saveProfile(profile), 'profile'),
    cloneProfile: async (id) => {
      try {
        const next = await c.commands.cloneProfile(id)
        putProfiles(next)
        return next.id
      } catch (e) {
        c.say(sentence(e), 'error')
        return ''
      }
    },
    deleteProfile: (id) => changeProfiles(c.commands.deleteProfile(id)),
    setDefaultProfile: (id) => {
      void changeProfiles(c.commands.setDefaultProfile(id)).then((reason) => {
        if (reason !== '') c.say(reason, 'error')
      })
    },
    reloadAppSettings: () => {
      c.commands
        .getAppSettings()
        .then((appSettings) => c.set(() => ({ appSettings })))
        .catch((e: unknown) => c.say(sentence(e), 'error'))
    },
    setAppSetting: async (key, value) => {
      try {
        const appSettings = await c.commands.setAppSettings({ [key]: value })
        c.set(() => ({ appSettings }))
        return ''
      } catch (e) {
        return refusalOf(e, key) ?? sentence(e)
      }
    },
    search: (query) => c.commands.search(query).catch((e: unknown) => sentence(e)),
    testKey: (provider) =>
      c.commands
        .testKey(provider)
        .catch((e: unknown) => ({ status: 'unclear', message: sentence(e), latency_ms: 0 })),
    confirmDelete: (id) => c.commands.confirmDelete(id).catch(() => undefined),
    promptLayers: (id) => c.commands.promptLayers(id).catch((e: unknown) => sentence(e)),
    exportTranscript: (id, format) =>
      c.commands.exportTranscript(id, format).catch((e: unknown) => {
        c.say(sentence(e), 'error')
        return undefined
      }),
    getWorktree: (id) => c.commands.getWorktree(id).catch(() => undefined),
    endWorktree: (id, ending) => {
      switch (ending.kind) {
        case 'merge':
          return c.commands.mergeWorktree(id, ending.base).catch((e: unknown) => sentence(e))
        case 'pr':
          return c.commands.worktreePR(id, ending.base).catch((e: unknown) => sentence(e))
        case 'discard':
          return c.commands.discardWorktree(id, ending.confirmed).catch((e: unknown) => sentence(e))
      }
    },
    trim: (id, messages, keep) => {
      const from = keep === 0 ? undefined : messages.at(-keep)
      const last = messages.at(-1)
      if (keep === 0 && last) setTrim(id, clearedPrefix + last.id)
      else if (from && messages.length > keep) setTrim(id, from.id)
    },
    untrim: (id) => setTrim(id, ''),
  }

  return {
    actions,
    hear,
    follow,
    onAlert: (f) => {
      listeners.add(f)
      return () => listeners.delete(f)
    },
  }
}

/** A transcript as its trim leaves it, and how many messages that hides. */
export function trimmed(messages: Message[], from: string): { shown: Message[]; hidden: number } {
  if (from === '') return { shown: messages, hidden: 0 }
  const cleared = from.startsWith(clearedPrefix)
  const id = cleared ? from.slice(clearedPrefix.length) : from
  const at = messages.findIndex((m) => m.id === id)
  // What a restore has taken away needs no trim any more.
  if (at < 0) return { shown: messages, hidden: 0 }
  const hidden = cleared ? at + 1 : at
  return { shown: messages.slice(hidden), hidden }
}

/** The trim of a conversation in this browser; empty when all is shown. */
export function trimOf(trims: Record<string, string>, id: string): string {
  return trims[id] ?? readStored('trim', id)
}
