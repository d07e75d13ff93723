// The provider `claude-oauth`: the Claude Agent SDK.
//
// A session has at most one vendor child, fed by a queue that all its turns
// share. The child is not the session: it is started by the first turn, ended
// when nobody used it for a while or another conversation needs its place, and
// started again, with the vendor's session id, by the next turn. Neither the
// host nor the person notices. The same happens after the child was killed.
//
// One turn is in the SDK at a time. Messages that the SDK sends outside a turn
// belong to nobody and are dropped.
//
// Source: sidecar-protocol.md 12.2, real-parts.md 2.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'

import type {
  McpServerConfig as SdkServer,
  Options,
  PermissionMode as SdkMode,
  Query,
  SpawnedProcess,
} from '@anthropic-ai/claude-agent-sdk'

import { serverEnvironment } from '../environment.js'
import { log, reason } from '../log.js'
import type {
  EditAnswer,
  ImageAttachment,
  InjectedTurn,
  McpServerConfig,
  PermissionAnswer,
  ProviderEvent,
  ResumeMessage,
} from '../protocol.js'
import { permissionModeOf } from '../request.js'
import { Bridge, refusedTools, vendorTools, type Posture } from './claude/bridge.js'
import { Pool, type Member } from './claude/pool.js'
import { injectedText, Prompt, userMessage, withHistory, type Content } from './claude/prompt.js'
import { Mark } from './claude/remains.js'
import { childEnv, type ClaudeSettings } from './claude/settings.js'
import { afterTurn, initial, translate, withApplied, type State } from './claude/translate.js'
import { loadSdk } from './sdk.js'
import { STALLED } from './stall.js'
import type {
  Emit,
  PostureMode,
  ProviderFactory,
  ProviderSession,
  SessionOptions,
  Turn,
} from './types.js'

const importSdk = () => import('@anthropic-ai/claude-agent-sdk')

type Sdk = Awaited<ReturnType<typeof importSdk>>

/** A model thinks at most this many tokens. Source: contract.md 6.7. */
const THINKING_TOKENS = 8000

/** How long an interrupted turn may take to end before its child is ended. */
const INTERRUPT_MS = 2500

/** How long the SDK may take to change the model or the mode. */
const CONTROL_MS = 10_000

/** How long a child may take to leave after its input ended. */
const LEAVE_MS = 2000

/** How long it may take after a signal. The host waits 2 s for all of us. */
const SIGNAL_MS = 1000

/** How long a prompt waits for the call that it belongs to to be shown. */
const SHOWN_MS = 1000

/** A reviewed edit has no time limit; the SDK wants one, in seconds. A week. */
const HOOK_TIMEOUT_S = 7 * 24 * 3600

/** Our own transcript, for the case that the vendor's is gone. Source: contract.md 6.5. */
const MAX_HISTORY_CHARS = 120_000

/**
 * Tools that need a screen we do not have, begin turns that nobody asked for,
 * or change a posture that belongs to the person.
 */
const withheld = [
  'AskUserQuestion',
  'EnterPlanMode',
  'EnterWorktree',
  'ExitWorktree',
  'CronCreate',
  'CronDelete',
  'CronList',
  'Monitor',
  'RemoteTrigger',
  'ScheduleWakeup',
  'PushNotification',
]

interface Job {
  readonly turn: Turn
  readonly content: Content
  /** Aborted by cancel: ends the waits of a turn that has not reached the SDK. */
  readonly abort: AbortController
  /** Called when the turn has ended. */
  over: () => void
  finished: boolean
}

/** The process of a query, once the SDK has started it. */
interface Vendor {
  child: ChildProcess | undefined
  /** Settles once it and everything that it started have ended. */
  gone: Promise<void>
  /** The last of what it wrote to stderr, for the text of its death. */
  stderr: string
}

/** One vendor child and the stream of its messages. */
interface Live {
  readonly query: Query
  readonly prompt: Prompt
  readonly abort: AbortController
  readonly vendor: Vendor
  /** We ended it: what it says and how it dies is of no interest. */
  closing: boolean
  /** A failed result was its last word: the SDK may now give the stream up. */
  doomed: boolean
}

// Ended with this process whatever happens: a child whose parent died goes on
// until its stream ends, and what it started goes on for ever.
const children = new Map<Mark, ChildProcess>()
process.on('exit', () => {
  for (const child of children.values()) child.kill('SIGKILL')
  for (const mark of children.keys()) mark.endAllNow()
})

type Terminal = Extract<ProviderEvent, { type: 'done' | 'error' }>

class ClaudeSession implements ProviderSession, Member {
  private sdk: Sdk | undefined
  private readonly posture: Posture
  private readonly bridge: Bridge
  private model: string
  private state: State = initial
  /** The vendor's session id, once there is a session to resume. */
  private resume: string | undefined
  private lastText: string | undefined
  private readonly history: ResumeMessage[]
  /** The text of the running turn, for the history. */
  private answer = ''
  private live: Live | undefined
  /** The end of the child before; two must never write one transcript. */
  private leaving: Promise<void> = Promise.resolve()
  private running: Job | undefined
  private readonly waiting: Job[] = []
  /** Calls whose `tool_start` was sent in this turn, and who waits for one. */
  private readonly started = new Set<string>()
  private readonly watchers = new Map<string, () => void>()
  /** Calls that run in the child: while one does, it may be silent. */
  private readonly calls = new Set<string>()
  private idleTimer: NodeJS.Timeout | undefined
  private watchdog: NodeJS.Timeout | undefined
  private closed = false

  constructor(
    private readonly options: SessionOptions,
    private readonly settings: ClaudeSettings,
    private readonly pool: Pool,
    private readonly emit: Emit,
    private readonly room: () => Promise<void>,
  ) {
    this.model = options.model
    this.resume = options.resume
    this.history = [...options.resumeMessages]
    this.posture = {
      planMode: options.planMode,
      permissionMode: options.permissionMode,
      approveWrites: options.approveWrites,
    }
    this.bridge = new Bridge({
      posture: this.posture,
      projectPath: options.projectPath,
      allowedTools: options.allowedTools,
      mcp: options.mcp,
      emit: (event) => this.emit(event, this.running?.turn),
      shown: (id) => this.shown(id),
      applied: (id) => {
        this.state = withApplied(this.state, id)
      },
    })
  }

  async start(turn: Turn): Promise<void> {
    if ((this.options.apiKey ?? '').trim() === '') {
      throw new Error('No API key configured for claude-oauth. Set one in Settings > API Keys.')
    }
    this.sdk = await loadSdk('claude', importSdk)
    const { initialMessage, attachments } = this.options
    if (initialMessage !== '' || attachments.length > 0) {
      this.submit(turn, { text: initialMessage, attachments })
    }
  }

  sendMessage(turn: Turn, content: string, attachments: readonly ImageAttachment[]): void {
    this.submit(turn, { text: content, attachments })
  }

  retry(turn: Turn): void {
    if (this.lastText === undefined) throw new Error('No message to retry')
    this.submit(turn, { text: this.lastText, attachments: [] })
  }

  injectUserTurn(turn: Turn, injected: InjectedTurn): void {
    if ((injected.maxOutputTokens ?? 0) > 0) {
      throw new Error('claude-oauth does not support maxOutputTokens. Send the turn without it.')
    }
    this.submit(turn, { text: injectedText(injected), attachments: [] })
  }

  respondPermission(answer: PermissionAnswer): void {
    this.bridge.respondPermission(answer)
  }

  respondEdit(answer: EditAnswer): void {
    this.bridge.respondEdit(answer)
  }

  async setPermissionMode(mode: PostureMode): Promise<void> {
    const before = { ...this.posture }
    this.posture.planMode = mode === 'plan'
    if (mode !== 'plan') this.posture.permissionMode = permissionModeOf(mode)
    await this.tell(
      'setPermissionMode',
      (query) => query.setPermissionMode(this.sdkMode()),
      () => {
        this.posture.planMode = before.planMode
        this.posture.permissionMode = before.permissionMode
      },
    )
  }

  setApproveWrites(approveWrites: boolean): void {
    this.posture.approveWrites = approveWrites
  }

  async setModel(model: string): Promise<void> {
    const before = this.model
    this.model = model
    await this.tell(
      'setModel',
      (query) => query.setModel(model),
      () => {
        this.model = before
      },
    )
  }

  cancelPendingTools(): void {
    this.bridge.denyAll('User cancelled this tool')
  }

  async cancel(): Promise<void> {
    for (const job of this.waiting.splice(0)) this.finish(job, cancelled)
    this.bridge.denyAll('cancelled')
    const job = this.running
    if (job === undefined) return
    const over = new Promise<void>((resolve) => {
      job.over = resolve
    })
    job.abort.abort()
    this.live?.query.interrupt().catch((thrown: unknown) => {
      // A failed interrupt is one that did not end the turn; see below.
      log(`interrupt failed session=${this.options.sessionId}: ${this.clean(reason(thrown))}`)
    })
    if (await within(over, INTERRUPT_MS)) return
    // It still runs, or the interrupt came before the message that it was for.
    if (this.live !== undefined) this.end(this.live, true)
    this.finish(job, cancelled)
  }

  async close(): Promise<void> {
    this.closed = true
    clearTimeout(this.idleTimer)
    clearTimeout(this.watchdog)
    for (const job of this.waiting.splice(0)) job.abort.abort()
    this.running?.abort.abort()
    this.bridge.denyAll('closed')
    if (this.live !== undefined) this.end(this.live, true)
    await this.leaving
  }

  busy(): boolean {
    return this.running !== undefined || this.waiting.length > 0
  }

  async evict(): Promise<void> {
    clearTimeout(this.idleTimer)
    if (this.live !== undefined) this.end(this.live, false)
    await this.leaving
  }

  private submit(turn: Turn, content: Content): void {
    if (content.text === '' && content.attachments.length === 0) {
      throw new Error('The message is empty. Write something, then send again.')
    }
    // Refuses a picture that cannot be sent before the turn begins.
    userMessage(content)
    this.lastText = content.text
    this.waiting.push({
      turn,
      content,
      abort: new AbortController(),
      over: () => {},
      finished: false,
    })
    this.pump()
  }

  private pump(): void {
    if (this.running !== undefined || this.closed) return
    const job = this.waiting.shift()
    if (job === undefined) {
      this.rest()
      return
    }
    this.running = job
    this.answer = ''
    clearTimeout(this.idleTimer)
    void this.begin(job)
  }

  /** Nothing to do: another conversation may have the place, or the clock ends the child. */
  private rest(): void {
    const { live } = this
    if (live === undefined) {
      this.pool.release(this)
      return
    }
    this.pool.idle(this)
    clearTimeout(this.idleTimer)
    this.idleTimer = setTimeout(() => {
      if (!this.busy() && this.live === live) this.end(live, false)
    }, this.settings.idleMs)
    this.idleTimer.unref()
  }

  /** Brings a turn to the SDK, with a new child where there is none. */
  private async begin(job: Job): Promise<void> {
    const { signal } = job.abort
    try {
      const place = await this.pool.acquire(this, signal, () => {
        this.emit({ type: 'rate_limited', message: crowded(this.settings.live) }, job.turn)
      })
      if (!place) return this.finish(job, cancelled)
      await this.leaving
      if (signal.aborted || this.closed) return this.finish(job, cancelled)
      let { text } = job.content
      if (this.live === undefined) {
        if (this.resume === undefined) text = withHistory(text, this.history)
        this.live = this.open()
      }
      this.live.prompt.push(userMessage({ ...job.content, text }))
      this.watch(this.live)
    } catch (thrown) {
      this.finish(job, {
        type: 'error',
        message: `The Claude agent could not be started: ${reason(thrown)}`,
      })
    }
  }

  private open(): Live {
    const { options, sdk } = this
    if (sdk === undefined) throw new Error('the session was not started')
    if (options.projectPath !== '' && !existsSync(options.projectPath)) {
      throw new Error(`the folder ${options.projectPath} does not exist. Choose another project.`)
    }
    const prompt = new Prompt()
    const abort = new AbortController()
    const vendor: Vendor = { child: undefined, gone: Promise.resolve(), stderr: '' }
    const filter = vendorTools(options.allowedTools)
    const sdkOptions: Options = {
      abortController: abort,
      env: childEnv(this.settings, options.apiKey ?? '', options.baseUrl),
      model: this.model,
      // Deliberate: our filter is not the SDK's allowedTools, which would run
      // these tools without asking anybody.
      ...(filter.length === 0 ? {} : { tools: filter.filter((name) => !name.startsWith('mcp__')) }),
      disallowedTools: [...withheld, ...refusedTools(options.mcp)],
      mcpServers: sdkServers(options.mcp.servers, serverEnvironment(this.settings.env)),
      // On the command line every user of the machine could read their secrets.
      mcpServersDelivery: 'initialize',
      strictMcpConfig: true,
      permissionMode: this.sdkMode(),
      canUseTool: this.bridge.canUseTool,
      hooks: {
        PreToolUse: [
          { hooks: [this.bridge.preToolUse], timeout: HOOK_TIMEOUT_S, onFailure: 'block' },
        ],
      },
      includePartialMessages: true,
      // For their usage; what sub-agents say is not shown as the answer.
      forwardSubagentText: true,
      settingSources: [],
      // The check asks the vendor about every address before it is fetched.
      settings: { skipWebFetchPreflight: true },
      thinking: options.thinkingEnabled
        ? { type: 'enabled', budgetTokens: THINKING_TOKENS, display: 'summarized' }
        : { type: 'disabled' },
      spawnClaudeCodeProcess: ({ command, args, cwd, env, signal }): SpawnedProcess => {
        const mark = new Mark()
        const child = spawn(command, args, {
          ...(cwd === undefined ? {} : { cwd }),
          env: { ...env, ...mark.env },
          signal,
          stdio: ['pipe', 'pipe', 'pipe'],
          windowsHide: true,
        })
        this.attach(vendor, child, mark)
        return child
      },
      ...(options.projectPath === '' ? {} : { cwd: options.projectPath }),
      ...(options.systemPrompt === '' ? {} : { systemPrompt: options.systemPrompt }),
      ...(this.resume === undefined ? {} : { resume: this.resume }),
    }
    const query = sdk.query({ prompt, options: sdkOptions })
    const live: Live = { query, prompt, abort, vendor, closing: false, doomed: false }
    void this.consume(live)
    return live
  }

  private attach(vendor: Vendor, child: ChildProcess, mark: Mark): void {
    vendor.child = child
    children.set(mark, child)
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      // Its own error event is the SDK's to report; without a listener it would end us.
      child.on('error', () => {
        // Otherwise it was only told to leave, and its exit is still to come.
        if (child.pid === undefined) resolve()
      })
    })
    vendor.gone = exited
      .then(() => (child.pid === undefined ? undefined : mark.endAll()))
      .catch((thrown: unknown) => {
        log(
          `what claude started may still run session=${this.options.sessionId}: ${reason(thrown)}`,
        )
      })
      .then(() => {
        children.delete(mark)
      })
    child.stderr?.setEncoding('utf8')
    child.stderr?.on('data', (piece: string) => {
      vendor.stderr = (vendor.stderr + piece).slice(-2000)
      for (const line of piece.split('\n')) {
        if (line.trim() !== '') log(`claude session=${this.options.sessionId}: ${this.clean(line)}`)
      }
    })
  }

  private async consume(live: Live): Promise<void> {
    let failure: unknown
    try {
      for await (const message of live.query) {
        if (!live.closing) this.receive(live, message)
        clearTimeout(this.watchdog)
        await this.room()
        if (!live.closing) this.watch(live)
      }
    } catch (thrown) {
      failure = thrown
    }
    if (!live.closing) this.died(live, failure)
  }

  private receive(live: Live, message: unknown): void {
    const translated = translate(this.state, message)
    this.state = translated.state
    if (translated.end === 'unknown_resume') {
      this.startOver(live)
      return
    }
    if (translated.sessionId !== undefined) this.resume = translated.sessionId
    const job = this.running
    if (job === undefined) return
    live.doomed = translated.end === 'error'
    for (const event of translated.events) {
      if (event.type === 'done' || event.type === 'error') {
        this.finish(job, event)
        return
      }
      this.note(live, event)
      this.emit(event, job.turn)
      if (event.type === 'tool_start') this.watchers.get(event.toolUseId)?.()
    }
  }

  private note(live: Live, event: ProviderEvent): void {
    if (event.type === 'chunk') this.answer += event.text
    if (event.type === 'tool_start') {
      this.started.add(event.toolUseId)
      this.calls.add(event.toolUseId)
    }
    if (event.type === 'tool_result') this.calls.delete(event.toolUseId)
    if (event.type !== 'tool_result' || event.name !== 'ExitPlanMode') return
    // The SDK leaves plan mode by itself; the person decides that here.
    if (event.isError || !this.posture.planMode) return
    live.query.setPermissionMode(this.sdkMode()).catch((thrown: unknown) => {
      log(`plan mode not set again session=${this.options.sessionId}: ${reason(thrown)}`)
    })
  }

  /** The SDK does not know the session: the turn is tried again with our own transcript. */
  private startOver(live: Live): void {
    log(`resume token unknown session=${this.options.sessionId}: starting without it`)
    this.resume = undefined
    this.end(live, true)
    if (this.running !== undefined) void this.begin(this.running)
  }

  /**
   * Ends a turn whose child says nothing: it was stopped, or its provider is
   * silent. A call that runs or waits for an answer may take as long as it likes.
   */
  private watch(live: Live): void {
    clearTimeout(this.watchdog)
    this.watchdog = setTimeout(() => {
      const job = this.running
      if (job === undefined || live.closing) return
      if (this.calls.size > 0) {
        this.watch(live)
        return
      }
      this.end(live, true)
      this.finish(job, { type: 'error', message: STALLED })
    }, this.settings.stallMs)
    this.watchdog.unref()
  }

  /** The stream ended without us. */
  private died(live: Live, failure: unknown): void {
    const text = failure === undefined ? 'its stream ended' : this.clean(reason(failure))
    if (text.includes('No conversation found with session ID')) {
      this.startOver(live)
      return
    }
    const { doomed } = live
    this.end(live, true)
    const job = this.running
    if (job === undefined) return
    if (doomed) {
      // It died of the turn before; this one has not begun.
      void this.begin(job)
      return
    }
    const said = this.clean(live.vendor.stderr.trim())
    const tail = said === '' || text.includes(said) ? '' : ` It wrote: ${said}`
    this.finish(job, {
      type: 'error',
      message: `The Claude agent ended unexpectedly: ${text}. Send again to continue.${tail}`,
    })
  }

  /** Ends a child; at once, or when it has written what it has. The next turn waits for it. */
  private end(live: Live, now: boolean): void {
    if (this.live === live) this.live = undefined
    if (live.closing) return
    live.closing = true
    this.pool.release(this)
    this.leaving = this.leave(live, now)
  }

  private async leave(live: Live, now: boolean): Promise<void> {
    const { child, gone } = live.vendor
    live.prompt.end()
    if (now || !(await within(gone, LEAVE_MS))) {
      live.abort.abort()
      live.query.close()
      // The SDK would wait 2 s for it before it says anything.
      child?.kill('SIGTERM')
    }
    if (await within(gone, SIGNAL_MS)) return
    child?.kill('SIGKILL')
    await within(gone, SIGNAL_MS)
  }

  /** Ends a turn, once. */
  private finish(job: Job, event: Terminal): void {
    if (job.finished) return
    job.finished = true
    if (this.running === job) {
      if (this.state.thinking) this.emit({ type: 'thinking_stop' }, job.turn)
      this.state = afterTurn(this.state)
      this.remember({ role: 'user', content: job.content.text })
      this.remember({ role: 'assistant', content: this.answer })
      this.started.clear()
      this.calls.clear()
      clearTimeout(this.watchdog)
    }
    this.emit(this.terminal(job, event), job.turn)
    job.over()
    if (this.running !== job) return
    this.running = undefined
    this.pump()
  }

  private terminal(job: Job, event: Terminal): Terminal {
    // What fails because it was cancelled has not failed.
    const end = event.type === 'error' && job.abort.signal.aborted ? cancelled : event
    if (end.type === 'error') return { ...end, message: this.clean(end.message) }
    if (end.resumeToken !== undefined || this.resume === undefined) return end
    return { ...end, resumeToken: this.resume }
  }

  private remember(message: ResumeMessage): void {
    if (message.content.trim() === '') return
    this.history.push(message)
    let size = this.history.reduce((n, m) => n + m.content.length, 0)
    while (size > MAX_HISTORY_CHARS && this.history.length > 1) {
      size -= this.history.shift()?.content.length ?? 0
    }
  }

  private async tell(
    what: string,
    request: (query: Query) => Promise<unknown>,
    undo: () => void,
  ): Promise<void> {
    const { live } = this
    // Without a child the next one is started with the new value.
    if (live === undefined) return
    const late = new AbortController()
    try {
      // Answers to prompts wait behind this request.
      await Promise.race([request(live.query), tooLate(late.signal)])
    } catch (thrown) {
      if (live.closing) return
      undo()
      throw new Error(`${what} failed: ${this.clean(reason(thrown))}`, { cause: thrown })
    } finally {
      late.abort()
    }
  }

  private async shown(toolUseId: string): Promise<void> {
    if (this.started.has(toolUseId)) return
    const seen = new Promise<void>((resolve) => this.watchers.set(toolUseId, resolve))
    await within(seen, SHOWN_MS)
    this.watchers.delete(toolUseId)
  }

  private sdkMode(): SdkMode {
    if (this.posture.planMode) return 'plan'
    // Never bypassPermissions: it is refused for root, and nothing would be asked.
    return this.posture.permissionMode === 'deny_all' ? 'dontAsk' : 'default'
  }

  private clean(text: string): string {
    const { apiKey } = this.options
    return apiKey === undefined || apiKey === '' ? text : text.replaceAll(apiKey, '[API key]')
  }
}

const cancelled: Terminal = { type: 'done', inputTokens: 0, outputTokens: 0, cancelled: true }

function crowded(live: number): string {
  return `${live} conversations are running with the Claude Agent SDK. This one goes on as soon as one of them ends.`
}

/** Rejects after CONTROL_MS, unless the signal comes first. */
function tooLate(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no answer within ${CONTROL_MS / 1000} s`)),
      CONTROL_MS,
    )
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  })
}

/** Reports whether the promise settled within ms. */
async function within(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** `below` is what every stdio server sees below its own. */
function sdkServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  below: Readonly<Record<string, string>>,
): Record<string, SdkServer> {
  const out: Record<string, SdkServer> = {}
  for (const [name, { type, command, args, env, url, headers }] of Object.entries(servers)) {
    if (type === 'http' || type === 'sse') {
      if (url !== undefined)
        out[name] = { type, url, ...(headers === undefined ? {} : { headers }) }
    } else if (command !== undefined) {
      out[name] = {
        type: 'stdio',
        command,
        args: args ?? [],
        // The vendor's program would hand its own down, key and private home included.
        env: { ...below, ANTHROPIC_API_KEY: '', ...env },
      }
    }
  }
  return out
}

/** Makes the `claude-oauth` provider; its sessions share the places for live children. */
export function createClaude(settings: ClaudeSettings): ProviderFactory {
  const pool = new Pool(settings.live)
  return (options, emit, room) => new ClaudeSession(options, settings, pool, emit, room)
}
