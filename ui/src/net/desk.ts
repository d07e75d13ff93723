// The commands of launching and steering: projects, slash commands, profiles,
// settings of the app, search, tests of keys.

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
import type { AppSettings, FileCommand, ProfileList } from '../contract/desk'
import {
  readAppSettings,
  readCommands,
  readConfirm,
  readDiff,
  readExported,
  readKeyTest,
  readLayers,
  readPaths,
  readProfiles,
  readProject,
  readSearch,
  readWorktreeOutcome,
  readWorktreeStatus,
} from '../contract/desk'
import type * as wire from '../contract/gen'
import type { Method } from '../contract/gen'
import { isRecord } from '../contract/guards'
import type { Link } from './socket'

export interface DeskCommands {
  findFiles: (project: string, query: string) => Promise<string[]>
  listCommands: (project: string) => Promise<FileCommand[]>
  getProject: (project: string) => Promise<ProjectFacts>
  projectDiff: (project: string) => Promise<ProjectDiff>
  trustProject: (project: string, trusted: boolean) => Promise<void>
  listProfiles: () => Promise<ProfileList>
  saveProfile: (profile: Profile) => Promise<ProfileList>
  cloneProfile: (id: string) => Promise<ProfileList & { id: string }>
  deleteProfile: (id: string) => Promise<ProfileList>
  setDefaultProfile: (id: string) => Promise<ProfileList>
  getAppSettings: () => Promise<AppSettings>
  /** Merges a patch into the settings of the app; null clears. */
  setAppSettings: (patch: object) => Promise<AppSettings>
  search: (query: string) => Promise<SearchResult>
  testKey: (provider: string) => Promise<KeyTest>
  confirmDelete: (id: string) => Promise<Confirm>
  promptLayers: (id: string) => Promise<PromptLayers>
  exportTranscript: (id: string, format: ExportFormat) => Promise<Exported>
  getWorktree: (id: string) => Promise<WorktreeStatus>
  /** base is wanted only where the worktree's own is not recorded. */
  mergeWorktree: (id: string, base: string) => Promise<WorktreeOutcome>
  worktreePR: (id: string, base: string) => Promise<WorktreeOutcome>
  discardWorktree: (id: string, confirmed: boolean) => Promise<WorktreeOutcome>
}

export function createDeskCommands(link: Pick<Link, 'call'>): DeskCommands {
  const ask = <M extends Method>(method: M, params: wire.Commands[M]['params']) =>
    link.call(method, isRecord(params) ? params : {})
  return {
    findFiles: async (project_path, query) =>
      readPaths(await ask('find_files', { project_path, query })),
    listCommands: async (project_path) =>
      readCommands(await ask('list_commands', { project_path })),
    getProject: async (project_path) => readProject(await ask('get_project', { project_path })),
    projectDiff: async (project_path) => readDiff(await ask('get_project_diff', { project_path })),
    trustProject: async (project_path, trusted) => {
      await ask('trust_project', { project_path, trusted })
    },
    listProfiles: async () => readProfiles(await ask('list_profiles', {})),
    saveProfile: async (profile) => readProfiles(await ask('save_profile', { profile })),
    cloneProfile: async (id) => readProfiles(await ask('clone_profile', { id })),
    deleteProfile: async (id) => readProfiles(await ask('delete_profile', { id })),
    setDefaultProfile: async (id) => readProfiles(await ask('set_default_profile', { id })),
    getAppSettings: async () => readAppSettings(await ask('get_settings', {})),
    setAppSettings: async (app) => readAppSettings(await ask('set_settings', { app })),
    search: async (query) => readSearch(await ask('search_conversations', { query })),
    testKey: async (provider) => readKeyTest(await ask('test_key', { provider })),
    confirmDelete: async (session_id) => readConfirm(await ask('confirm_delete', { session_id })),
    promptLayers: async (session_id) => readLayers(await ask('get_prompt_layers', { session_id })),
    exportTranscript: async (session_id, format) =>
      readExported(await ask('export_conversation', { session_id, format })),
    getWorktree: async (session_id) =>
      readWorktreeStatus(await ask('get_worktree', { session_id })),
    mergeWorktree: async (session_id, base) =>
      readWorktreeOutcome(await ask('merge_worktree', withBase(session_id, base))),
    worktreePR: async (session_id, base) =>
      readWorktreeOutcome(await ask('create_worktree_pr', withBase(session_id, base))),
    discardWorktree: async (session_id, confirmed) =>
      readWorktreeOutcome(
        await ask('discard_worktree', { session_id, ...(confirmed && { confirmed }) }),
      ),
  }
}

const withBase = (session_id: string, base: string) => ({
  session_id,
  ...(base !== '' && { base_branch: base }),
})
