// What the page works with. The wire's own types are in gen.ts, where much is
// optional; guards.ts reads them into these, in which a field is present
// unless its type says otherwise. What has one shape on both sides is named
// from there and not written twice.

import type * as wire from './gen'
import type {
  AttachmentInfo,
  DecidedBy,
  Decision,
  DiffComment,
  EditDecision,
  Level,
  Outcome,
  PlanItem,
  Posture,
  ProjectGit,
  ProjectMCP,
  QueueItem,
  Source,
  Tier,
} from './gen'

/** T without optional fields, except those named. */
type Filled<T, K extends keyof T = never> = Required<Omit<T, K>> & Pick<T, K>

/** One row of the list. */
export type Summary = Filled<wire.Summary, 'parent_session_id' | 'worktree' | 'health'>

export type ContextUse = Filled<wire.ContextUse>

/** What an ACP engine does with the posture, which may be another thing. */
export type EngineMode = Filled<wire.EngineMode>

/** The changed keys of a conversation.updated event. */
export type SummaryPatch = Partial<Omit<Summary, 'session_id'>> & {
  /** Messages were dropped or replaced: the snapshot has to be read again. */
  reload?: boolean
  plan_approved?: boolean
  context?: ContextUse
  engine_mode?: EngineMode
  allow_patterns?: string[]
  diff_comments?: DiffComment[]
  /** A file was restored: the list of edits has to be read again. */
  edits?: boolean
  git?: ProjectGit
  mcp?: ProjectMCP
}

export type ToolCall = Filled<
  wire.ToolCall,
  | 'exit_code'
  | 'modified_paths'
  | 'stdout'
  | 'stderr'
  | 'lines_added'
  | 'lines_removed'
  | 'denied_by'
>

/** One piece of a turn; lengths are UTF-16 code units, taken in order. */
export type Part =
  | { type: 'text'; length: number }
  | { type: 'thinking'; length: number }
  | { type: 'tool'; id: string }
  | { type: 'request' }

/** One entry of a transcript; timestamps in ms. */
export type Message = Filled<
  Omit<wire.Message, 'parts' | 'tool_calls' | 'reasoning_tokens'>,
  'outcome' | 'level'
> & { parts: Part[]; tool_calls: ToolCall[] }

/** A parked permission: its request and what the card needs beyond it. */
export type PendingPermission = Filled<
  Omit<wire.PendingPermission, 'batch_id'>,
  'allow_pattern' | 'batch_size'
>

/** A parked write. `before` is absent when the file does not exist yet. */
export type PendingEdit = Filled<wire.PendingEditPrompt, 'before'>

/** What drives the chrome; an id never does. Source: ui.md 3.1. */
export type Capabilities = Pick<
  wire.Capabilities,
  | 'permissionModes'
  | 'canGateWrites'
  | 'canPlanMode'
  | 'modelsAreAuthoritative'
  | 'fileMentions'
  | 'slashCommands'
  | 'imageAttachments'
  | 'remote'
  | 'canRename'
  | 'canFork'
  | 'canCancelTurn'
> & { models: Model[] }

/** The snapshot that get_conversation answers with. */
export type Conversation = Summary & {
  messages: Message[]
  pending_permissions: PendingPermission[]
  pending_edits: PendingEdit[]
  queue: QueueItem[]
  plan: PlanItem[]
  posture: Posture
  allow_patterns: string[]
  /** Remarks on lines that wait for the next message. */
  diff_comments: DiffComment[]
  turn_id: string
  stopping: boolean
  /** The id of the profile that it was launched with; empty when unknown. */
  profile: string
  memory_context_enabled: boolean
  /** What git says of its folder; absent until it was asked. */
  git?: ProjectGit
  mcp?: ProjectMCP
  rate_limited?: RateLimit
  context?: ContextUse
  /** Absent for other rows, and until the engine has said it. */
  engine_mode?: EngineMode
  capabilities: Capabilities
}

/** One file that a conversation has written, compared with the disk now. */
export type EditedFile = Filled<wire.EditedFile>

/** Both texts of an edited file; null where there is none. */
export interface EditedText {
  file: EditedFile
  before: string | null
  now: string | null
}

/** What is set for the providers; what is absent has its default. */
export interface ProviderSettings {
  urls: Record<string, string>
  customModels: string[]
  /** In tokens. */
  ollamaContextCap: string
  ollamaKeepAlive: string
}

/** The provider refused for now; seconds are absent when it did not say. */
export interface RateLimit {
  seconds?: number
  message: string
}

export interface Snapshot {
  conversation: Conversation
  seq: number
}

/** A badge as drawn: the service's statuses, and the wait for one. */
export type BadgeStatus = wire.BadgeStatus | 'loading'

/**
 * One model of a row. contextWindow is in tokens, 0 where unknown; the price is
 * in USD per million tokens, 0 and 0 where there is none.
 */
export type Model = Filled<Omit<wire.Model, 'pricing'>> & { price: wire.Pricing }

/** One row of the picker. Source: ui.md 3. */
export interface ProviderRow {
  row: string
  label: string
  group: string
  transport: string
  provider: string
  models: Model[]
  badge: { status: BadgeStatus; hint: string }
  capabilities: Capabilities
}

/** What the sidecar's host last said. Source: contract.md 8. */
export interface SidecarStatus {
  state: 'not_started' | 'starting' | 'ready' | 'restarting' | 'down' | 'incompatible'
  restarts: number
  last_error: string
  /** Empty until one has answered. */
  version: string
  /** 0 until one has answered. */
  protocol: number
  /** Over all runs of the service. */
  crashes: number
}

/** Which door this window came through, and which start of the service. */
export type SessionInfo = Omit<wire.Session, 'head'>

/** One event of the log; turn is empty outside a turn. */
export type Envelope = Filled<wire.Envelope>

/** How a plan may go on. Source: contract.md 6.1. */
export type PlanChoice = 'execute' | 'accept_edits' | 'review_each' | 'keep_planning'

/**
 * One thing that happened to a conversation, read out of an envelope: the
 * fifteen kinds and the members of conversation.*, told apart by `kind`.
 */
export type AgentEvent = { turn: string; time: number } & (
  | { kind: 'chunk'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'thinking-stop' }
  | { kind: 'tool-start'; id: string; name: string; input: string }
  | {
      kind: 'tool-result'
      id: string
      name: string
      content: string
      isError: boolean
      input: string
    }
  | {
      kind: 'tool-output-extended'
      id: string
      exit_code?: number
      modified_paths?: string[]
      stdout?: string
      stderr?: string
    }
  | { kind: 'permission-request'; id: string; name: string; arguments: string; batch_size?: number }
  | { kind: 'pending-edit'; id: string; path: string; content: string; before?: string }
  | { kind: 'edit-baseline'; id: string; path: string; before?: string }
  | { kind: 'plan-block'; items: PlanItem[] }
  | { kind: 'turn-summary'; tokens: Tokens; address: string }
  | { kind: 'mcp-sources' }
  | { kind: 'rate-limited'; seconds?: number; message: string }
  | { kind: 'done'; tokens: Tokens; cancelled: boolean }
  | { kind: 'error'; message: string }
  | { kind: 'created' | 'updated'; patch: SummaryPatch }
  | { kind: 'deleted' }
  | {
      kind: 'user-turn'
      message_id: string
      content: string
      attachments: AttachmentInfo[]
      queued: boolean
    }
  | { kind: 'turn-started'; turn_id: string }
  | { kind: 'turn-ended'; turn_id: string; outcome: Outcome }
  | {
      kind: 'prompt-opened'
      id: string
      tier: Tier
      destructive: boolean
      allow_pattern?: string
      sources: Source[]
    }
  | { kind: 'prompt-resolved'; id: string; decision: Decision; by: DecidedBy }
  | { kind: 'edit-resolved'; id: string; decision: EditDecision; by: DecidedBy }
  | { kind: 'queue-changed'; items: QueueItem[] }
  | { kind: 'posture-changed'; posture: Posture }
  | { kind: 'notice'; message_id: string; level: Level; text: string }
)

export interface Tokens {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}
