// The sessions of this child: who they are, in which order their work runs, and
// which of their events may leave.
//
//   - Lines are handled in the order in which they came. Each session has one
//     queue: start, every request and close run one after another, and a
//     failing one does not break the queue. Sessions never wait for each other.
//   - A turn begins with start (when it has something to say), send_message,
//     retry or inject_user_turn. It ends with one `done` or one `error`; what
//     comes later is dropped, so a late result of an interrupted turn cannot
//     end the next one.
//   - cancel always yields exactly one `done` with `cancelled`.
//
// Source: sidecar-protocol.md 8.
import { log, reason } from './log.js'
import type { ProviderEvent, StartRequest, WireEvent } from './protocol.js'
import { permissionModeOf, type Decoded, type Request } from './request.js'
import type {
  Emit,
  GrantServers,
  LoadSources,
  ProviderFactory,
  ProviderSession,
  Turn,
} from './providers/types.js'

/** What the registry is made of. */
export interface RegistryOptions {
  providers: ReadonlyMap<string, ProviderFactory>
  send: (event: WireEvent) => void
  /** Resolves when what was sent has left the process. */
  room: () => Promise<void>
  grantServers: GrantServers
  loadSources: LoadSources
  /** Whether this child was started on the machine of an SSH workspace. */
  remote: boolean
}

interface TurnState extends Turn {
  ended: boolean
  cancelRequested: boolean
}

interface Entry {
  readonly id: string
  readonly provider: string
  session: ProviderSession | undefined
  turn: TurnState | undefined
  /** While start runs, an `error` ends the session. */
  starting: boolean
  failed: boolean
  closed: boolean
}

/** See the top of this file. */
export class Registry {
  private readonly entries = new Map<string, Entry>()
  private readonly queues = new Map<string, Promise<void>>()
  private readonly turns = new WeakSet<Turn>()

  constructor(private readonly options: RegistryOptions) {}

  /** Takes one decoded line. It returns at once; the work runs in the queue of its session. */
  handle(decoded: Decoded): void {
    switch (decoded.kind) {
      case 'blank':
        return
      case 'dropped':
        log(`dropped a line: ${decoded.why}`)
        return
      case 'refused': {
        const { sessionId, request, message } = decoded
        void this.enqueue(sessionId, () =>
          this.sendError(sessionId, message, request === 'start_session' ? undefined : request),
        )
        return
      }
      case 'request': {
        const { request } = decoded
        void this.enqueue(request.sessionId, () => this.run(request))
        return
      }
    }
  }

  /** Closes every session through its queue, and resolves when all of them are closed. */
  async closeAll(): Promise<void> {
    const ids = new Set([...this.entries.keys(), ...this.queues.keys()])
    await Promise.all([...ids].map((id) => this.enqueue(id, () => this.close(id))))
  }

  private enqueue(sessionId: string, work: () => Promise<void> | void): Promise<void> {
    const before = this.queues.get(sessionId) ?? Promise.resolve()
    const after = before.then(work).catch((thrown: unknown) => {
      log(`request failed session=${sessionId}: ${reason(thrown)}`)
    })
    this.queues.set(sessionId, after)
    void after.then(() => {
      if (this.queues.get(sessionId) === after) this.queues.delete(sessionId)
    })
    return after
  }

  private async run(request: Request): Promise<void> {
    if (request.type === 'start_session') return this.start(request.sessionId, request.start)
    if (request.type === 'close_session') return this.close(request.sessionId)
    const entry = this.entries.get(request.sessionId)
    if (entry?.session === undefined) {
      const message = `No active session: ${request.sessionId}`
      this.sendError(request.sessionId, message, request.type)
      return
    }
    try {
      await this.dispatch(entry, entry.session, request)
    } catch (thrown) {
      this.sendError(entry.id, reason(thrown), request.type)
    }
  }

  private async start(sessionId: string, start: StartRequest): Promise<void> {
    const factory = this.options.providers.get(start.provider)
    if (factory === undefined) {
      this.sendError(sessionId, `Unknown provider: ${start.provider}`)
      return
    }
    if (this.entries.has(sessionId)) {
      this.sendError(sessionId, `Session already exists: ${sessionId}`)
      return
    }
    if (start.workspace?.kind === 'ssh' && !this.options.remote) {
      this.sendError(
        sessionId,
        'Remote SSH workspace metadata reached the local sidecar. Start this conversation again; if it repeats, choose a local project.',
      )
      return
    }
    const entry: Entry = {
      id: sessionId,
      provider: start.provider,
      session: undefined,
      turn: undefined,
      starting: true,
      failed: false,
      closed: false,
    }
    this.entries.set(sessionId, entry)
    try {
      await this.begin(entry, factory, start)
    } catch (thrown) {
      entry.failed = true
      this.sendError(sessionId, reason(thrown), undefined, entry.turn)
    }
    entry.starting = false
    if (entry.failed) await this.close(sessionId)
  }

  private async begin(entry: Entry, factory: ProviderFactory, start: StartRequest): Promise<void> {
    let servers = start.mcpServers
    if (start.sourceMcpFromFs) {
      const loaded = await this.options.loadSources(start.projectPath)
      servers = { ...servers, ...loaded.servers }
      const { sources, readErrors } = loaded
      this.options.send({ type: 'mcp_sources', sources, readErrors, sessionId: entry.id })
    }
    const mcp = await this.options.grantServers({
      servers,
      snapshot: start.mcpTrustSnapshot,
      projectPath: start.projectPath,
    })
    // An empty first message without pictures opens no turn.
    const opens = start.initialMessage !== '' || start.attachments.length > 0
    const turn = this.makeTurn(start.turnId)
    if (opens) entry.turn = turn
    const emit: Emit = (event, of) => this.pass(entry, event, of)
    const session = factory(
      {
        sessionId: entry.id,
        model: start.model,
        systemPrompt: start.systemPrompt,
        allowedTools: start.allowedTools,
        mcp,
        projectPath: start.projectPath,
        initialMessage: start.initialMessage,
        attachments: start.attachments,
        apiKey: start.apiKey,
        baseUrl: start.baseUrl,
        resume: start.resume,
        resumeMessages: start.resumeMessages,
        thinkingEnabled: start.thinkingEnabled,
        planMode: start.planMode,
        permissionMode: permissionModeOf(start.permissionMode),
        approveWrites: start.approveWrites,
      },
      emit,
      this.options.room,
    )
    entry.session = session
    await session.start(turn)
  }

  private async dispatch(
    entry: Entry,
    session: ProviderSession,
    request: Exclude<Request, { type: 'start_session' | 'close_session' }>,
  ): Promise<void> {
    switch (request.type) {
      case 'send_message':
        return this.open(entry, request.turnId, (turn) =>
          session.sendMessage(turn, request.content, request.attachments),
        )
      case 'retry': {
        if (session.retry === undefined) return this.unsupported(entry, request.type)
        const retry = session.retry.bind(session)
        return this.open(entry, request.turnId, retry)
      }
      case 'inject_user_turn': {
        if (session.injectUserTurn === undefined) return this.unsupported(entry, request.type)
        const inject = session.injectUserTurn.bind(session)
        return this.open(entry, request.turnId, (turn) => inject(turn, request.injected))
      }
      case 'permission_response':
        return session.respondPermission?.(request.answer)
      case 'edit_response':
        return session.respondEdit?.(request.answer)
      case 'cancel':
        return this.cancel(entry, session)
      case 'set_permission_mode':
        if (session.setPermissionMode === undefined) return this.unsupported(entry, request.type)
        return session.setPermissionMode(request.mode)
      case 'set_approve_writes':
        if (session.setApproveWrites === undefined) return this.unsupported(entry, request.type)
        return session.setApproveWrites(request.approveWrites)
      case 'set_model':
        if (session.setModel === undefined) return this.unsupported(entry, request.type)
        return session.setModel(request.model)
      case 'cancel_pending_tools':
        if (session.cancelPendingTools === undefined) return this.unsupported(entry, request.type)
        return session.cancelPendingTools()
    }
  }

  private async open(
    entry: Entry,
    turnId: string | undefined,
    run: (turn: Turn) => Promise<void> | void,
  ): Promise<void> {
    const before = entry.turn
    const turn = this.makeTurn(turnId)
    entry.turn = turn
    try {
      await run(turn)
    } catch (thrown) {
      // The command failed, so its turn never was; an earlier one may still run.
      if (entry.turn === turn) entry.turn = before
      throw thrown
    }
  }

  private async cancel(entry: Entry, session: ProviderSession): Promise<void> {
    const { turn } = entry
    if (turn !== undefined) turn.cancelRequested = true
    try {
      await session.cancel()
    } finally {
      if (turn !== undefined && !turn.ended) {
        this.pass(entry, { type: 'done', inputTokens: 0, outputTokens: 0, cancelled: true }, turn)
      }
    }
  }

  private async close(sessionId: string): Promise<void> {
    const entry = this.entries.get(sessionId)
    if (entry === undefined) return
    entry.closed = true
    this.entries.delete(sessionId)
    try {
      await entry.session?.close()
    } catch (thrown) {
      log(`close failed session=${sessionId}: ${reason(thrown)}`)
    }
  }

  private unsupported(entry: Entry, request: Request['type']): void {
    this.sendError(entry.id, `${entry.provider} does not support ${request}`, request)
  }

  private makeTurn(id: string | undefined): TurnState {
    const turn: TurnState = { id, ended: false, cancelRequested: false }
    this.turns.add(turn)
    return turn
  }

  /** The terminal guard. */
  private pass(entry: Entry, event: ProviderEvent, of: Turn | undefined): void {
    if (entry.closed) return
    if (event.type === 'error' && event.request !== undefined) {
      this.sendError(entry.id, event.message, event.request)
      return
    }
    if (of !== undefined && !this.turns.has(of)) {
      this.options.send({ ...event, sessionId: entry.id })
      return
    }
    const turn = entry.turn
    const current = of === undefined || of === turn
    if (event.type === 'error') {
      if (entry.starting) entry.failed = true
      else if (!current || turn === undefined || turn.ended) return
      if (turn !== undefined) turn.ended = true
      this.sendError(entry.id, event.message, undefined, turn)
      return
    }
    if (event.type === 'done') {
      if (!current || turn === undefined || turn.ended) return
      turn.ended = true
      const done = turn.cancelRequested ? { ...event, cancelled: true } : event
      this.options.send({ ...done, sessionId: entry.id, ...idOf(turn) })
      return
    }
    // A late count of an ended turn is still true and still billed; the rest of
    // an ended turn is nobody's.
    if (event.type !== 'turn_summary' && (!current || turn?.ended === true)) return
    this.options.send({ ...event, sessionId: entry.id, ...idOf(of ?? turn) })
  }

  private sendError(
    sessionId: string,
    message: string,
    request?: string,
    turn?: Turn | undefined,
  ): void {
    this.options.send({
      type: 'error',
      message,
      sessionId,
      ...(request === undefined ? {} : { request }),
      ...idOf(turn),
    })
  }
}

function idOf(turn: Turn | undefined): { turnId?: string } {
  return turn?.id === undefined ? {} : { turnId: turn.id }
}
