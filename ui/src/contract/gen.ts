// Generated from package contract by contract/gen. Do not edit: run make gen.

// command.go

/** Method is the name of a command, the same on every door. */
export type Method = (typeof methods)[number]

/** Methods lists every method of every door. */
export const methods = [
  'subscribe',
  'unsubscribe',
  'get_session',
  'list_conversations',
  'get_conversation',
  'list_providers',
  'get_provider_auth_status',
  'get_sidecar_status',
  'acp_session_usage',
  'get_tree',
  'list_terminals',
  'start_api_agent_session',
  'send_api_agent_message',
  'cancel_api_agent_session',
  'change_model',
  'set_plan_mode',
  'set_permission_mode',
  'set_approve_writes',
  'respond_permission',
  'respond_edit',
  'cancel_pending_tools',
  'retry_last_turn',
  'close_api_agent_session',
  'approve_plan',
  'remove_queued_message',
  'delete_conversation',
  'rename_conversation',
  'archive_conversation',
  'pin_conversation',
  'get_settings',
  'set_settings',
  'set_key',
  'delete_key',
  'list_keys',
  'list_audit',
  'one_shot',
  'trust_project',
  'reset_actor',
  'stop_actor',
  'start_actor',
  'open_terminal',
  'resize_terminal',
  'close_terminal',
  'find_files',
  'list_commands',
  'get_project',
  'get_worktree',
  'merge_worktree',
  'create_worktree_pr',
  'discard_worktree',
  'confirm_delete',
  'list_profiles',
  'save_profile',
  'clone_profile',
  'delete_profile',
  'set_default_profile',
  'get_prompt_layers',
  'fork_conversation',
  'restore_conversation',
  'export_conversation',
  'search_conversations',
  'list_edits',
  'get_edit',
  'undo_edit',
  'set_diff_comments',
  'remove_allow_pattern',
  'test_key',
  'get_project_diff',
  'list_engine_sessions',
  'acp_mcp_plan',
  'probe_engine',
  'pin_engine',
  'restart_terminal',
  'list_terminal_presets',
  'get_log',
] as const

/**
 * MonitorMethods are the ten that a monitor may call, and get_session, which
 * tells a page its own role. Source: interface.md 3.
 */
export const monitorMethods: readonly Method[] = [
  'subscribe',
  'unsubscribe',
  'list_conversations',
  'get_conversation',
  'list_providers',
  'get_provider_auth_status',
  'get_sidecar_status',
  'acp_session_usage',
  'get_tree',
  'list_terminals',
  'get_session',
]

/** Every value of Client. */
export const clientValues = [
  'owner',
  'monitor',
] as const

/** Client is who calls: the role of a token or of a NATS user. */
export type Client = (typeof clientValues)[number]

/** Request is one JSON-RPC 2.0 request. A missing ID makes it a notification. */
export interface Request {
  jsonrpc: string
  id?: unknown
  method: Method
  params?: unknown
}

/** Response answers a Request. */
export interface Response {
  jsonrpc: string
  id: unknown
  result?: unknown
  error?: Failure
}

/** SessionParams names one conversation. */
export interface SessionParams {
  session_id: ConversationID
}

/** ResumeMessage is one line of history given to a start. */
export interface ResumeMessage {
  role: Role
  content: string
}

/** StartParams starts a conversation or resumes an idle one. */
export interface StartParams {
  session_id: ConversationID
  provider: ProviderID
  row?: RowID
  model: string
  project_path: string
  initial_message: string
  system_prompt_override?: string
  thinking_enabled?: boolean
  attachments?: Attachment[]
  plan_mode?: boolean
  ssh_config?: unknown
  allowed_tools?: string[]
  allow_patterns?: string[]
  resume_token?: string
  enabled_mcp_server_ids?: string[]
  mcp_trust_snapshot?: unknown
  resume_messages?: ResumeMessage[]
  permission_mode?: PermissionMode
  approve_writes?: boolean
  worktree?: boolean
  workspace?: string
  engine_session_id?: string
  title?: string
  /**
   * Profile is the id of a profile; absent means the built-in default. What
   * the caller says itself beats it, but for a pinned model.
   */
  profile?: string
}

/** StartResult answers a start. */
export interface StartResult {
  session_id: ConversationID
  turn_id?: TurnID
}

/** SendParams sends a user message. */
export interface SendParams {
  session_id: ConversationID
  message: string
  attachments?: Attachment[]
}

/** SendResult answers a send. */
export interface SendResult {
  message_id: string
  queued: boolean
  turn_id?: TurnID
}

/** ChangeModelParams sets the model of the next turn. */
export interface ChangeModelParams {
  session_id: ConversationID
  new_model: string
}

/** SetEnabledParams is for set_plan_mode and set_approve_writes. */
export interface SetEnabledParams {
  session_id: ConversationID
  enabled: boolean
}

/** SetModeParams sets the permission mode. */
export interface SetModeParams {
  session_id: ConversationID
  mode: PermissionMode
}

/**
 * RespondPermissionParams answers a parked permission. AllowPattern goes
 * with allow_once and must be the derived one.
 */
export interface RespondPermissionParams {
  session_id: ConversationID
  tool_id: string
  decision: Decision
  reason?: string
  allow_pattern?: string
}

/** RespondEditParams answers a parked edit. */
export interface RespondEditParams {
  session_id: ConversationID
  tool_id: string
  decision: EditDecision
  merged_content?: string
}

/** RetryParams runs the last turn again. */
export interface RetryParams {
  session_id: ConversationID
  new_model?: string
}

/**
 * ApprovePlanParams chooses execute, accept_edits, review_each or
 * keep_planning.
 */
export interface ApprovePlanParams {
  session_id: ConversationID
  choice: string
}

/** QueueRemoveParams takes one message out of the queue. */
export interface QueueRemoveParams {
  session_id: ConversationID
  message_id: string
}

/** RenameParams names a conversation. */
export interface RenameParams {
  session_id: ConversationID
  title: string
}

/** ArchiveParams archives a conversation or brings it back. */
export interface ArchiveParams {
  session_id: ConversationID
  archived: boolean
}

/** PinParams pins a conversation to the top of its group. */
export interface PinParams {
  session_id: ConversationID
  pinned: boolean
}

/**
 * SubscribeParams subscribes to patterns. Since is "new", "all" or a
 * sequence number.
 */
export interface SubscribeParams {
  subjects: string[]
  since?: unknown
}

/** SubscribeResult answers a subscribe. Head is the log's last sequence. */
export interface SubscribeResult {
  subscription: string
  head: number
}

/** UnsubscribeParams ends a subscription. */
export interface UnsubscribeParams {
  subscription: string
}

/** EventsParams is the body of the event notification. */
export interface EventsParams {
  subscription: string
  events: Envelope[]
}

/**
 * GapParams is the body of the gap notification: the log no longer holds
 * the sequences From to To.
 */
export interface GapParams {
  subscription: string
  from: number
  to: number
}

/** ProviderParams names a badge probe. */
export interface ProviderParams {
  provider: AuthProbe
}

/** ActorParams names a registered actor of the tree. */
export interface ActorParams {
  name: string
}

/** ActorResult answers an operator's action. */
export interface ActorResult {
  state: string
}

/** Session answers get_session: who the caller is to this service. */
export interface Session {
  role: Client
  boot_id: string
  version: string
  /** ProjectPath is the folder the service was started in. */
  project_path: string
  head: number
}

/** KeyParams stores or deletes a credential. Value is never returned. */
export interface KeyParams {
  account: KeyringAccount
  value?: string
}

/**
 * KeyInfo says that a credential exists, where, and its last four
 * characters; never more.
 */
export interface KeyInfo {
  account: KeyringAccount
  present: boolean
  source?: string
  last4?: string
}

/**
 * OneShotParams runs one auxiliary request (runtime.md 4): chunk, done
 * and error on SessionID, no tools, no conversation file.
 */
export interface OneShotParams {
  session_id: ConversationID
  task: string
  system?: string
  prompt: string
  provider?: ProviderID
  model?: string
}

/** TrustProjectParams answers the one question a new project raises. */
export interface TrustProjectParams {
  project_path: string
  trusted: boolean
}

/** AuditEntry is one line of the decision audit (tools-permissions.md 9). */
export interface AuditEntry {
  id: string
  timestamp: number
  conversationId: string
  toolId: string
  action: string
  target?: string
  decision: string
  effectivePolicy: string
  sourceChain: Source[]
}

// conversation.go

/** Every value of Status. */
export const statusValues = [
  'active',
  'idle',
  'done',
  'failed',
] as const

/** Status is where a conversation stands. */
export type Status = (typeof statusValues)[number]

/** Every value of PermissionMode. */
export const permissionModeValues = [
  'auto',
  'ask_for_risky',
  'allow_all',
  'deny_all',
] as const

/** PermissionMode is one half of the posture. */
export type PermissionMode = (typeof permissionModeValues)[number]

/** Every value of Tier. */
export const tierValues = [
  'read',
  'edit_in_project',
  'blocking',
] as const

/** Tier is how far a call can reach. */
export type Tier = (typeof tierValues)[number]

/** Every value of Outcome. */
export const outcomeValues = [
  'done',
  'cancelled',
  'error',
  'interrupted',
] as const

/** Outcome is how a turn ended. */
export type Outcome = (typeof outcomeValues)[number]

/** Every value of Decision. */
export const decisionValues = [
  'allow_once',
  'allow_always',
  'deny',
] as const

/** Decision answers a permission prompt. */
export type Decision = (typeof decisionValues)[number]

/** Every value of EditDecision. */
export const editDecisionValues = [
  'apply',
  'reject',
] as const

/** EditDecision answers an edit prompt. */
export type EditDecision = (typeof editDecisionValues)[number]

/** Every value of DecidedBy. */
export const decidedByValues = [
  'user',
  'policy',
  'timeout',
  'cancel',
  'restart',
] as const

/** DecidedBy says who answered a prompt. */
export type DecidedBy = (typeof decidedByValues)[number]

/** Every value of Level. */
export const levelValues = [
  'info',
  'warning',
  'error',
] as const

/** Level grades a notice. */
export type Level = (typeof levelValues)[number]

/** Worktree is where a conversation's edits land when not in the project. */
export interface Worktree {
  base_path: string
  worktree_path: string
  branch: string
  base_branch?: string
  created_at: string
  state: string
  /** PRNumber and PRURL are those of the draft pull request, if one was opened. */
  pr_number?: number
  pr_url?: string
}

/** Summary is what a list shows of a conversation. Times are RFC 3339. */
export interface Summary {
  session_id: ConversationID
  title: string
  row: RowID
  provider: ProviderID
  model: string
  project_path: string
  status: Status
  archived: boolean
  pinned: boolean
  created_at: string
  updated_at: string
  needs_you: number
  queued: number
  parent_session_id?: ConversationID
  worktree?: Worktree
  /** RetiredNotice is set for a row that is no longer offered. */
  retired_notice?: string
  /** Health is there after something happened to it that a person should know. */
  health?: Health
}

/** Attachment is an image of a user message, at most MaxImageBytes decoded. */
export interface Attachment {
  media_type: string
  data_base64: string
  name?: string
}

/**
 * AttachmentInfo is what events say of an attachment: never its data. Size is
 * in bytes.
 */
export interface AttachmentInfo {
  media_type: string
  size: number
  name?: string
}

/**
 * MaxImageBytes is the decoded size of the largest image. Source: contract.md
 * 6.1.
 */
export const MaxImageBytes = 5242880

/** Every value of Role. */
export const roleValues = [
  'user',
  'assistant',
  'system',
] as const

/** Role says whose message it is. */
export type Role = (typeof roleValues)[number]

/** Every value of PartType. */
export const partTypeValues = [
  'text',
  'thinking',
  'tool',
  'request',
] as const

/** PartType is one kind of part of an assistant message. */
export type PartType = (typeof partTypeValues)[number]

/**
 * Part gives the order inside an assistant message, of which there is one per
 * turn. A text or thinking part is the next Length UTF-16 code units of
 * content or thinking (what a browser's string counts); a tool part names a
 * call; a request part stands where the turn asked the model again.
 */
export interface Part {
  type: PartType
  length?: number
  id?: string
}

/** Every value of ToolStatus. */
export const toolStatusValues = [
  'running',
  'done',
  'error',
] as const

/** ToolStatus is where a tool call stands. */
export type ToolStatus = (typeof toolStatusValues)[number]

/** ToolCall is one call of a message as a window shows it. */
export interface ToolCall {
  id: string
  name: string
  status: ToolStatus
  file?: string
  summary?: string
  content?: string
  input?: string
  exit_code?: number
  modified_paths?: string[]
  stdout?: string
  stderr?: string
  /**
   * LinesAdded and LinesRemoved count the lines that an edit changed in the
   * file as it was written; a changed line is one of each. Absent when no edit
   * was written, and when the file was no text before.
   */
  lines_added?: number
  lines_removed?: number
  /** DeniedBy is set when a prompt for this call was not allowed. */
  denied_by?: DecidedBy
}

/**
 * Message is one entry of a transcript as a window shows it. ID is "m-<n>" for
 * a user's or a system message and the turn's id for an assistant's, so that a
 * window that only saw turn-started knows it. A queued follow-up is announced
 * by user-turn with queued true and again, with the same id and queued false,
 * when its turn comes. Timestamp is in ms since 1970.
 */
export interface Message {
  id: string
  role: Role
  content: string
  timestamp: number
  turn_id?: TurnID
  outcome?: Outcome
  is_streaming?: boolean
  queued?: boolean
  level?: Level
  thinking?: string
  parts?: Part[]
  tool_calls?: ToolCall[]
  attachments?: AttachmentInfo[]
  input_tokens?: number
  output_tokens?: number
  cache_read_tokens?: number
  cache_write_tokens?: number
  reasoning_tokens?: number
  /** Error is the text of the turn's error, also appended to Content. */
  error?: string
}

/** Source is one piece of evidence that a prompt warns about. */
export interface Source {
  origin: string
  label: string
  locator?: string
}

/** PendingPermission is a parked permission prompt with what its card needs. */
export interface PendingPermission {
  id: string
  name: string
  arguments: string
  tier: Tier
  destructive: boolean
  allow_pattern?: string
  sources?: Source[]
  batch_id?: string
  batch_size?: number
  opened_at: number
}

/** PendingEditPrompt is a parked edit. */
export interface PendingEditPrompt {
  id: string
  path: string
  content: string
  before?: string
  opened_at: number
}

/** QueueItem is a follow-up that waits for the turn's end. */
export interface QueueItem {
  message_id: string
  content: string
}

/** Posture is what a conversation lets the model do. */
export interface Posture {
  plan_mode: boolean
  permission_mode: PermissionMode
  approve_writes: boolean
}

/**
 * ContextUse is how full the model's window was at the latest model request,
 * in tokens. Estimated says that the provider sent no usage and the figure is
 * characters divided by four.
 */
export interface ContextUse {
  used: number
  window: number
  estimated?: boolean
}

/** Conversation is the whole of one conversation as a window shows it. */
export interface Conversation extends Summary, Posture {
  allowed_tools: string[]
  allow_patterns: string[]
  thinking_enabled: boolean
  turn_id?: TurnID
  stopping?: boolean
  rate_limited?: RateLimited
  messages: Message[]
  pending_permissions: PendingPermission[]
  pending_edits: PendingEditPrompt[]
  queue: QueueItem[]
  plan: PlanItem[]
  plan_approved: boolean
  /** PlanReady says that the last answer is a plan that may be approved. */
  plan_ready: boolean
  context?: ContextUse
  capabilities: Capabilities
  /**
   * EngineMode is what an engine will do with the posture, absent for other
   * rows and until the engine has said it.
   */
  engine_mode?: EngineMode
  /** Profile is the id of the profile that it was launched with. */
  profile?: string
  memory_context_enabled: boolean
  diff_comments: DiffComment[]
  /** Git and MCP are absent until they were looked at for the first time. */
  git?: ProjectGit
  mcp?: ProjectMCP
}

/**
 * EngineMode is what an ACP engine will do with the posture of a conversation,
 * which may be something else than was asked for. Source: acp.md 5.1.
 */
export interface EngineMode {
  /**
   * Mode is the engine's own id, empty when it is not known; Label is for
   * people and is what the chip shows.
   */
  mode?: string
  label: string
  /**
   * Honoured says that it is what the posture asks for, Later that it could
   * be, from the engine's next session on.
   */
  honoured: boolean
  later?: boolean
}

/**
 * Snapshot answers get_conversation. Seq is the head of the log at that
 * moment, so that subscribing since Seq+1 continues without loss or repeat.
 */
export interface Snapshot {
  conversation: Conversation
  seq: number
}

/** UserTurn says that a user message was accepted. */
export interface UserTurn {
  message_id: string
  content: string
  attachments: AttachmentInfo[]
  queued: boolean
}

/** TurnStarted comes before the first event of a turn. */
export interface TurnStarted {
  turn_id: TurnID
}

/** TurnEnded comes after the turn's done or error. */
export interface TurnEnded {
  turn_id: TurnID
  outcome: Outcome
}

/** PromptOpened comes just before its permission-request. */
export interface PromptOpened {
  id: string
  tier: Tier
  destructive: boolean
  allow_pattern?: string
  sources?: Source[]
}

/** PromptResolved says that a parked permission left the queue. */
export interface PromptResolved {
  id: string
  decision: Decision
  by: DecidedBy
}

/** EditResolved says that a parked edit left the queue. */
export interface EditResolved {
  id: string
  decision: EditDecision
  by: DecidedBy
}

/** QueueChanged carries the whole queue. */
export interface QueueChanged {
  items: QueueItem[]
}

/** Notice says that a system line joined the transcript. */
export interface Notice {
  message_id: string
  level: Level
  text: string
}

/**
 * SidecarStatus is the payload of sidecar-status.changed and the result of
 * get_sidecar_status. Absent values are null, the one exception to the rule.
 */
export interface SidecarStatus {
  state: string
  restarts: number
  last_error: string | null
  protocol_version: number | null
  pid: number | null
  version: string | null
  lifetime: SidecarLifetime
}

/** SidecarLifetime counts over all runs of the service. */
export interface SidecarLifetime {
  total_starts: number
  total_crashes: number
  total_uptime_secs: number
  last_crash_time: string | null
  last_version: string | null
  last_error: string | null
}

/** ProviderAuth is the payload of provider-auth.changed. */
export interface ProviderAuth {
  provider: AuthProbe
  accountId?: string
  status?: Badge
}

/**
 * Envelope carries one event to a window: the event notification, the SSE
 * data line and --json output.
 */
export interface Envelope {
  seq: number
  time: string
  subject: string
  turn?: TurnID
  data: unknown
}

/**
 * PatchReload is the key of an `updated` patch, true, that tells a window to
 * take the snapshot again: messages have been dropped or replaced (a retry, or
 * an actor that was restarted from its file).
 */
export const PatchReload = 'reload'

/** PatchContext is the key of an `updated` patch that carries a ContextUse. */
export const PatchContext = 'context'

/** PatchEngineMode is the key of an `updated` patch that carries an EngineMode. */
export const PatchEngineMode = 'engine_mode'

export const PatchGit = 'git'

export const PatchMCP = 'mcp'

export const PatchComments = 'diff_comments'

/**
 * PatchHealth is the key of an `updated` patch that carries a Health; HealthOK
 * takes the mark away.
 */
export const PatchHealth = 'health'

/**
 * PatchEdits is the key of an `updated` patch, true, that tells a window that a
 * file was restored: what list_edits answers has changed without a turn.
 */
export const PatchEdits = 'edits'

/** HeaderTurn is the bus header that carries the turn id. */
export const HeaderTurn = 'Pb-Turn'

// engine.go

export const SettingEnginePath = 'acp_engine_path'

export const SettingEngines = 'engines'

/** EngineParams names an engine by its provider id. */
export interface EngineParams {
  provider: ProviderID
}

/**
 * EngineSession is one session that an engine holds. Absent facts are
 * empty: an engine that only lists sessions knows neither provider nor
 * counts.
 */
export interface EngineSession {
  session_id: string
  name: string
  /** UpdatedAt is RFC 3339 as the engine wrote it. */
  updated_at?: string
  provider?: string
  model?: string
  dir?: string
  message_count?: number
  cost_usd?: number
}

/**
 * EngineSessions answers list_engine_sessions. CanOpen says that the engine
 * takes one of them up again; a conversation does so when it is started with
 * the id as engine_session_id.
 */
export interface EngineSessions {
  sessions: EngineSession[]
  can_open: boolean
}

/**
 * PinEngineParams names the program of the default engine; an empty path
 * takes the name back.
 */
export interface PinEngineParams {
  path: string
}

/**
 * EngineProbe is what is known of the default engine without starting it as
 * one. InstallSupported is false: installing is the person's own command.
 */
export interface EngineProbe {
  found: boolean
  path?: string
  version?: string
  status?: string
  minimumVersion: string
  compatible: boolean
  installSupported: boolean
  detail?: string
}

/**
 * MCPPlanParams asks which MCP servers an engine would get. Without a
 * snapshot or without ids there are none: "not told" never means "all".
 */
export interface MCPPlanParams {
  /** Provider is the engine; absent means the default one. */
  provider?: ProviderID
  project_path: string
  enabled_mcp_server_ids?: string[]
  mcp_trust_snapshot?: unknown
  inherit_engine_defaults?: boolean
}

/**
 * MCPPlanServer is one configured server: whether the engine would get it,
 * why, and which of its rules cannot cross. Command and Args are as
 * configured, without the environment, which may hold secrets.
 */
export interface MCPPlanServer {
  name: string
  scope: string
  transport: string
  command: string
  args: string[]
  included: boolean
  reason: string
  unenforced: string[]
}

/**
 * MCPPlan answers acp_mcp_plan; nothing is started for it. Posture is none,
 * explicit or inheritEngineDefaults.
 */
export interface MCPPlan {
  posture: string
  servers: MCPPlanServer[]
  selected: string[]
  inheritRefused: boolean
}

// errors.go

export const CodeParse = -32700

export const CodeInvalid = -32600

export const CodeNoMethod = -32601

export const CodeBadParams = -32602

export const CodeInternal = -32603

export const CodeUnauthorized = -32001

export const CodeForbidden = -32003

export const CodeNotFound = -32004

export const CodeConflict = -32009

export const CodeAnswered = -32010

export const CodeOverLimit = -32029

/**
 * Failure is the error object of every door: JSON-RPC's shape. It is a value
 * in replies, never a handler's reason.
 */
export interface Failure {
  code: number
  message: string
  data?: unknown
}

export const TextMonitor = 'This read-only Monitor cannot invoke that application command.'

export const TextAnswered = 'This prompt was already answered.'

export const TextNoSession = 'No active session: '

export const TextSessionExists = 'Session already exists: '

export const TextNoAssistantTurn = 'No assistant turn to retry'

export const TextQueueImages = 'Images cannot be queued; send them when the turn has ended.'

export const TextCancelledByUser = 'Cancelled by the user'

export const TextInterrupted = 'Interrupted: the service stopped'

export const TextUserCancelled = 'User cancelled this tool'

export const TextDenied = 'User denied permission for this tool call.'

export const TextDeniedGuidance = ' User\'s guidance: '

export const TextPermTimeout = 'Permission request timed out.'

export const TextEditTimeout = 'Edit approval timed out.'

export const TextEditRejected = 'User rejected this edit.'

export const TextDenyAll = 'Permissions: all risky tools are denied.'

export const TextStall = 'The provider sent nothing for 120 s; send again to retry.'

export const TextIncompleteStream = 'Provider stream ended before its completion and usage marker; this request is incomplete'

export const TextSidecarRestarted = 'Sidecar restarted \u2014 please resend your message to continue this conversation.'

export const TextSidecarGivenUp = 'Sidecar crashed and could not restart'

export const TextSidecarNoWriter = 'sidecar writer not initialized'

export const TextSidecarRefusing = 'The agent sidecar is not running, so PacketBench cannot verify it enforces per-session MCP trust rules. Refusing to start this session.'

export const TextLastingOnly = 'This engine offers only a lasting permission; choose it or deny.'

export const TextEngineClosed = 'engine closed the connection'

export const TextInvalidArguments = 'Error: invalid arguments'

export const TextNoOutput = '(no output)'

export const TextConversationLost = 'This conversation was restarted after a fault inside PacketBench; the answer in progress was lost. Send your message again.'

// event.go

/**
 * Chunk is a text delta. Its payload is the bare JSON string, valid UTF-8; a
 * delta never ends inside a character.
 */
export type Chunk = string

/** Thinking is a reasoning delta. */
export interface Thinking {
  text: string
}

/** ThinkingStop ends a run of reasoning deltas. Its payload is null. */
export type ThinkingStop = null

/**
 * ToolStart announces a tool call. Input is JSON text and absent when the
 * transport does not know the arguments yet.
 */
export interface ToolStart {
  id: string
  name: string
  input?: string
}

/** ToolResult settles a tool call. Input is JSON text and may be empty. */
export interface ToolResult {
  id: string
  name: string
  content: string
  is_error: boolean
  input: string
}

/** PermissionRequest asks somebody to allow a call. Arguments is JSON text. */
export interface PermissionRequest {
  id: string
  name: string
  arguments: string
  batch_id?: string
  batch_size?: number
}

/**
 * PendingEdit is a file write that waits for an answer. Content is the whole
 * proposed file; Before is absent when the file did not exist.
 */
export interface PendingEdit {
  id: string
  path: string
  content: string
  before?: string
}

/** EditBaseline records a file's text just before an ungated write. */
export interface EditBaseline {
  id: string
  path: string
  before?: string
}

/** Every value of PlanStatus. */
export const planStatusValues = [
  'pending',
  'in_progress',
  'completed',
] as const

/** PlanStatus is where one plan item stands. */
export type PlanStatus = (typeof planStatusValues)[number]

/**
 * PlanItem is one line of a plan. ActiveForm keeps its camelCase key: one of
 * the two exceptions to snake_case (contract.md 2).
 */
export interface PlanItem {
  id?: string
  content: string
  status: PlanStatus
  activeForm?: string
}

/** PlanBlock replaces the plan. An empty list clears it. */
export interface PlanBlock {
  items: PlanItem[]
}

/** ToolOutputExtended adds what a tool-result has no room for. */
export interface ToolOutputExtended {
  id: string
  exit_code?: number
  modified_paths?: string[]
  stdout?: string
  stderr?: string
}

/**
 * TurnSummary gives the token counts of one turn; with Address, of one
 * sub-agent. It overwrites, never adds (contract.md O10).
 */
export interface TurnSummary {
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens: number
  cache_creation_input_tokens: number
  reasoning_tokens?: number
  address?: string
}

/** MCPSource is one MCP server a session was started with. */
export interface MCPSource {
  name: string
  transport: string
  scope: string
}

/** MCPReadError is one MCP configuration file that could not be read. */
export interface MCPReadError {
  scope: string
  path: string
  message: string
}

/**
 * MCPSources lists the servers of a session; it repeats on every start.
 * ReadErrors keeps its camelCase key: the other exception to snake_case.
 */
export interface MCPSources {
  sources: MCPSource[]
  readErrors: MCPReadError[]
}

/**
 * RateLimited says that the provider refused for now and the turn waits.
 * RetryAfterSeconds is not negative and may have a fraction. It never ends a
 * turn.
 */
export interface RateLimited {
  retry_after_seconds?: number
  message?: string
}

/**
 * Done ends a turn. The four counts are sums over the turn's completed model
 * requests, 0 where unknown.
 */
export interface Done {
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens: number
  cache_creation_input_tokens: number
  cancelled: boolean
  resume_token?: string
}

/** Error ends a turn that failed. Message is a sentence for a person. */
export interface Error {
  message: string
}

// ids.go

/** ConversationID is the id used everywhere for one conversation. */
export type ConversationID = string

/** TerminalID is the id of one PTY. */
export type TerminalID = string

/** TurnID is "t-<n>", n rising from 1 per conversation. */
export type TurnID = string

/** RowID is the persisted id of an entry in the provider picker. */
export type RowID = string

/** CatalogueID is the picker's provider id in the model catalogue. */
export type CatalogueID = string

/** ProviderID is what a transport is asked for. */
export type ProviderID = string

/** AuthProbe is what a badge is asked for. */
export type AuthProbe = string

/** KeyringAccount is where a secret is kept. */
export type KeyringAccount = string

/** LedgerSource is the id of a line in the usage ledger. */
export type LedgerSource = string

/** Every value of Transport. */
export const transportValues = [
  'in-process',
  'sidecar',
  'acp',
] as const

/** Transport is one of the three ways a turn is served. */
export type Transport = (typeof transportValues)[number]

/** Every value of Group. */
export const groupValues = [
  'Anthropic',
  'OpenAI',
  'Other',
] as const

/** Group is a heading of the picker. */
export type Group = (typeof groupValues)[number]

export const RowDemo: RowID = 'api-demo'

export const RowRetiredCodex: RowID = 'api-openai-codex'

export const ProviderAnthropic: ProviderID = 'anthropic'

export const ProviderOpenAI: ProviderID = 'openai'

export const ProviderMiniMax: ProviderID = 'minimax'

export const ProviderMiniMaxAPI: ProviderID = 'minimax-api'

export const ProviderOpenRouter: ProviderID = 'openrouter'

export const ProviderOllama: ProviderID = 'ollama'

export const ProviderCustom: ProviderID = 'custom'

export const ProviderDemo: ProviderID = 'demo'

export const ProviderClaudeOAuth: ProviderID = 'claude-oauth'

export const ProviderAgents: ProviderID = 'openai-agents'

export const ProviderEcho: ProviderID = 'echo'

export const ProviderPacketcode: ProviderID = 'packetcode-acp'

export const LedgerAux: LedgerSource = 'aux'

/**
 * AutoPick is the order in which a launcher takes the first ready row. None
 * ready means RowDemo.
 */
export const autoPick: readonly RowID[] = [
  'api-claude-oauth',
  'api-claude',
  'api-openai',
  'api-openai-agents',
  'api-openrouter',
  'api-ollama',
  'api-minimax',
]

/** RetiredLabel is the display name of a retired row. */
export const RetiredLabel = 'OpenAI Codex (retired)'

// kind.go

/**
 * Kind names one of the fifteen things a transport can say about a turn.
 * Kinds are kebab-case and part of a subject. Source: contract.md 2.
 */
export type Kind = (typeof kinds)[number]

/** Kinds lists all fifteen, in the order of contract.md 2. */
export const kinds = [
  'chunk',
  'thinking',
  'thinking-stop',
  'tool-start',
  'tool-result',
  'permission-request',
  'pending-edit',
  'edit-baseline',
  'plan-block',
  'tool-output-extended',
  'turn-summary',
  'mcp-sources',
  'rate-limited',
  'done',
  'error',
] as const

/**
 * CoreKinds are the nine that a new transport owes; the others are optional
 * for it. Source: contract.md 2.
 */
export const coreKinds: readonly Kind[] = [
  'chunk',
  'thinking',
  'thinking-stop',
  'tool-start',
  'tool-result',
  'permission-request',
  'plan-block',
  'done',
  'error',
]

// ops.go

/**
 * TreeRates are short histories of one node, oldest first, one value for each
 * SampleEvery seconds: messages a second that came and went, and the mailbox.
 * They are there while somebody looks at the tree, and for nodes that have done
 * anything meanwhile.
 */
export interface TreeRates {
  sample_every: number
  in: number[]
  out: number[]
  mailbox: number[]
}

/** Every value of AlarmKind. */
export const alarmKindValues = [
  'mailbox',
  'waiting',
  'zombie',
  'limit',
] as const

/** AlarmKind is what is wrong with an actor. */
export type AlarmKind = (typeof alarmKindValues)[number]

/**
 * Alarm is one thing that somebody should look at. It is the payload of
 * ops.alarm too, with Over set when it has ended.
 */
export interface Alarm {
  actor: string
  kind: AlarmKind
  text: string
  since: string
  over?: boolean
}

/**
 * SubjectCount is how many events of one kind were published since the start of
 * the service, such as "api-agent.chunk".
 */
export interface SubjectCount {
  subject: string
  count: number
}

/** LogFacts is the event log as it stands. */
export interface LogFacts {
  up: boolean
  /** First and Last are sequence numbers, Bytes the size on disk. */
  first: number
  last: number
  bytes: number
  max_bytes: number
  in_flight: number
  waiting: number
  subjects: SubjectCount[]
}

/**
 * WindowFacts is one connected window or event stream. Lag is how many events
 * it is behind the log.
 */
export interface WindowFacts {
  viewer: string
  role: Client
  kind: string
  remote: string
  subscriptions: number
  lag: number
  connected_s: number
}

/** HouseFacts is what stands beside the tree. */
export interface HouseFacts {
  log: LogFacts
  windows: WindowFacts[]
  alarms: Alarm[]
  /** Awake conversations run, Stored are all that are listed. */
  awake: number
  stored: number
  actors: number
  sidecar: SidecarStatus
  /**
   * MemoryBytes is the resident memory of the service, ChildBytes that of the
   * programs that it runs; 0 where the system does not tell.
   */
  memory_bytes: number
  child_bytes: number
  goroutines: number
}

/**
 * LogLinesParams asks for lines of the service's text log: the newest, or those
 * behind After.
 */
export interface LogLinesParams {
  /** After is the number of the last line that is known; 0 asks for the newest. */
  after?: number
  /** Limit is at most 1,000; 0 means 200. */
  limit?: number
  /** Level is the least level: debug, info, warn or error; empty means all. */
  level?: string
  /**
   * Actor keeps the lines of one registered name; Contains those that hold a
   * text anywhere.
   */
  actor?: string
  contains?: string
}

/** LogLine is one line of the text log. */
export interface LogLine {
  n: number
  time: string
  level: string
  text: string
  /** Fields are the rest of the line, a JSON object. */
  fields: unknown
}

/**
 * LogLines answers get_log. Last is the number of the newest line there is,
 * whatever was asked for; Skipped says that lines behind After are not held any
 * more.
 */
export interface LogLines {
  lines: LogLine[]
  last: number
  skipped: boolean
  /** File is where all of it is kept. */
  file: string
}

/** Every value of HealthState. */
export const healthStateValues = [
  'ok',
  'restarted',
  'down',
] as const

/** HealthState is the mark of a conversation that something happened to. */
export type HealthState = (typeof healthStateValues)[number]

/** Health says what happened to a conversation, what was lost and what was kept. */
export interface Health {
  state: HealthState
  text: string
  at: string
}

// profile.go

/**
 * Profile says how an agent behaves. Source: mcp-state.md 9. AllowedTools nil
 * means all tools. SystemPrompt is the last layer of the system prompt; empty
 * leaves PacketBench's own instructions. Times are in ms since 1970.
 */
export interface Profile {
  id: string
  name: string
  description: string
  system_prompt: string
  /** AllowedTools is null for all tools. */
  allowed_tools: string[] | null
  memory_context_enabled: boolean
  permission_mode: PermissionMode
  plan_mode: boolean
  pinned_model?: string
  is_builtin: boolean
  created_at: number
  updated_at: number
}

/**
 * Profiles answers list_profiles and every method that changes one:
 * built-ins first, then a person's own by name. Default is the one that a
 * launch takes when none is named.
 */
export interface Profiles {
  profiles: Profile[]
  default: string
  /** ID is the profile that was saved or cloned. */
  id?: string
}

/** SaveProfileParams creates a profile (empty id) or replaces a person's own. */
export interface SaveProfileParams {
  profile: Profile
}

/** ProfileParams names a profile to clone, to delete or to make the default. */
export interface ProfileParams {
  id: string
}

/**
 * PromptLayer is one layer of a system prompt, lowest first. Source is the
 * file it was read from, or the profile's name. Note says what was cut.
 */
export interface PromptLayer {
  kind: LayerKind
  source: string
  text: string
  note?: string
}

/**
 * PromptLayers answers get_prompt_layers: what was frozen when the
 * conversation was launched. SystemPrompt is exactly what the model gets.
 */
export interface PromptLayers {
  layers: PromptLayer[]
  system_prompt: string
}

/** Every value of LayerKind. */
export const layerKindValues = [
  'built_in',
  'cascade',
  'memory',
  'profile',
  'override',
] as const

/** LayerKind is one kind of layer. */
export type LayerKind = (typeof layerKindValues)[number]

export const ProfileDefault = 'builtin-default'

export const ProfileScout = 'builtin-scout'

export const ProfileReviewer = 'builtin-reviewer'

// project.go

/**
 * ProjectParams names a project by its absolute path. Where a method says
 * so the path may be empty.
 */
export interface ProjectParams {
  project_path: string
}

/**
 * FindFilesParams asks for files of a project that match what was typed
 * behind an @. Limit is at most 200; 0 means 20.
 */
export interface FindFilesParams {
  project_path: string
  query: string
  limit?: number
}

/**
 * FoundFiles are paths relative to the project, with slashes, best match
 * first. Truncated says that the project has more files than were looked at.
 */
export interface FoundFiles {
  paths: string[]
  truncated: boolean
}

/**
 * SlashCommand is one Markdown command file. Body goes into the composer in
 * place of the typed name.
 */
export interface SlashCommand {
  name: string
  description: string
  body: string
  source: CommandSource
}

/**
 * ProjectGit is what git says of a project folder. Branch is empty on a
 * detached HEAD; counts are of files and commits. Warnings are sentences.
 */
export interface ProjectGit {
  is_git_repo: boolean
  branch: string
  has_upstream: boolean
  is_clean: boolean
  uncommitted_count: number
  staged_count: number
  ahead_upstream: number
  behind_upstream: number
  warnings: string[]
}

/**
 * ProjectDiff answers get_project_diff: what is staged, else what is changed
 * and tracked, as git writes it. Empty when nothing is. Truncated says that
 * it was cut, at a line.
 */
export interface ProjectDiff {
  diff: string
  staged: boolean
  truncated: boolean
}

/**
 * ProjectMCP lists the MCP servers that a conversation of the project gets.
 * An untrusted project's own servers are not among them.
 */
export interface ProjectMCP {
  servers: MCPSource[]
  read_errors: MCPReadError[]
}

/**
 * ProjectFacts answers get_project. Trusted says that the project's own
 * hooks, MCP servers and agents count; TrustAsked that a person has
 * answered that question before.
 */
export interface ProjectFacts {
  git: ProjectGit
  mcp: ProjectMCP
  trusted: boolean
  trust_asked: boolean
}

/**
 * WorktreeParams is for merge_worktree and create_worktree_pr. BaseBranch
 * is needed when the worktree's own is not recorded, and refused to differ
 * from it otherwise. Title and Body are the pull request's; absent, the
 * conversation's title and a line about it.
 */
export interface WorktreeParams {
  session_id: ConversationID
  base_branch?: string
  title?: string
  body?: string
}

/**
 * DiscardParams discards a worktree. Confirmed is a person's answer to the
 * Confirm of an earlier try.
 */
export interface DiscardParams {
  session_id: ConversationID
  confirmed?: boolean
}

/**
 * WorktreeStatus answers get_worktree. Unmerged counts the commits that the
 * base branch does not have; Problem is why git could not be asked, and then
 * unsaved work has to be assumed. Legacy says that the worktree was derived
 * from its path and a base branch has to be chosen.
 */
export interface WorktreeStatus {
  worktree: Worktree
  exists: boolean
  is_clean: boolean
  uncommitted_count: number
  unmerged: number
  legacy: boolean
  problem?: string
}

/**
 * WorktreeOutcome answers the endings of a worktree. Message is the line to
 * show; Confirm is set when nothing was done yet and a person has to say
 * yes first. CommitSHA is the whole id of the landed commit.
 */
export interface WorktreeOutcome {
  worktree: Worktree
  message: string
  confirm?: Confirm
  commit_sha?: string
  branch_deleted: boolean
  worktree_removed: boolean
}

/**
 * Confirm is a question whose consequence a person has to see before it is
 * answered. Lines come in the order in which they are shown.
 */
export interface Confirm {
  title: string
  callout?: string
  lines: string[]
  button: string
}

/**
 * DeleteResult answers delete_conversation, which has happened. Problem is
 * what was left behind of its worktree, a sentence.
 */
export interface DeleteResult {
  problem?: string
}

/** Every value of CommandSource. */
export const commandSourceValues = [
  'global',
  'project',
] as const

/** CommandSource says where a Markdown command comes from. */
export type CommandSource = (typeof commandSourceValues)[number]

/** Every value of WorktreeState. */
export const worktreeStateValues = [
  'active',
  'landed',
  'discarded',
] as const

/** WorktreeState is where a worktree stands. */
export type WorktreeState = (typeof worktreeStateValues)[number]

// provider.go

/** Every value of BadgeStatus. */
export const badgeStatusValues = [
  'ready',
  'missing_key',
  'service_down',
  'login_required',
  'coming_soon',
  'unknown',
] as const

/** BadgeStatus says whether a row can be launched. */
export type BadgeStatus = (typeof badgeStatusValues)[number]

/**
 * Badge is a row's readiness. Hint says what to do and is the tooltip of a
 * disabled Launch verbatim; Source says which store the key in use came from.
 */
export interface Badge {
  status: BadgeStatus
  hint: string
  source?: string
}

/** Pricing is in USD per million tokens. */
export interface Pricing {
  input: number
  output: number
}

/** Model is one entry of a row's model list. ContextWindow is in tokens. */
export interface Model {
  label: string
  value: string
  contextWindow?: number
  pricing?: Pricing
}

/**
 * Capabilities drives the chrome of a row and of a conversation; nothing else
 * may look at an id for that. Source: ui.md 3.1.
 */
export interface Capabilities {
  canApprovePerTool: boolean
  permissionModes: PermissionMode[]
  permissionVocabulary: string
  canGateWrites: boolean
  canPlanMode: boolean
  models: Model[]
  modelsAreAuthoritative: boolean
  /** EffortLevels is null for a row without them. */
  effortLevels: string[] | null
  emitsThinking: boolean
  structuredPlans: boolean
  structuredEdits: boolean
  canCancelTurn: boolean
  canQueueWhileStreaming: boolean
  fileMentions: boolean
  slashCommands: boolean
  imageAttachments: boolean
  contextWindow: number | null
  reportsUsage: boolean
  remote: boolean
  mcp: boolean
  canRename: boolean
  canFork: boolean
  usesProviderCredential: boolean
  localFiles: boolean
}

/** ProviderRow is one row of list_providers. */
export interface ProviderRow {
  row: RowID
  label: string
  group: Group
  transport: Transport
  provider: ProviderID
  models: Model[]
  badge: Badge
  capabilities: Capabilities
}

// record.go

/**
 * Record is one conversation as its file holds it: conversations/<id>.json.
 * Keys are camelCase on disk (mcp-state.md 5). Keys this version does not know
 * survive a load and a save in Extra, on the record and on every message.
 */
export interface Record {
  id: ConversationID
  title: string
  agent: RowID
  mode: string
  provider: ProviderID
  model: string
  projectPath: string
  sessionId?: string
  createdAt: number
  updatedAt: number
  status: Status
  archived: boolean
  pinned?: boolean
  planMode: boolean
  permissionMode: PermissionMode
  approveWrites: boolean
  thinkingEnabled?: boolean
  allowedTools?: string[]
  allowPatterns?: string[]
  memoryContextEnabled?: boolean
  enabledMcpServerIds?: string[]
  mcpTrustSnapshot?: unknown
  systemPromptOverride?: string
  owner?: Transport
  turnCounter: number
  /**
   * OpenTurn is set while a turn runs, so that a start after a kill knows
   * what to close. Ours.
   */
  openTurn?: TurnID
  /**
   * OpenTurnBoot is the boot id of the service that runs it: the same one
   * means that only the conversation's actor died.
   */
  openTurnBoot?: string
  /**
   * SessionAllow are the tools allowed for the session, in force only while
   * the service SessionBoot lives.
   */
  sessionAllow?: string[]
  sessionBoot?: string
  messageCounter?: number
  resumeToken?: string
  engineSessionId?: string
  /**
   * EngineAdopt says that EngineSessionID was begun in the engine and has not
   * been opened from here yet. Ours.
   */
  engineAdopt?: boolean
  parentConversationId?: ConversationID
  plan?: PlanItem[]
  planApproved?: boolean
  worktree?: unknown
  queuedMessages?: QueueItem[]
  openPrompts?: string[]
  openEdits?: string[]
  contextUse?: ContextUse
  retiredNoticed?: boolean
  /**
   * Profile is what it was launched with; PromptLayers say of what
   * SystemPrompt is made, in order. Ours.
   */
  profile?: string
  promptLayers?: RecordLayer[]
  /**
   * WrittenFiles are the hashes of the files as the agent last wrote them, by
   * path: what differs now was changed by somebody else. Ours.
   */
  writtenFiles?: { [key: string]: string }
  /** DiffComments wait for the next message. */
  pendingDiffComments?: RecordComment[]
  messages: RecordMessage[]
}

/** RecordMessage is one message of a Record. */
export interface RecordMessage {
  id: string
  role: Role
  content: string
  timestamp: number
  turnId?: TurnID
  outcome?: Outcome
  isStreaming?: boolean
  level?: Level
  error?: string
  thinking?: string
  parts?: RecordPart[]
  toolCalls?: RecordCall[]
  attachments?: AttachmentInfo[]
  inputTokens?: number
  outputTokens?: number
  cacheReadTokens?: number
  cacheWriteTokens?: number
  reasoningTokens?: number
  evidence?: Source[]
}

/**
 * RecordPart is a Part with what only history needs: the provider's opaque
 * reasoning of the request that the part opens (first part of a message, and
 * each request part).
 */
export interface RecordPart extends Part {
  details?: unknown
}

/** RecordCall is one tool call of a RecordMessage. */
export interface RecordCall {
  id: string
  name: string
  file?: string
  status: ToolStatus
  summary?: string
  fullContent?: string
  input?: string
  exitCode?: number
  modifiedPaths?: string[]
  stdout?: string
  stderr?: string
  linesAdded?: number
  linesRemoved?: number
  deniedBy?: DecidedBy
}

/**
 * RecordLayer is one layer of a Record's system prompt; Bytes is its length
 * there. The layers are joined by LayerJoint.
 */
export interface RecordLayer {
  kind: LayerKind
  source?: string
  bytes: number
  note?: string
}

/** LayerJoint stands between two layers of a system prompt. Source: mcp-state.md 8. */
export const LayerJoint = '\u000a\u000a---\u000a\u000a'

/** RecordComment is a DiffComment as a file holds it. Source: mcp-state.md 5. */
export interface RecordComment {
  id: string
  path: string
  line: number
  side: DiffSide
  text: string
  createdAt: number
}

// review.go

/**
 * EditedFile is one file that a conversation has written, compared with the
 * disk as it is now. Path is relative to the project when it lies inside.
 * Hash is the SHA-256 of the file's bytes now, in hex: what "viewed" is kept
 * by, and what an undo has to name; empty when there is no file. Sizes are
 * in bytes, -1 for no file.
 */
export interface EditedFile {
  path: string
  state: EditState
  hash: string
  lines_added: number
  lines_removed: number
  size_before: number
  size_now: number
  can_undo: boolean
  why_not?: string
  edited_outside: boolean
  view: ReviewView
}

/** EditedFileParams names one edited file. */
export interface EditedFileParams {
  session_id: ConversationID
  path: string
}

/**
 * EditedFileText answers get_edit: both texts of a file. Before is null for
 * a file that did not exist or has no baseline, Now for one that is gone.
 */
export interface EditedFileText {
  file: EditedFile
  before: string | null
  now: string | null
}

/**
 * UndoEditParams restores a file. Hash is that of the text the person saw:
 * when the disk holds another one nothing is written (-32009). Without
 * MergedContent the whole text before the first edit comes back; with it
 * that text, in which the kept hunks are.
 */
export interface UndoEditParams {
  session_id: ConversationID
  path: string
  hash: string
  merged_content?: string
}

/**
 * DiffComment is one remark on a line of a diff. Line counts from 1;
 * CreatedAt is in ms since 1970.
 */
export interface DiffComment {
  id: string
  path: string
  line: number
  side: DiffSide
  text: string
  created_at: number
}

/** DiffCommentsParams replaces the remarks that wait for the next message. */
export interface DiffCommentsParams {
  session_id: ConversationID
  comments: DiffComment[]
}

/** RemovePatternParams takes a granted pattern back. */
export interface RemovePatternParams {
  session_id: ConversationID
  pattern: string
}

/**
 * ForkParams makes a new conversation of everything before a user message
 * and sends Message in its place. NewSessionID may be made up by the caller,
 * to be subscribed first; absent, the service makes one.
 */
export interface ForkParams {
  session_id: ConversationID
  message_id: string
  new_session_id?: ConversationID
  message: string
  attachments?: Attachment[]
}

/** RestoreParams drops everything behind a user message and runs it again. */
export interface RestoreParams {
  session_id: ConversationID
  message_id: string
}

/** ExportParams asks for a transcript as a file. */
export interface ExportParams {
  session_id: ConversationID
  format: ExportFormat
}

/** Exported is a transcript to be saved. */
export interface Exported {
  file_name: string
  media_type: string
  content: string
}

/**
 * SearchParams looks for a text in titles, paths and messages, without
 * regard to case. Limit is at most 200; 0 means 50.
 */
export interface SearchParams {
  query: string
  limit?: number
}

/**
 * SearchHit is one conversation that holds the text, with its first place.
 * Start and Length, in UTF-16 code units, mark it in Snippet.
 */
export interface SearchHit {
  session_id: ConversationID
  title: string
  where: SearchPlace
  message_id?: string
  snippet: string
  start: number
  length: number
}

/**
 * SearchResult lists hits, most recently used conversation first. Complete
 * is false when time or Limit ended the search before every file was read.
 */
export interface SearchResult {
  hits: SearchHit[]
  complete: boolean
}

/** KeyTestParams names the provider whose key is tried. */
export interface KeyTestParams {
  provider: ProviderID
}

/**
 * KeyTest answers test_key. Message is a sentence for a person, Latency how
 * long the provider took, in ms.
 */
export interface KeyTest {
  status: KeyTestStatus
  message: string
  latency_ms: number
}

/** Every value of EditState. */
export const editStateValues = [
  'new',
  'modified',
  'deleted',
  'unchanged',
  'unknown',
] as const

/** EditState is what became of an edited file. */
export type EditState = (typeof editStateValues)[number]

/** Every value of ReviewView. */
export const reviewViewValues = [
  'full',
  'plain',
  'size',
] as const

/** ReviewView says how much of a file is worth showing. */
export type ReviewView = (typeof reviewViewValues)[number]

/** Every value of DiffSide. */
export const diffSideValues = [
  'old',
  'new',
] as const

/** DiffSide is the side of a diff that a remark stands on. */
export type DiffSide = (typeof diffSideValues)[number]

/** Every value of ExportFormat. */
export const exportFormatValues = [
  'md',
  'json',
] as const

/** ExportFormat is how a transcript is written. */
export type ExportFormat = (typeof exportFormatValues)[number]

/** Every value of SearchPlace. */
export const searchPlaceValues = [
  'title',
  'path',
  'message',
] as const

/** SearchPlace is where a text was found. */
export type SearchPlace = (typeof searchPlaceValues)[number]

/** Every value of KeyTestStatus. */
export const keyTestStatusValues = [
  'accepted',
  'rejected',
  'missing',
  'rate_limited',
  'unreachable',
  'unclear',
] as const

/** KeyTestStatus is how a provider took a key. */
export type KeyTestStatus = (typeof keyTestStatusValues)[number]

// shape.go

/**
 * Empty is the object without keys: the parameters of a method that takes
 * none, and the result of one that only succeeds.
 */
export type Empty = { readonly [key: string]: never }

/**
 * Patch is the payload of conversation.updated: the changed keys of a Summary
 * with their new values, and the keys named by the Patch constants. A key that
 * is absent has not changed.
 */
export type Patch = { [key: string]: unknown }

// subject.go

export const SubjectSidecarStatus = 'sidecar-status.changed'

export const SubjectProviderAuth = 'provider-auth.changed'

/**
 * LoggedSubjects are the patterns that the event log captures: everything but
 * command.>, whose requests would be answered by the log instead of by us.
 */
export const loggedSubjects: readonly string[] = [
  'api-agent.>',
  'conversation.>',
  'terminal.>',
  'ops.>',
  'sidecar-status.changed',
  'provider-auth.changed',
]

/** What names one subject of the second family, conversation.<what>.<id>. */
export type What = (typeof whats)[number]

/** Whats lists the second family in the order of contract.md 2.3. */
export const whats = [
  'created',
  'updated',
  'deleted',
  'user-turn',
  'turn-started',
  'turn-ended',
  'prompt-opened',
  'prompt-resolved',
  'edit-resolved',
  'queue-changed',
  'posture-changed',
  'notice',
] as const

/** Every value of TerminalWhat. */
export const terminalWhatValues = [
  'opened',
  'exited',
  'resized',
  'title',
  'closed',
] as const

/** TerminalWhat names one subject of terminal.<what>.<id>. */
export type TerminalWhat = (typeof terminalWhatValues)[number]

/** Every value of OpsWhat. */
export const opsWhatValues = [
  'tree-changed',
  'restart',
  'limit-reached',
  'overflow',
  'alarm',
] as const

/** OpsWhat names one subject of ops.<what>. */
export type OpsWhat = (typeof opsWhatValues)[number]

/** CommandPattern is the pattern that matches every command subject. */
export const CommandPattern = 'command.>'

/** OpsPattern matches every subject of the ops family. */
export const OpsPattern = 'ops.>'

// terminal.go

/** Every value of TerminalState. */
export const terminalStateValues = [
  'starting',
  'running',
  'ended',
] as const

/** TerminalState is what a terminal does. */
export type TerminalState = (typeof terminalStateValues)[number]

/** Every value of PresetKind. */
export const presetKindValues = [
  'agent',
  'shell',
] as const

/**
 * PresetKind tells the agents among what can be opened in a terminal from the
 * shells.
 */
export type PresetKind = (typeof presetKindValues)[number]

/**
 * MaxTerminalArgs is how many arguments a terminal's program may be given.
 * Source: ui.md 15.
 */
export const MaxTerminalArgs = 32

/**
 * MaxTerminalInput is the largest input frame in bytes that a window sends, its
 * type byte not counted: a longer paste is cut into several, so that it can be
 * stopped. Source: ui.md 15.
 */
export const MaxTerminalInput = 65536

/**
 * OpenTerminalParams starts a program in a terminal. Without a command it is
 * the person's shell, without an id a new one is made. Cwd is an absolute
 * folder; empty or "/" is a scratch folder of the service. Env is added to
 * the service's own environment.
 */
export interface OpenTerminalParams {
  terminal_id?: TerminalID
  command?: string
  args?: string[]
  cwd: string
  env?: { [key: string]: string }
  cols: number
  rows: number
}

/** OpenTerminalResult answers open_terminal. */
export interface OpenTerminalResult {
  terminal_id: TerminalID
}

/** TerminalParams names one terminal. */
export interface TerminalParams {
  terminal_id: TerminalID
}

/**
 * ResizeTerminalParams sets a terminal's size. It always counts, whoever
 * owns the size; the frames of a window count only from the owner.
 */
export interface ResizeTerminalParams {
  terminal_id: TerminalID
  cols: number
  rows: number
}

/**
 * RestartTerminalParams ends what runs in a terminal and starts it again in
 * place, or another program when a command is given; then args, cwd and env
 * are those of open_terminal.
 */
export interface RestartTerminalParams {
  terminal_id: TerminalID
  command?: string
  args?: string[]
  cwd?: string
  env?: { [key: string]: string }
}

/** Terminal is what list_terminals tells of one. */
export interface Terminal {
  terminal_id: TerminalID
  command: string
  args: string[]
  cwd: string
  state: TerminalState
  /** ChildPID is the OS process of the program, 0 when none runs. */
  child_pid: number
  cols: number
  rows: number
  title: string
  /**
   * ExitCode is null while the program runs. It is -1 after a signal,
   * whose name is Signal then, and after a stop of the service.
   */
  exit_code: number | null
  signal: string | null
  /**
   * Offset is the number of bytes that the terminal has put out, Viewers
   * how many look on.
   */
  offset: number
  viewers: number
  started: string
}

/** TerminalPreset is a program that was found on PATH and may be opened. */
export interface TerminalPreset {
  id: string
  label: string
  kind: PresetKind
  /** Command is for open_terminal; Path is where it was found. */
  command: string
  args: string[]
  path: string
  /** Default is set for the person's own shell. */
  default: boolean
}

/**
 * TerminalOpenedEvent says that a program has begun, also after a restart in
 * place.
 */
export interface TerminalOpenedEvent {
  command: string
  args: string[]
  cwd: string
  cols: number
  rows: number
}

/**
 * TerminalExitedEvent says how it ended: Signal is a name such as SIGTERM or
 * null.
 */
export interface TerminalExitedEvent {
  exit_code: number
  signal: string | null
}

/** TerminalResizedEvent is the size in force. */
export interface TerminalResizedEvent {
  cols: number
  rows: number
}

/** TerminalTitleEvent is the title that the program has set. */
export interface TerminalTitleEvent {
  title: string
}

/** TerminalClosedEvent says that the terminal is gone. */
export type TerminalClosedEvent = { readonly [key: string]: never }

// tree.go

/** TreeNode is one node of the live tree. Source: interface.md 6. */
export interface TreeNode {
  pid: string
  name: string
  kind: string
  behavior: string
  state: string
  uptime_s: number
  mailbox: number
  mailbox_max_seen: number
  messages_in: number
  messages_out: number
  restarts: number
  restarts_in_window: number
  window_s: number
  max_restarts: number
  limit_reached: boolean
  links: number
  monitors: number
  last_reason?: string
  rates?: TreeRates
  alarms?: AlarmKind[]
  detail?: unknown
  children: TreeNode[]
}

/** Tree answers get_tree. */
export interface Tree {
  boot_id: string
  time: string
  root: TreeNode
  /** House is there for whoever asks through a door. */
  house?: HouseFacts
}

/** OpsRestartEvent is the payload of ops.restart. */
export interface OpsRestartEvent {
  actor: string
  reason: string
  count_in_window: number
}

/**
 * OpsLimitEvent is the payload of ops.limit-reached. Actor is the child whose
 * budget is spent.
 */
export interface OpsLimitEvent {
  supervisor: string
  actor?: string
}

/**
 * OpsOverflowEvent is the payload of ops.overflow: a message for Actor was given
 * up because its mailbox stayed full.
 */
export interface OpsOverflowEvent {
  actor: string
  message: string
}

// version.go

/**
 * SidecarProtocol is the protocol version we expect of the sidecar, and the
 * floor below which it is refused: version 11 added mcpTrustSnapshot, which an
 * older peer ignores silently. Source: sidecar-protocol.md.
 */
export const SidecarProtocol = 11

// What joins names and shapes.

/** One of the fifteen kinds with its payload, told apart by `kind`. */
export type AgentEvent =
  | { kind: 'chunk'; payload: Chunk }
  | { kind: 'thinking'; payload: Thinking }
  | { kind: 'thinking-stop'; payload: ThinkingStop }
  | { kind: 'tool-start'; payload: ToolStart }
  | { kind: 'tool-result'; payload: ToolResult }
  | { kind: 'permission-request'; payload: PermissionRequest }
  | { kind: 'pending-edit'; payload: PendingEdit }
  | { kind: 'edit-baseline'; payload: EditBaseline }
  | { kind: 'plan-block'; payload: PlanBlock }
  | { kind: 'tool-output-extended'; payload: ToolOutputExtended }
  | { kind: 'turn-summary'; payload: TurnSummary }
  | { kind: 'mcp-sources'; payload: MCPSources }
  | { kind: 'rate-limited'; payload: RateLimited }
  | { kind: 'done'; payload: Done }
  | { kind: 'error'; payload: Error }

/** One member of the second family with its payload, told apart by `what`. */
export type ConversationEvent =
  | { what: 'created'; payload: Summary }
  | { what: 'updated'; payload: Patch }
  | { what: 'deleted'; payload: Empty }
  | { what: 'user-turn'; payload: UserTurn }
  | { what: 'turn-started'; payload: TurnStarted }
  | { what: 'turn-ended'; payload: TurnEnded }
  | { what: 'prompt-opened'; payload: PromptOpened }
  | { what: 'prompt-resolved'; payload: PromptResolved }
  | { what: 'edit-resolved'; payload: EditResolved }
  | { what: 'queue-changed'; payload: QueueChanged }
  | { what: 'posture-changed'; payload: Posture }
  | { what: 'notice'; payload: Notice }

/** One member of the terminal family with its payload, told apart by `what`. */
export type TerminalEvent =
  | { what: 'opened'; payload: TerminalOpenedEvent }
  | { what: 'exited'; payload: TerminalExitedEvent }
  | { what: 'resized'; payload: TerminalResizedEvent }
  | { what: 'title'; payload: TerminalTitleEvent }
  | { what: 'closed'; payload: TerminalClosedEvent }

/** One member of the ops family with its payload, told apart by `what`. */
export type OpsEvent =
  | { what: 'tree-changed'; payload: Empty }
  | { what: 'restart'; payload: OpsRestartEvent }
  | { what: 'limit-reached'; payload: OpsLimitEvent }
  | { what: 'overflow'; payload: OpsOverflowEvent }
  | { what: 'alarm'; payload: Alarm }

/** What each method takes and answers. */
export interface Commands {
  subscribe: { params: SubscribeParams; result: SubscribeResult }
  unsubscribe: { params: UnsubscribeParams; result: Empty }
  get_session: { params: Empty; result: Session }
  list_conversations: { params: Empty; result: Summary[] }
  get_conversation: { params: SessionParams; result: Snapshot }
  list_providers: { params: Empty; result: ProviderRow[] }
  get_provider_auth_status: { params: ProviderParams; result: Badge }
  get_sidecar_status: { params: Empty; result: SidecarStatus }
  acp_session_usage: { params: SessionParams; result: unknown }
  get_tree: { params: Empty; result: Tree }
  list_terminals: { params: Empty; result: Terminal[] }
  start_api_agent_session: { params: StartParams; result: StartResult }
  send_api_agent_message: { params: SendParams; result: SendResult }
  cancel_api_agent_session: { params: SessionParams; result: Empty }
  change_model: { params: ChangeModelParams; result: Empty }
  set_plan_mode: { params: SetEnabledParams; result: Empty }
  set_permission_mode: { params: SetModeParams; result: Empty }
  set_approve_writes: { params: SetEnabledParams; result: Empty }
  respond_permission: { params: RespondPermissionParams; result: Empty }
  respond_edit: { params: RespondEditParams; result: Empty }
  cancel_pending_tools: { params: SessionParams; result: Empty }
  retry_last_turn: { params: RetryParams; result: Empty }
  close_api_agent_session: { params: SessionParams; result: Empty }
  approve_plan: { params: ApprovePlanParams; result: Empty }
  remove_queued_message: { params: QueueRemoveParams; result: Empty }
  delete_conversation: { params: SessionParams; result: DeleteResult }
  rename_conversation: { params: RenameParams; result: Empty }
  archive_conversation: { params: ArchiveParams; result: Empty }
  pin_conversation: { params: PinParams; result: Empty }
  get_settings: { params: Empty; result: unknown }
  set_settings: { params: unknown; result: unknown }
  set_key: { params: KeyParams; result: Empty }
  delete_key: { params: KeyParams; result: Empty }
  list_keys: { params: Empty; result: KeyInfo[] }
  list_audit: { params: unknown; result: AuditEntry[] }
  one_shot: { params: OneShotParams; result: StartResult }
  trust_project: { params: TrustProjectParams; result: Empty }
  reset_actor: { params: ActorParams; result: ActorResult }
  stop_actor: { params: ActorParams; result: ActorResult }
  start_actor: { params: ActorParams; result: ActorResult }
  open_terminal: { params: OpenTerminalParams; result: OpenTerminalResult }
  resize_terminal: { params: ResizeTerminalParams; result: Empty }
  close_terminal: { params: TerminalParams; result: Empty }
  find_files: { params: FindFilesParams; result: FoundFiles }
  list_commands: { params: ProjectParams; result: SlashCommand[] }
  get_project: { params: ProjectParams; result: ProjectFacts }
  get_worktree: { params: SessionParams; result: WorktreeStatus }
  merge_worktree: { params: WorktreeParams; result: WorktreeOutcome }
  create_worktree_pr: { params: WorktreeParams; result: WorktreeOutcome }
  discard_worktree: { params: DiscardParams; result: WorktreeOutcome }
  confirm_delete: { params: SessionParams; result: Confirm }
  list_profiles: { params: Empty; result: Profiles }
  save_profile: { params: SaveProfileParams; result: Profiles }
  clone_profile: { params: ProfileParams; result: Profiles }
  delete_profile: { params: ProfileParams; result: Profiles }
  set_default_profile: { params: ProfileParams; result: Profiles }
  get_prompt_layers: { params: SessionParams; result: PromptLayers }
  fork_conversation: { params: ForkParams; result: StartResult }
  restore_conversation: { params: RestoreParams; result: StartResult }
  export_conversation: { params: ExportParams; result: Exported }
  search_conversations: { params: SearchParams; result: SearchResult }
  list_edits: { params: SessionParams; result: EditedFile[] }
  get_edit: { params: EditedFileParams; result: EditedFileText }
  undo_edit: { params: UndoEditParams; result: EditedFileText }
  set_diff_comments: { params: DiffCommentsParams; result: Empty }
  remove_allow_pattern: { params: RemovePatternParams; result: Empty }
  test_key: { params: KeyTestParams; result: KeyTest }
  get_project_diff: { params: ProjectParams; result: ProjectDiff }
  list_engine_sessions: { params: EngineParams; result: EngineSessions }
  acp_mcp_plan: { params: MCPPlanParams; result: MCPPlan }
  probe_engine: { params: Empty; result: EngineProbe }
  pin_engine: { params: PinEngineParams; result: EngineProbe }
  restart_terminal: { params: RestartTerminalParams; result: Terminal }
  list_terminal_presets: { params: Empty; result: TerminalPreset[] }
  get_log: { params: LogLinesParams; result: LogLines }
}
