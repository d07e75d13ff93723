// Reads what arrived over the wire. A field of the wrong shape is treated as
// absent, because a later service may send more than this page knows; what is
// missing gets the value that is safe to show. The only file that may cast.

import type {
  AttachmentInfo,
  DiffComment,
  Health,
  KeyInfo,
  MCPSource,
  PlanItem,
  Posture,
  ProjectGit,
  ProjectMCP,
  QueueItem,
  Source,
  Worktree,
} from './gen'
import {
  badgeStatusValues,
  clientValues,
  decidedByValues,
  decisionValues,
  diffSideValues,
  editDecisionValues,
  editStateValues,
  healthStateValues,
  kinds,
  levelValues,
  outcomeValues,
  permissionModeValues,
  planStatusValues,
  reviewViewValues,
  roleValues,
  statusValues,
  tierValues,
  toolStatusValues,
  whats,
} from './gen'
import type {
  AgentEvent,
  Capabilities,
  ContextUse,
  Conversation,
  EditedFile,
  EditedText,
  EngineMode,
  Envelope,
  Message,
  Model,
  Part,
  PendingEdit,
  PendingPermission,
  ProviderRow,
  ProviderSettings,
  RateLimit,
  SessionInfo,
  SidecarStatus,
  Snapshot,
  Summary,
  SummaryPatch,
  Tokens,
  ToolCall,
} from './model'
import { parseSubject } from './subjects'

type Rec = Record<string, unknown>

/** Whether v is a JSON object. */
export function isRecord(v: unknown): v is Rec {
  return typeof v === 'object' && v !== null && !Array.isArray(v)
}

/** v where it is an object, else an empty one. */
export const rec = (v: unknown): Rec => (isRecord(v) ? v : {})
export const str = (v: unknown): string => (typeof v === 'string' ? v : '')
export const num = (v: unknown): number => (typeof v === 'number' && Number.isFinite(v) ? v : 0)
export const bool = (v: unknown): boolean => v === true
export const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : [])
export const strings = (v: unknown): string[] => list(v).filter((s) => typeof s === 'string')

/** v where it is one of the allowed values, else another one. */
export function oneOf<T extends string>(v: unknown, allowed: readonly T[], otherwise: T): T {
  return allowed.includes(v as T) ? (v as T) : otherwise
}

/** Sets key only when v has the type; absent stays absent. */
export function optional<K extends string>(key: K, v: unknown): { [P in K]?: string } {
  return typeof v === 'string' && v !== '' ? ({ [key]: v } as { [P in K]?: string }) : {}
}

/** Sets key only when v is one of the allowed values. */
function optionalOf<K extends string, T extends string>(
  key: K,
  v: unknown,
  allowed: readonly T[],
): { [P in K]?: T } {
  return allowed.includes(v as T) ? ({ [key]: v } as { [P in K]?: T }) : {}
}

export function readWorktree(v: unknown): Worktree | undefined {
  if (!isRecord(v)) return undefined
  return {
    base_path: str(v.base_path),
    worktree_path: str(v.worktree_path),
    branch: str(v.branch),
    created_at: str(v.created_at),
    state: str(v.state),
    ...optional('base_branch', v.base_branch),
    ...(num(v.pr_number) > 0 && { pr_number: num(v.pr_number) }),
    ...optional('pr_url', v.pr_url),
  }
}

/** The mark of what happened to a conversation; `ok` takes an earlier one away. */
export function readHealth(v: unknown): Health | undefined {
  if (!isRecord(v)) return undefined
  return { state: oneOf(v.state, healthStateValues, 'ok'), text: str(v.text), at: str(v.at) }
}

export function readSummary(v: unknown): Summary {
  const r = rec(v)
  const worktree = readWorktree(r.worktree)
  const health = readHealth(r.health)
  return {
    session_id: str(r.session_id),
    title: str(r.title),
    row: str(r.row),
    provider: str(r.provider),
    model: str(r.model),
    project_path: str(r.project_path),
    status: oneOf(r.status, statusValues, 'idle'),
    archived: bool(r.archived),
    pinned: bool(r.pinned),
    created_at: str(r.created_at),
    updated_at: str(r.updated_at),
    needs_you: num(r.needs_you),
    queued: num(r.queued),
    retired_notice: str(r.retired_notice),
    ...(worktree && { worktree }),
    ...(health && { health }),
    ...optional('parent_session_id', r.parent_session_id),
  }
}

/** Reads only the keys that are there: a patch says nothing about the others. */
export function readPatch(v: unknown): SummaryPatch {
  const r = rec(v)
  const full = readSummary(r)
  const patch: Rec = {}
  for (const [key, value] of Object.entries(full)) {
    if (key !== 'session_id' && key in r) patch[key] = value
  }
  if (r.reload === true) patch.reload = true
  if ('plan_approved' in r) patch.plan_approved = bool(r.plan_approved)
  if ('allow_patterns' in r) patch.allow_patterns = strings(r.allow_patterns)
  if ('diff_comments' in r) patch.diff_comments = list(r.diff_comments).map(readComment)
  if (r.edits === true) patch.edits = true
  if (isRecord(r.git)) patch.git = readGit(r.git)
  if (isRecord(r.mcp)) patch.mcp = readMCP(r.mcp)
  const context = readContext(r.context)
  if (context) patch.context = context
  if (isRecord(r.engine_mode)) patch.engine_mode = readEngineMode(r.engine_mode)
  return patch as SummaryPatch
}

function readComment(v: unknown): DiffComment {
  const r = rec(v)
  return {
    id: str(r.id),
    path: str(r.path),
    line: num(r.line),
    side: oneOf(r.side, diffSideValues, 'new'),
    text: str(r.text),
    created_at: num(r.created_at),
  }
}

function readEngineMode(v: unknown): EngineMode {
  const r = rec(v)
  return {
    mode: str(r.mode),
    label: str(r.label),
    honoured: bool(r.honoured),
    later: bool(r.later),
  }
}

function readContext(v: unknown): ContextUse | undefined {
  if (!isRecord(v)) return undefined
  return { used: num(v.used), window: num(v.window), estimated: bool(v.estimated) }
}

function readTool(v: unknown): ToolCall {
  const r = rec(v)
  return {
    id: str(r.id),
    name: str(r.name),
    file: str(r.file),
    status: oneOf(r.status, toolStatusValues, 'done'),
    summary: str(r.summary),
    content: str(r.content),
    input: str(r.input),
    ...(typeof r.exit_code === 'number' && { exit_code: r.exit_code }),
    ...(Array.isArray(r.modified_paths) && { modified_paths: strings(r.modified_paths) }),
    ...optional('stdout', r.stdout),
    ...optional('stderr', r.stderr),
    ...(typeof r.lines_added === 'number' && { lines_added: r.lines_added }),
    ...(typeof r.lines_removed === 'number' && { lines_removed: r.lines_removed }),
    ...optionalOf('denied_by', r.denied_by, decidedByValues),
  }
}

function readPart(v: unknown): Part | undefined {
  const r = rec(v)
  switch (r.type) {
    case 'text':
    case 'thinking':
      return { type: r.type, length: num(r.length) }
    case 'tool':
      return { type: 'tool', id: str(r.id) }
    case 'request':
      return { type: 'request' }
    default:
      return undefined
  }
}

function readAttachments(v: unknown): AttachmentInfo[] {
  return list(v).map((a) => {
    const r = rec(a)
    return { media_type: str(r.media_type), size: num(r.size), ...optional('name', r.name) }
  })
}

export function readMessage(v: unknown): Message {
  const r = rec(v)
  return {
    id: str(r.id),
    role: oneOf(r.role, roleValues, 'system'),
    content: str(r.content),
    thinking: str(r.thinking),
    timestamp: num(r.timestamp),
    turn_id: str(r.turn_id),
    error: str(r.error),
    is_streaming: bool(r.is_streaming),
    queued: bool(r.queued),
    tool_calls: list(r.tool_calls).map(readTool),
    parts: list(r.parts).flatMap((p) => readPart(p) ?? []),
    attachments: readAttachments(r.attachments),
    input_tokens: num(r.input_tokens),
    output_tokens: num(r.output_tokens),
    cache_read_tokens: num(r.cache_read_tokens),
    cache_write_tokens: num(r.cache_write_tokens),
    ...optionalOf('outcome', r.outcome, outcomeValues),
    ...optionalOf('level', r.level, levelValues),
  }
}

function readSources(v: unknown): Source[] {
  return list(v).map((s) => {
    const r = rec(s)
    return { origin: str(r.origin), label: str(r.label), ...optional('locator', r.locator) }
  })
}

function readPermission(v: unknown): PendingPermission {
  const r = rec(v)
  return {
    id: str(r.id),
    name: str(r.name),
    arguments: str(r.arguments),
    tier: oneOf(r.tier, tierValues, 'blocking'),
    destructive: bool(r.destructive),
    sources: readSources(r.sources),
    opened_at: num(r.opened_at),
    ...optional('allow_pattern', r.allow_pattern),
    ...(typeof r.batch_size === 'number' && { batch_size: r.batch_size }),
  }
}

function readEdit(v: unknown): PendingEdit {
  const r = rec(v)
  return {
    id: str(r.id),
    path: str(r.path),
    content: str(r.content),
    opened_at: num(r.opened_at),
    ...(typeof r.before === 'string' && { before: r.before }),
  }
}

function readQueue(v: unknown): QueueItem[] {
  return list(v).map((q) => ({ message_id: str(rec(q).message_id), content: str(rec(q).content) }))
}

function readPlan(v: unknown): PlanItem[] {
  return list(v).map((p) => {
    const r = rec(p)
    return {
      content: str(r.content),
      status: oneOf(r.status, planStatusValues, 'pending'),
      ...optional('id', r.id),
      ...optional('activeForm', r.activeForm),
    }
  })
}

/** An absent or unknown mode is the careful one (interface.md, decision 2). */
function readPosture(v: unknown): Posture {
  const r = rec(v)
  return {
    plan_mode: bool(r.plan_mode),
    permission_mode: oneOf(r.permission_mode, permissionModeValues, 'ask_for_risky'),
    approve_writes: bool(r.approve_writes),
  }
}

function readModels(v: unknown): Model[] {
  return list(v).map((m) => {
    const r = rec(m)
    const value = str(r.value)
    const price = rec(r.pricing)
    return {
      value,
      label: str(r.label) || value,
      contextWindow: num(r.contextWindow),
      price: { input: num(price.input), output: num(price.output) },
    }
  })
}

function readCapabilities(v: unknown): Capabilities {
  const r = rec(v)
  return {
    permissionModes: permissionModeValues.filter((m) => strings(r.permissionModes).includes(m)),
    canGateWrites: bool(r.canGateWrites),
    canPlanMode: bool(r.canPlanMode),
    models: readModels(r.models),
    modelsAreAuthoritative: bool(r.modelsAreAuthoritative),
    fileMentions: bool(r.fileMentions),
    slashCommands: bool(r.slashCommands),
    imageAttachments: bool(r.imageAttachments),
    remote: bool(r.remote),
    canRename: bool(r.canRename),
    canFork: bool(r.canFork),
    canCancelTurn: bool(r.canCancelTurn),
  }
}

function readRateLimit(v: unknown): RateLimit | undefined {
  if (!isRecord(v)) return undefined
  return {
    message: str(v.message),
    ...(typeof v.retry_after_seconds === 'number' && { seconds: v.retry_after_seconds }),
  }
}

export function readGit(v: unknown): ProjectGit {
  const r = rec(v)
  return {
    is_git_repo: bool(r.is_git_repo),
    branch: str(r.branch),
    has_upstream: bool(r.has_upstream),
    is_clean: bool(r.is_clean),
    uncommitted_count: num(r.uncommitted_count),
    staged_count: num(r.staged_count),
    ahead_upstream: num(r.ahead_upstream),
    behind_upstream: num(r.behind_upstream),
    warnings: strings(r.warnings),
  }
}

export function readMCP(v: unknown): ProjectMCP {
  const r = rec(v)
  const servers = list(r.servers).map((s): MCPSource => {
    const server = rec(s)
    return { name: str(server.name), transport: str(server.transport), scope: str(server.scope) }
  })
  return {
    servers,
    read_errors: list(r.read_errors).map((e) => {
      const error = rec(e)
      return { scope: str(error.scope), path: str(error.path), message: str(error.message) }
    }),
  }
}

export function readSnapshot(v: unknown): Snapshot {
  const r = rec(v)
  const c = rec(r.conversation)
  const context = readContext(c.context)
  const rateLimited = readRateLimit(c.rate_limited)
  const conversation: Conversation = {
    ...readSummary(c),
    messages: list(c.messages).map(readMessage),
    pending_permissions: list(c.pending_permissions).map(readPermission),
    pending_edits: list(c.pending_edits).map(readEdit),
    queue: readQueue(c.queue),
    plan: readPlan(c.plan),
    posture: readPosture(c),
    allow_patterns: strings(c.allow_patterns),
    diff_comments: list(c.diff_comments).map(readComment),
    turn_id: str(c.turn_id),
    stopping: bool(c.stopping),
    profile: str(c.profile),
    memory_context_enabled: bool(c.memory_context_enabled),
    ...(isRecord(c.git) && { git: readGit(c.git) }),
    ...(isRecord(c.mcp) && { mcp: readMCP(c.mcp) }),
    capabilities: readCapabilities(c.capabilities),
    ...(context && { context }),
    ...(isRecord(c.engine_mode) && { engine_mode: readEngineMode(c.engine_mode) }),
    ...(rateLimited && { rate_limited: rateLimited }),
  }
  return { conversation, seq: num(r.seq) }
}

export function readSummaries(v: unknown): Summary[] {
  return list(v)
    .map(readSummary)
    .filter((s) => s.session_id !== '')
}

/** A file that may be restored says so; a missing word means that it may not. */
function readEditedFile(v: unknown): EditedFile {
  const r = rec(v)
  return {
    path: str(r.path),
    state: oneOf(r.state, editStateValues, 'unknown'),
    hash: str(r.hash),
    lines_added: num(r.lines_added),
    lines_removed: num(r.lines_removed),
    size_before: num(r.size_before),
    size_now: num(r.size_now),
    can_undo: bool(r.can_undo),
    why_not: str(r.why_not),
    edited_outside: bool(r.edited_outside),
    view: oneOf(r.view, reviewViewValues, 'full'),
  }
}

export function readEditedFiles(v: unknown): EditedFile[] {
  return list(v)
    .map(readEditedFile)
    .filter((f) => f.path !== '')
}

export function readEditedText(v: unknown): EditedText {
  const r = rec(v)
  const text = (t: unknown): string | null => (typeof t === 'string' ? t : null)
  return { file: readEditedFile(r.file), before: text(r.before), now: text(r.now) }
}

export function readProviders(v: unknown): ProviderRow[] {
  return list(v).map((p) => {
    const r = rec(p)
    const badge = rec(r.badge)
    return {
      row: str(r.row),
      label: str(r.label) || str(r.row),
      group: str(r.group),
      transport: str(r.transport),
      provider: str(r.provider),
      models: readModels(r.models),
      badge: { status: oneOf(badge.status, badgeStatusValues, 'unknown'), hint: str(badge.hint) },
      capabilities: readCapabilities(r.capabilities),
    }
  })
}

/** Which keys exist and where; the keys themselves are never sent. */
export function readKeys(v: unknown): KeyInfo[] {
  return list(v).map((k) => {
    const r = rec(k)
    return {
      account: str(r.account),
      present: bool(r.present),
      ...optional('source', r.source),
      ...optional('last4', r.last4),
    }
  })
}

/**
 * The settings of the providers, each as the text of its field. The keys of
 * urls are those of set_settings, a named provider's by its path.
 */
export function readProviderSettings(v: unknown): ProviderSettings {
  const r = rec(rec(v).providers)
  const named = rec(r.named_provider_base_urls)
  const urls: Record<string, string> = {}
  for (const key of ['minimax_base_url', 'ollama_base_url', 'custom_compat_base_url']) {
    urls[key] = str(r[key])
  }
  for (const [provider, url] of Object.entries(named)) {
    urls[`named_provider_base_urls.${provider}`] = str(url)
  }
  const cap = num(r.ollama_num_ctx_cap)
  return {
    urls,
    customModels: strings(r.custom_compat_models),
    ollamaContextCap: cap === 0 ? '' : String(cap),
    ollamaKeepAlive: str(r.ollama_keep_alive),
  }
}

export function readSidecar(v: unknown): SidecarStatus {
  const r = rec(v)
  return {
    state: oneOf(
      r.state,
      ['not_started', 'starting', 'ready', 'restarting', 'down', 'incompatible'] as const,
      'not_started',
    ),
    restarts: num(r.restarts),
    last_error: str(r.last_error),
    version: str(r.version),
    protocol: num(r.protocol_version),
    crashes: num(rec(r.lifetime).total_crashes),
  }
}

/** An unknown role is the one that may do less. */
export function readSession(v: unknown): SessionInfo {
  const r = rec(v)
  return {
    role: oneOf(r.role, clientValues, 'monitor'),
    boot_id: str(r.boot_id),
    version: str(r.version),
    project_path: str(r.project_path),
  }
}

export function readEnvelope(v: unknown): Envelope {
  const r = rec(v)
  return {
    seq: num(r.seq),
    time: str(r.time),
    subject: str(r.subject),
    turn: str(r.turn),
    data: r.data,
  }
}

function readTokens(r: Rec): Tokens {
  return {
    input: num(r.input_tokens),
    output: num(r.output_tokens),
    cacheRead: num(r.cache_read_input_tokens),
    cacheWrite: num(r.cache_creation_input_tokens),
  }
}

/**
 * Reads the event of a conversation out of an envelope; undefined for a
 * subject that belongs to none, or that a later service has added.
 */
export function readEvent(e: Envelope): AgentEvent | undefined {
  const at = { turn: e.turn, time: Date.parse(e.time) || 0 }
  const { family, what } = parseSubject(e.subject)
  if (family === 'agent') return readKind(what, e.data, at)
  if (family === 'conversation') return readWhat(what, e.data, at)
  return undefined
}

type At = { turn: string; time: number }

// No default: a kind that is added to the contract has to be thought about.
function readKind(name: string, data: unknown, at: At): AgentEvent | undefined {
  const kind = kinds.find((k) => k === name)
  const r = rec(data)
  switch (kind) {
    case 'chunk':
      return { ...at, kind, text: str(data) }
    case 'thinking':
      return { ...at, kind, text: str(r.text) }
    case 'thinking-stop':
      return { ...at, kind }
    case 'tool-start':
      return { ...at, kind, id: str(r.id), name: str(r.name), input: str(r.input) }
    case 'tool-result':
      return {
        ...at,
        kind,
        id: str(r.id),
        name: str(r.name),
        content: str(r.content),
        isError: bool(r.is_error),
        input: str(r.input),
      }
    case 'tool-output-extended':
      return {
        ...at,
        kind,
        id: str(r.id),
        ...(typeof r.exit_code === 'number' && { exit_code: r.exit_code }),
        ...(Array.isArray(r.modified_paths) && { modified_paths: strings(r.modified_paths) }),
        ...optional('stdout', r.stdout),
        ...optional('stderr', r.stderr),
      }
    case 'permission-request':
      return {
        ...at,
        kind,
        id: str(r.id),
        name: str(r.name),
        arguments: str(r.arguments),
        ...(typeof r.batch_size === 'number' && { batch_size: r.batch_size }),
      }
    case 'pending-edit':
      return {
        ...at,
        kind,
        id: str(r.id),
        path: str(r.path),
        content: str(r.content),
        ...(typeof r.before === 'string' && { before: r.before }),
      }
    case 'edit-baseline':
      return {
        ...at,
        kind,
        id: str(r.id),
        path: str(r.path),
        ...(typeof r.before === 'string' && { before: r.before }),
      }
    case 'plan-block':
      return { ...at, kind, items: readPlan(r.items) }
    case 'turn-summary':
      return { ...at, kind, tokens: readTokens(r), address: str(r.address) }
    case 'mcp-sources':
      return { ...at, kind }
    case 'rate-limited':
      return { ...at, kind, message: '', ...readRateLimit(r) }
    case 'done':
      return { ...at, kind, tokens: readTokens(r), cancelled: bool(r.cancelled) }
    case 'error':
      return { ...at, kind, message: str(r.message) }
    case undefined:
      return undefined
  }
}

function readWhat(name: string, data: unknown, at: At): AgentEvent | undefined {
  const what = whats.find((w) => w === name)
  const r = rec(data)
  const by = oneOf(r.by, decidedByValues, 'user')
  switch (what) {
    case 'created':
    case 'updated':
      return { ...at, kind: what, patch: readPatch(r) }
    case 'deleted':
      return { ...at, kind: what }
    case 'user-turn':
      return {
        ...at,
        kind: what,
        message_id: str(r.message_id),
        content: str(r.content),
        attachments: readAttachments(r.attachments),
        queued: bool(r.queued),
      }
    case 'turn-started':
      return { ...at, kind: what, turn_id: str(r.turn_id) }
    case 'turn-ended':
      return {
        ...at,
        kind: what,
        turn_id: str(r.turn_id),
        outcome: oneOf(r.outcome, outcomeValues, 'done'),
      }
    case 'prompt-opened':
      return {
        ...at,
        kind: what,
        id: str(r.id),
        tier: oneOf(r.tier, tierValues, 'blocking'),
        destructive: bool(r.destructive),
        sources: readSources(r.sources),
        ...optional('allow_pattern', r.allow_pattern),
      }
    case 'prompt-resolved':
      return {
        ...at,
        kind: what,
        id: str(r.id),
        decision: oneOf(r.decision, decisionValues, 'deny'),
        by,
      }
    case 'edit-resolved':
      return {
        ...at,
        kind: what,
        id: str(r.id),
        decision: oneOf(r.decision, editDecisionValues, 'reject'),
        by,
      }
    case 'queue-changed':
      return { ...at, kind: what, items: readQueue(r.items) }
    case 'posture-changed':
      return { ...at, kind: what, posture: readPosture(r) }
    case 'notice':
      return {
        ...at,
        kind: what,
        message_id: str(r.message_id),
        level: oneOf(r.level, levelValues, 'info'),
        text: str(r.text),
      }
    case undefined:
      return undefined
  }
}

/** Reads the JSON text of a tool's input; anything but an object is {}. */
export function readInput(text: string): Rec {
  try {
    return rec(JSON.parse(text))
  } catch {
    return {}
  }
}
