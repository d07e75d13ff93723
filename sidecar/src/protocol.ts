// The protocol between the service (host) and this child, version 11: one JSON
// object a line, requests on stdin, events on stdout. Requests have no replies;
// their outcomes are events keyed by sessionId. Source: sidecar-protocol.md.
//
// Optional fields may be absent or null on the way in and are left out on the
// way out. What arrives is checked here, once; the rest of the program works
// with the types of this file.

/** The version sent in `ready`. Source: sidecar-protocol.md 4. */
export const PROTOCOL_VERSION = 11

/** A picture of a message: base64 bytes, at most 5 MiB decoded (the host checks). */
export interface ImageAttachment {
  media_type: string
  data_base64: string
}

/** One earlier message, used where the vendor keeps no session of its own. */
export interface ResumeMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
}

/** How an MCP server is reached. Keys the file had beyond these are passed on. */
export interface McpServerConfig {
  type?: string
  command?: string
  args?: string[]
  env?: Record<string, string>
  url?: string
  headers?: Record<string, string>
  [key: string]: unknown
}

/** Where the session works. Only an SSH launch may say `ssh`. */
export interface WorkspaceRef {
  kind: string
  projectPath?: string
}

/** The posture's second half, as the host says it; SDK names are mapped to these. */
export type PermissionMode = 'auto' | 'ask_for_risky' | 'allow_all' | 'deny_all'

/** `start_session` as the registry receives it. Source: sidecar-protocol.md 2.1. */
export interface StartRequest {
  provider: string
  model: string
  systemPrompt: string
  /** Empty means all tools. */
  allowedTools: string[]
  mcpServers: Record<string, McpServerConfig>
  /** undefined is "none was taken" and not the same as an empty list. */
  mcpTrustSnapshot: unknown[] | undefined
  projectPath: string
  /** Empty opens no turn. */
  initialMessage: string
  turnId: string | undefined
  /** Lives in memory only; never logged, never sent back. */
  apiKey: string | undefined
  /** Ours: the model endpoint of this session, before any of the environment. */
  baseUrl: string | undefined
  resume: string | undefined
  thinkingEnabled: boolean
  planMode: boolean
  attachments: ImageAttachment[]
  resumeMessages: ResumeMessage[]
  permissionMode: PermissionMode
  approveWrites: boolean
  workspace: WorkspaceRef | undefined
  sourceMcpFromFs: boolean
}

/** Who answered a permission prompt; absent counts as the user. */
export type AnsweredBy = 'user' | 'policy' | 'timeout' | 'cancel'

/** The answer to one `permission_request`. */
export interface PermissionAnswer {
  toolUseId: string
  decision: 'approve' | 'allow_once' | 'allow_always' | 'deny'
  reason: string | undefined
  by: AnsweredBy
}

/** The answer to one `pending_edit`. */
export interface EditAnswer {
  toolUseId: string
  approved: boolean
  /** The text to write instead of the proposed one. May be the empty string. */
  mergedContent: string | undefined
}

/** A turn that the service or an event opened, not a person at the composer. */
export interface InjectedTurn {
  content: string
  source: 'user' | 'wake_trigger'
  trigger: { kind: string | undefined; payload: unknown } | undefined
  maxOutputTokens: number | undefined
}

/** One line of a plan. */
export interface PlanItem {
  id?: string
  content: string
  status: 'pending' | 'in_progress' | 'completed'
  activeForm?: string
}

/** One MCP server that was found on this disk; never its command or secrets. */
export interface McpSource {
  name: string
  transport: 'stdio' | 'http' | 'sse'
  scope: 'global' | 'project'
}

/** One MCP file that could not be read. */
export interface McpReadError {
  scope: 'global' | 'project'
  path: string
  message: string
}

/**
 * What a provider says, without sessionId and turnId, which the registry adds.
 * Counts are tokens of this turn. Source: sidecar-protocol.md 3.
 */
export type ProviderEvent =
  | { type: 'chunk'; text: string }
  | { type: 'thinking'; text: string }
  | { type: 'thinking_stop' }
  | { type: 'tool_start'; toolUseId: string; name: string; input?: unknown }
  | {
      type: 'tool_result'
      toolUseId: string
      output: string
      isError: boolean
      name?: string
      input?: unknown
    }
  | {
      type: 'permission_request'
      toolUseId: string
      name: string
      input: unknown
      batchId?: string
      batchSize?: number
    }
  | { type: 'pending_edit'; toolUseId: string; path: string; before?: string; after: string }
  | { type: 'edit_baseline'; toolUseId?: string; path: string; before?: string }
  | { type: 'plan_block'; items: PlanItem[] }
  | {
      type: 'tool_output_extended'
      toolUseId: string
      exitCode?: number
      modifiedPaths?: string[]
      stdout?: string
      stderr?: string
    }
  | {
      type: 'turn_summary'
      inputTokens: number
      outputTokens: number
      cacheReadInputTokens?: number
      cacheCreationInputTokens?: number
      reasoningTokens?: number
      address?: string
    }
  | { type: 'rate_limited'; retryAfterSeconds?: number; message?: string }
  | { type: 'mcp_sources'; sources: McpSource[]; readErrors: McpReadError[] }
  | {
      type: 'done'
      inputTokens: number
      outputTokens: number
      cacheReadInputTokens?: number
      cacheCreationInputTokens?: number
      cancelled?: boolean
      resumeToken?: string
    }
  /** With `request` that command failed and the turn, if any, goes on. */
  | { type: 'error'; message: string; request?: string }

/** One line of stdout. */
export type WireEvent =
  | { type: 'ready'; pid: number; version: string; protocolVersion: number }
  | (ProviderEvent & { sessionId: string; turnId?: string })
