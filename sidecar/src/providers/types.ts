// What a provider is: a factory that the registry calls once a session, and the
// session it returns. The registry owns everything that is the same for every
// provider: order, turn ids, the terminal guard, unknown and unsupported
// requests. A provider owns its vendor SDK and what is parked inside it.
//
// Rules for a provider (sidecar-protocol.md 8 and 12):
//
//   - Importing its module must not load an SDK: import it with loadSdk inside
//     start. The handshake and `echo` work without any SDK installed.
//   - start and the methods that open a turn return promptly and run the turn
//     in the background: answers queue behind them. Whatever they throw becomes
//     an `error`.
//   - An `error` without `request` that is emitted before start has returned,
//     or an exception of start, ends the session.
//   - It emits at most one `done` or turn `error` a turn, and gives the Turn it
//     was handed with every event of that turn. It never sets sessionId or
//     turnId, and `cancelled` only where it knows better than the guard.
//   - Nothing it emits, logs or throws may hold the API key.
import type {
  EditAnswer,
  ImageAttachment,
  InjectedTurn,
  McpReadError,
  McpServerConfig,
  McpSource,
  PermissionAnswer,
  PermissionMode,
  ProviderEvent,
  ResumeMessage,
} from '../protocol.js'

/**
 * One turn of one session, made by the registry; providers compare it by
 * identity and hand it back. `id` is the host's turn id, if it sent one.
 */
export interface Turn {
  readonly id: string | undefined
}

/**
 * Sends one event. With `turn` the event belongs to that turn: once the turn
 * has ended, or a later one has begun, its `done` and `error` are dropped.
 * Without `turn` it belongs to the turn in flight. A Turn that the registry did
 * not make is not guarded: `echo` answers commands that open no turn that way.
 */
export type Emit = (event: ProviderEvent, turn?: Turn) => void

/** The verdict on one MCP call. `reason` is a sentence for the model and the person. */
export type McpDecision = { allowed: true } | { allowed: false; reason: string }

/**
 * The frozen MCP authority of a session: the servers that were granted, and the
 * per-call decision of sidecar-protocol.md 5. Made by src/mcp/grant.ts.
 */
export interface McpGrant {
  /** Granted servers only, ready for an SDK. */
  readonly servers: Record<string, McpServerConfig>
  /** Tools that a server listed at the start; one that did not answer is absent. */
  readonly tools: Readonly<Record<string, readonly string[]>>
  /** `args` are the call's arguments; `{}` decides whether a tool is advertised. */
  decide(server: string, tool: string, args: unknown): McpDecision
  /** Whether a tool is verified to read only; a call of any other is asked about. */
  verified(server: string, tool: string): boolean
}

/** What a session is started with. Everything was checked; `mcp` is filtered. */
export interface SessionOptions {
  readonly sessionId: string
  readonly model: string
  readonly systemPrompt: string
  readonly allowedTools: readonly string[]
  readonly mcp: McpGrant
  readonly projectPath: string
  readonly initialMessage: string
  readonly attachments: readonly ImageAttachment[]
  readonly apiKey: string | undefined
  /** The model endpoint; undefined means the one the factory knows. */
  readonly baseUrl: string | undefined
  readonly resume: string | undefined
  readonly resumeMessages: readonly ResumeMessage[]
  readonly thinkingEnabled: boolean
  readonly planMode: boolean
  readonly permissionMode: PermissionMode
  readonly approveWrites: boolean
}

/** A permission mode as it arrives: our names, `plan`, or an SDK's name. */
export type PostureMode =
  PermissionMode | 'plan' | 'default' | 'acceptEdits' | 'bypassPermissions' | 'dontAsk'

/**
 * One session. A missing optional method makes the registry answer
 * `<provider> does not support <request>`, or nothing where the request has no
 * such answer (permission and edit answers).
 */
export interface ProviderSession {
  /** Opens the session; runs `initialMessage` as `turn` unless it is empty. */
  start(turn: Turn): Promise<void>
  sendMessage(
    turn: Turn,
    content: string,
    attachments: readonly ImageAttachment[],
  ): Promise<void> | void
  /** Throws for an id that is not parked; the text becomes an `error` with `request`. */
  respondPermission?(answer: PermissionAnswer): Promise<void> | void
  /** As respondPermission. */
  respondEdit?(answer: EditAnswer): Promise<void> | void
  /**
   * Stops the turn in flight and keeps the session. It should have emitted the
   * turn's `done` when it returns, and take 3 s at most; otherwise the registry
   * sends one with zero counts.
   */
  cancel(): Promise<void> | void
  /** Ends the session and everything it started. Emits nothing afterwards. */
  close(): Promise<void> | void
  setPermissionMode?(mode: PostureMode): Promise<void> | void
  setApproveWrites?(approveWrites: boolean): Promise<void> | void
  setModel?(model: string): Promise<void> | void
  retry?(turn: Turn): Promise<void> | void
  cancelPendingTools?(): Promise<void> | void
  injectUserTurn?(turn: Turn, injected: InjectedTurn): Promise<void> | void
}

/**
 * Makes a session without starting anything. `room` resolves when what was
 * emitted has left the process; a loop over a fast stream waits for it, so that
 * a slow host slows the stream down instead of filling the memory.
 */
export type ProviderFactory = (
  options: SessionOptions,
  emit: Emit,
  room: () => Promise<void>,
) => ProviderSession

/**
 * Filters the servers of a session by its trust snapshot and probes the granted
 * read-only ones; never fails. Made by createGrants in src/mcp/grant.ts.
 */
export type GrantServers = (input: {
  servers: Record<string, McpServerConfig>
  /** undefined is "none was taken" (defaults apply); an empty list grants none. */
  snapshot: readonly unknown[] | undefined
  /** Empty where the session has no project. */
  projectPath: string
}) => Promise<McpGrant>

/**
 * Reads the MCP files of this disk, for sessions whose host is on another
 * machine; never fails. Implemented as `loadSources` in src/mcp/sources.ts.
 */
export type LoadSources = (projectPath: string) => Promise<{
  servers: Record<string, McpServerConfig>
  sources: McpSource[]
  readErrors: McpReadError[]
}>
