// Reads the answers that launching and steering need: projects, commands,
// profiles, searches, tests of keys. The rules are those of guards.ts.

import type {
  CommandSource,
  Confirm,
  Exported,
  KeyTest,
  Profile,
  ProjectDiff,
  ProjectFacts,
  PromptLayers,
  SearchHit,
  SearchResult,
  WorktreeOutcome,
  WorktreeStatus,
} from './gen'
import {
  commandSourceValues,
  keyTestStatusValues,
  layerKindValues,
  permissionModeValues,
  searchPlaceValues,
} from './gen'
import {
  bool,
  isRecord,
  list,
  num,
  oneOf,
  optional,
  readGit,
  readMCP,
  readWorktree,
  rec,
  str,
  strings,
} from './guards'

/** The settings of the service that the page shows; absent ones have defaults. */
export interface AppSettings {
  launchLocation: 'project' | 'worktree'
  defaultProject: string
  autoFailover: boolean
  autoArchive: boolean
  /** In days. */
  autoArchiveDays: number
  /** In days. */
  auditDays: number
}

export function readAppSettings(v: unknown): AppSettings {
  const r = rec(rec(v).app)
  return {
    launchLocation: oneOf(r.launch_location, ['project', 'worktree'] as const, 'project'),
    defaultProject: str(r.default_project),
    autoFailover: r.auto_failover !== false,
    autoArchive: r.auto_archive_done !== false,
    autoArchiveDays: num(r.auto_archive_days) || 14,
    auditDays: num(r.audit_retention_days) || 7,
  }
}

/** Profiles as the page keeps them: the list, and which one is the default. */
export interface ProfileList {
  profiles: Profile[]
  default: string
}

export function readProfile(v: unknown): Profile {
  const r = rec(v)
  return {
    id: str(r.id),
    name: str(r.name),
    description: str(r.description),
    system_prompt: str(r.system_prompt),
    allowed_tools: Array.isArray(r.allowed_tools) ? strings(r.allowed_tools) : null,
    memory_context_enabled: bool(r.memory_context_enabled),
    permission_mode: oneOf(r.permission_mode, permissionModeValues, 'ask_for_risky'),
    plan_mode: bool(r.plan_mode),
    is_builtin: bool(r.is_builtin),
    created_at: num(r.created_at),
    updated_at: num(r.updated_at),
    ...optional('pinned_model', r.pinned_model),
  }
}

export function readProfiles(v: unknown): ProfileList & { id: string } {
  const r = rec(v)
  return {
    profiles: list(r.profiles)
      .map(readProfile)
      .filter((p) => p.id !== ''),
    default: str(r.default),
    id: str(r.id),
  }
}

export function readProject(v: unknown): ProjectFacts {
  const r = rec(v)
  return {
    git: readGit(r.git),
    mcp: readMCP(r.mcp),
    trusted: bool(r.trusted),
    trust_asked: bool(r.trust_asked),
  }
}

/** One Markdown command. */
export interface FileCommand {
  name: string
  description: string
  body: string
  source: CommandSource
}

export function readCommands(v: unknown): FileCommand[] {
  return list(v)
    .map((c) => {
      const r = rec(c)
      return {
        name: str(r.name),
        description: str(r.description),
        body: str(r.body),
        source: oneOf(r.source, commandSourceValues, 'global'),
      }
    })
    .filter((c) => c.name !== '')
}

export const readPaths = (v: unknown): string[] => strings(rec(v).paths)

export function readSearch(v: unknown): SearchResult {
  const r = rec(v)
  return {
    hits: list(r.hits).map((h): SearchHit => {
      const hit = rec(h)
      return {
        session_id: str(hit.session_id),
        title: str(hit.title),
        where: oneOf(hit.where, searchPlaceValues, 'message'),
        snippet: str(hit.snippet),
        start: num(hit.start),
        length: num(hit.length),
        ...optional('message_id', hit.message_id),
      }
    }),
    complete: bool(r.complete),
  }
}

export function readKeyTest(v: unknown): KeyTest {
  const r = rec(v)
  return {
    status: oneOf(r.status, keyTestStatusValues, 'unclear'),
    message: str(r.message),
    latency_ms: num(r.latency_ms),
  }
}

export function readConfirm(v: unknown): Confirm {
  const r = rec(v)
  return {
    title: str(r.title),
    lines: strings(r.lines),
    button: str(r.button),
    ...optional('callout', r.callout),
  }
}

export function readLayers(v: unknown): PromptLayers {
  const r = rec(v)
  return {
    layers: list(r.layers).map((l) => {
      const layer = rec(l)
      return {
        kind: oneOf(layer.kind, layerKindValues, 'override'),
        source: str(layer.source),
        text: str(layer.text),
        ...optional('note', layer.note),
      }
    }),
    system_prompt: str(r.system_prompt),
  }
}

const noWorktree = { base_path: '', worktree_path: '', branch: '', created_at: '', state: '' }

export function readWorktreeStatus(v: unknown): WorktreeStatus {
  const r = rec(v)
  return {
    worktree: readWorktree(r.worktree) ?? noWorktree,
    exists: bool(r.exists),
    is_clean: bool(r.is_clean),
    uncommitted_count: num(r.uncommitted_count),
    unmerged: num(r.unmerged),
    legacy: bool(r.legacy),
    ...optional('problem', r.problem),
  }
}

export function readWorktreeOutcome(v: unknown): WorktreeOutcome {
  const r = rec(v)
  return {
    worktree: readWorktree(r.worktree) ?? noWorktree,
    message: str(r.message),
    branch_deleted: bool(r.branch_deleted),
    worktree_removed: bool(r.worktree_removed),
    ...(isRecord(r.confirm) && { confirm: readConfirm(r.confirm) }),
    ...optional('commit_sha', r.commit_sha),
  }
}

export function readExported(v: unknown): Exported {
  const r = rec(v)
  return {
    file_name: str(r.file_name),
    media_type: str(r.media_type),
    content: str(r.content),
  }
}

export function readDiff(v: unknown): ProjectDiff {
  const r = rec(v)
  return { diff: str(r.diff), staged: bool(r.staged), truncated: bool(r.truncated) }
}
