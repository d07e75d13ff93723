// The provider `openai-agents`: the OpenAI Agents SDK, which runs in this
// process. One turn runs at a time. The provider keeps no session, so there is
// no resume token; the conversation's items are kept here and start from
// `resumeMessages`.
//
// Source: sidecar-protocol.md 12.3, real-parts.md 2.
import type { Agent, AgentInputItem, ModelSettings, Runner, Tool } from '@openai/agents'
import type { OpenAI } from 'openai'

import { serverEnvironment, type Environment } from '../environment.js'
import { log } from '../log.js'
import type { EditAnswer, ImageAttachment, PermissionAnswer } from '../protocol.js'
import { permissionModeOf } from '../request.js'
import { failureText } from './openai/failure.js'
import { Gates, texts } from './openai/gates.js'
import { resumedItems, userItem, type Content } from './openai/history.js'
import { McpTools } from './openai/mcpTools.js'
import { Shell } from './openai/shell.js'
import { Toolbox, type Posture } from './openai/toolbox.js'
import { TurnRun, type Agents, type Terminal } from './openai/turn.js'
import { loadSdk } from './sdk.js'
import type {
  Emit,
  PostureMode,
  ProviderFactory,
  ProviderSession,
  SessionOptions,
  Turn,
} from './types.js'

const importSdk = async () => {
  const [agents, openai] = await Promise.all([import('@openai/agents'), import('openai')])
  return { agents, openai }
}

/** Requests are tried this often again: an address that cannot be reached shows within 10 s. */
const MAX_RETRIES = 2

/** How long a cancelled run may take to end before its turn ends without it, ms. */
const ABORT_MS = 2500

/** Where the vendor's API is. */
const VENDOR_URL = 'https://api.openai.com/v1'

/** What the program decides for every session of this provider. */
export interface OpenAISettings {
  /** The model endpoint where it is not the vendor's own. */
  readonly baseUrl: string | undefined
  /** How long a reviewed edit may wait, ms. */
  readonly editMs: number
  /** How long the provider may say nothing, ms. */
  readonly stallMs: number
  /** The environment of this process. */
  readonly env: Environment
}

/** How long a reviewed edit may wait, ms. Source: sidecar-protocol.md 9. */
export const defaultEditMs = 600_000

/** Reports whether a model is asked through the Responses API, or Chat Completions. */
export function usesResponses(model: string): boolean {
  return /^(gpt-5|gpt-6|o1|o3|o4)/.test(model)
}

interface Job {
  readonly turn: Turn
  readonly content: Content
  /** Whether it replaces the turn before it. */
  readonly again: boolean
  run: TurnRun | undefined
  finished: boolean
  /** Called when the turn has ended. */
  over: () => void
}

/** What a started session has. */
interface Loaded {
  readonly agents: Agents
  readonly client: OpenAI
  readonly runner: Runner
  readonly mcp: McpTools
}

const cancelled: Terminal = { type: 'done', inputTokens: 0, outputTokens: 0, cancelled: true }

class OpenAISession implements ProviderSession {
  private loaded: Loaded | undefined
  private readonly posture: Posture
  private readonly gates: Gates
  private readonly shell: Shell
  private readonly toolbox: Toolbox
  private model: string
  private items: readonly AgentInputItem[]
  private running: Job | undefined
  /** The last turn and the conversation before it, for a retry. */
  private last: { content: Content; before: readonly AgentInputItem[] } | undefined
  private readonly waiting: Job[] = []
  private closed = false

  constructor(
    private readonly options: SessionOptions,
    private readonly settings: OpenAISettings,
    private readonly emit: Emit,
    private readonly room: () => Promise<void>,
  ) {
    const { planMode, permissionMode, approveWrites, projectPath, allowedTools, mcp } = options
    this.model = options.model
    this.posture = { planMode, permissionMode, approveWrites }
    this.items = resumedItems(options.resumeMessages)
    this.gates = new Gates(settings.editMs)
    this.shell = new Shell(projectPath, settings.env)
    const { posture, gates, shell } = this
    this.toolbox = new Toolbox({ posture, projectPath, allowedTools, mcp, gates, shell })
  }

  async start(turn: Turn): Promise<void> {
    const apiKey = this.options.apiKey ?? ''
    if (apiKey.trim() === '') {
      throw new Error('No API key configured for openai-agents. Set one in Settings > API Keys.')
    }
    const { agents, openai } = await loadSdk('openai', importSdk)
    // It would go to the vendor whatever the endpoint is.
    agents.setTracingDisabled(true)
    const client = new openai.OpenAI({
      apiKey,
      baseURL: this.endpoint(),
      // Otherwise read from the environment.
      organization: null,
      project: null,
      maxRetries: MAX_RETRIES,
      logLevel: 'off',
      fetch: (input, init) => this.fetch(input, init),
    })
    this.loaded = {
      agents,
      client,
      runner: new agents.Runner({
        modelProvider: new agents.OpenAIProvider({ openAIClient: client }),
        tracingDisabled: true,
        traceIncludeSensitiveData: false,
        toolNotFoundBehavior: 'return_error_to_model',
        toolErrorFormatter: ({ kind, toolName, defaultMessage }) =>
          kind === 'tool_not_found' ? texts.notOffered(toolName) : defaultMessage,
      }),
      mcp: new McpTools({
        grant: this.options.mcp,
        projectPath: this.options.projectPath,
        env: serverEnvironment(this.settings.env),
        make: (options) => new agents.MCPServerStdio(options),
      }),
    }
    const { initialMessage, attachments } = this.options
    if (initialMessage !== '' || attachments.length > 0) {
      this.submit(turn, { text: initialMessage, attachments }, false)
    }
  }

  sendMessage(turn: Turn, content: string, attachments: readonly ImageAttachment[]): void {
    this.submit(turn, { text: content, attachments }, false)
  }

  retry(turn: Turn): void {
    if (this.last === undefined) throw new Error('No message to retry')
    this.submit(turn, this.last.content, true)
  }

  respondPermission(answer: PermissionAnswer): void {
    this.gates.respondPermission(answer)
  }

  respondEdit(answer: EditAnswer): void {
    this.gates.respondEdit(answer)
  }

  setPermissionMode(mode: PostureMode): void {
    this.posture.planMode = mode === 'plan'
    if (mode !== 'plan') this.posture.permissionMode = permissionModeOf(mode)
  }

  setApproveWrites(approveWrites: boolean): void {
    this.posture.approveWrites = approveWrites
  }

  setModel(model: string): void {
    this.model = model
  }

  cancelPendingTools(): void {
    this.gates.refuseAll(texts.userCancelled)
  }

  async cancel(): Promise<void> {
    for (const job of this.waiting.splice(0)) await this.finish(job, cancelled)
    const job = this.running
    if (job === undefined) return
    const over = new Promise<void>((resolve) => {
      job.over = resolve
    })
    this.abort(job)
    if (await within(over, ABORT_MS)) return
    // Whatever it still does is its own affair: it has its own copy of the items.
    await this.finish(job, cancelled)
  }

  async close(): Promise<void> {
    this.closed = true
    this.waiting.length = 0
    if (this.running !== undefined) this.abort(this.running)
    this.shell.endAll()
    await this.loaded?.mcp.close()
  }

  private abort(job: Job): void {
    // Aborted first, so that what is refused now starts no other request.
    job.run?.abort()
    this.gates.refuseAll(texts.cancelledByUser)
    this.shell.endAll()
  }

  private submit(turn: Turn, content: Content, again: boolean): void {
    if (content.text === '' && content.attachments.length === 0) {
      throw new Error('The message is empty. Write something, then send again.')
    }
    // Refuses a picture that cannot be sent before the turn begins.
    userItem(content)
    this.waiting.push({ turn, content, again, run: undefined, finished: false, over: () => {} })
    this.pump()
  }

  private pump(): void {
    if (this.running !== undefined || this.closed) return
    const job = this.waiting.shift()
    if (job === undefined) return
    this.running = job
    // What the turn that is tried again said is forgotten.
    const before = job.again && this.last !== undefined ? this.last.before : this.items
    this.last = { content: job.content, before }
    const run = new TurnRun({
      content: job.content,
      before,
      gates: this.gates,
      stallMs: this.settings.stallMs,
      emit: (event) => this.emit(event, job.turn),
      room: this.room,
      allow: (tool) => this.toolbox.allow(tool),
    })
    job.run = run
    void this.conduct(run).then((end) => this.finish(job, end))
  }

  /** It never throws: how a turn failed is how it ends. */
  private async conduct(run: TurnRun): Promise<Terminal> {
    try {
      const { loaded } = this
      if (loaded === undefined) throw new Error('the session was not started')
      await this.toolbox.check()
      const mcp = await unless(run.signal, loaded.mcp.list())
      if (mcp === undefined) return cancelled
      const tools = this.toolbox.tools(loaded.agents.tool, mcp, run)
      return await run.conduct(loaded.agents, loaded.runner, this.agent(loaded, run, tools))
    } catch (thrown) {
      // What fails because it was cancelled has not failed.
      if (run.signal.aborted) return cancelled
      const text =
        run.failure === undefined
          ? failureText(thrown, this.endpoint())
          : `OpenAI gave the answer up: ${run.failure} Send again to retry.`
      return { type: 'error', message: this.clean(text) }
    }
  }

  private agent({ agents, client }: Loaded, run: TurnRun, tools: Tool[]): Agent {
    const { model } = this
    const { systemPrompt, thinkingEnabled } = this.options
    const responses = usesResponses(model)
    const modelSettings: ModelSettings =
      responses && thinkingEnabled ? { reasoning: { effort: 'medium', summary: 'auto' } } : {}
    return new agents.Agent({
      name: 'packetbench',
      ...(systemPrompt === '' ? {} : { instructions: systemPrompt }),
      // Objects, not names: a name would be looked up with a client of the process.
      model: run.tap(
        responses
          ? new agents.OpenAIResponsesModel(client, model)
          : new agents.OpenAIChatCompletionsModel(client, model),
      ),
      modelSettings,
      tools,
    })
  }

  /** Ends a turn, once. */
  private async finish(job: Job, end: Terminal): Promise<void> {
    if (job.finished) return
    job.finished = true
    const { run } = job
    if (run !== undefined) {
      run.settle(end.type === 'error' ? end.message : texts.cancelledByUser)
      this.items = await run.items()
    }
    const counts = run?.counts()
    if (counts !== undefined && counts.inputTokens + counts.outputTokens > 0) {
      this.emit({ type: 'turn_summary', ...counts }, job.turn)
    }
    if (end.type === 'error') this.emit(end, job.turn)
    else this.emit({ ...end, ...doneCounts(counts) }, job.turn)
    job.over()
    if (this.running !== job) return
    this.running = undefined
    this.pump()
  }

  /** Every request of the session passes here: it tells of a limit before the client waits for it. */
  private async fetch(
    input: Parameters<typeof fetch>[0],
    init: Parameters<typeof fetch>[1],
  ): Promise<Response> {
    const response = await fetch(input, init)
    if (response.status === 429 || response.status === 529) {
      const tried = Number(new Headers(init?.headers).get('x-stainless-retry-count') ?? '0')
      if (tried < MAX_RETRIES) {
        const seconds = retryAfter(response.headers, Date.now())
        this.emit(
          {
            type: 'rate_limited',
            ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
          },
          this.running?.turn,
        )
      }
      log(`rate limited session=${this.options.sessionId} status=${response.status} try=${tried}`)
    }
    return response
  }

  private endpoint(): string {
    return this.options.baseUrl ?? this.settings.baseUrl ?? VENDOR_URL
  }

  private clean(text: string): string {
    const { apiKey } = this.options
    return apiKey === undefined || apiKey === '' ? text : text.replaceAll(apiKey, '[API key]')
  }
}

function doneCounts(counts: ReturnType<TurnRun['counts']> | undefined): {
  inputTokens: number
  outputTokens: number
  cacheReadInputTokens?: number
} {
  if (counts === undefined) return { inputTokens: 0, outputTokens: 0 }
  const { inputTokens, outputTokens, cacheReadInputTokens } = counts
  return { inputTokens, outputTokens, cacheReadInputTokens }
}

/** Seconds of a Retry-After header, a number or a date. `now` is ms since epoch. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const given = headers.get('retry-after')
  if (given === null || given.trim() === '') return undefined
  const seconds = Number(given)
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds : undefined
  const date = Date.parse(given)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}

/** The value, or undefined once the signal came. */
async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T | undefined> {
  if (signal.aborted) return undefined
  let abort = (): void => {}
  const aborted = new Promise<undefined>((resolve) => {
    abort = () => resolve(undefined)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
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

/** Makes the `openai-agents` provider. */
export function createOpenAIAgents(settings: OpenAISettings): ProviderFactory {
  return (options, emit, room) => new OpenAISession(options, settings, emit, room)
}
