// One turn: a run of the SDK and its continuations. Where calls need leave, the
// run ends, its state is kept as text, and once all of them are answered a new
// run goes on from there; no stream is open meanwhile.
//
// The turn works on a copy of the conversation's items, so that a run that was
// given up cannot write into those of the next turn.
import { randomUUID } from 'node:crypto'

import type * as Sdk from '@openai/agents'
import type { Agent, AgentInputItem, Model, RunState, RunToolApprovalItem } from '@openai/agents'

import { fieldsOf, textOf } from '../../fields.js'
import type { ProviderEvent } from '../../protocol.js'
import { STALLED } from '../stall.js'
import { INCOMPLETE } from './failure.js'
import { texts, type Gates, type Verdict } from './gates.js'
import { assistantItem, repaired, userItem, type Content } from './history.js'
import type { Reporter } from './toolbox.js'
import {
  begun,
  ended,
  initial,
  modelEvent,
  parsed,
  runEvent,
  say,
  settled,
  type State,
  type Step,
} from './translate.js'
import { countsOf, type Counts } from './usage.js'

/** Requests to the model in one run. Source: sidecar-protocol.md 12.3. */
const MAX_STEPS = 25

/** The package, once it is loaded. */
export type Agents = typeof Sdk
type SdkRunner = InstanceType<Agents['Runner']>
type Memory = InstanceType<Agents['MemorySession']>

/** How a turn ends. */
export type Terminal = Extract<ProviderEvent, { type: 'done' | 'error' }>

/** What a turn needs of its session. */
export interface TurnOptions {
  readonly content: Content
  /** The conversation before this turn. */
  readonly before: readonly AgentInputItem[]
  readonly gates: Gates
  /** How long the provider may say nothing, ms. */
  readonly stallMs: number
  readonly emit: (event: ProviderEvent) => void
  readonly room: () => Promise<void>
  /** Lets a tool run without being asked about from now on. */
  readonly allow: (tool: string) => void
}

/** See the top of this file. */
export class TurnRun implements Reporter {
  private readonly abortion = new AbortController()
  private state: State = initial
  private memory: Memory | undefined
  private usage: unknown
  /** Tools that run and pieces that wait for the host: until then the provider may be silent. */
  private working = 0
  private stalled = false
  /** Called when the provider says something. */
  private alive: () => void = () => {}
  private over = false

  constructor(private readonly options: TurnOptions) {}

  get signal(): AbortSignal {
    return this.abortion.signal
  }

  abort(): void {
    this.abortion.abort()
  }

  /** Watches the answers of a model on their way to the SDK, and slows them down for a slow host. */
  tap(model: Model): Model {
    const stream = model.getStreamedResponse.bind(model)
    const watch = async (event: unknown): Promise<void> => {
      this.alive()
      this.take(modelEvent(this.state, event))
      await this.passed()
    }
    model.getStreamedResponse = async function* (request) {
      for await (const event of stream(request)) {
        await watch(event)
        yield event
      }
    }
    return model
  }

  /** What the provider said inside a stream about its own failure. */
  get failure(): string | undefined {
    return this.state.failure
  }

  /** Runs to the end; it throws what the SDK throws. The counts are another question. */
  async conduct(agents: Agents, runner: SdkRunner, agent: Agent): Promise<Terminal> {
    const memory = new agents.MemorySession({ initialItems: [...this.options.before] })
    this.memory = memory
    let input: AgentInputItem[] | RunState<undefined, Agent> = [userItem(this.options.content)]
    for (;;) {
      const run = await runner.run(agent, input, {
        stream: true,
        signal: this.signal,
        maxTurns: MAX_STEPS,
        session: memory,
        errorHandlers: {
          // It was shown, and the turn is over as after any answer.
          modelRefusal: ({ error }) => ({
            finalOutput: textOf(fieldsOf(error)?.['refusal']) ?? '',
            includeInHistory: true,
          }),
        },
      })
      try {
        await this.consume(run)
      } catch (thrown) {
        // A request that nobody answered fails when it is given up.
        if (!this.stalled) throw thrown
      } finally {
        this.usage = run.state.usage
      }
      if (this.stalled) return { type: 'error', message: STALLED }
      if (this.signal.aborted) return cancelled
      if (run.interruptions.length === 0) break
      const saved = run.state.toString()
      const verdicts = await this.ask(run.interruptions)
      if (this.signal.aborted) return cancelled
      input = await resume(agents, agent, saved, verdicts)
    }
    if (this.state.unfinished) return { type: 'error', message: INCOMPLETE }
    return { type: 'done', inputTokens: 0, outputTokens: 0 }
  }

  /** The counts so far. */
  counts(): Counts {
    return countsOf(this.usage)
  }

  /** Ends what is open on the screen; nothing is emitted afterwards. */
  settle(output: string): void {
    this.take(settled(this.state, output))
    this.over = true
  }

  /** The conversation after this turn, in a form that can be sent again. */
  async items(): Promise<AgentInputItem[]> {
    const { before, content } = this.options
    const kept = (await this.memory?.getItems()) ?? [...before]
    // A run that failed early has not kept what was said.
    const all = kept.length > before.length ? kept : [...kept, userItem(content)]
    const done = repaired(all, texts.cancelledByUser)
    const { partial } = this.state
    const last = done.at(-1)
    const known = last !== undefined && 'role' in last && last.role === 'assistant'
    return partial.trim() === '' || known ? done : [...done, assistantItem(partial)]
  }

  begun(toolUseId: string, name: string, input: unknown): void {
    this.working += 1
    this.take(begun(this.state, toolUseId, name, input))
  }

  ended(toolUseId: string, output: string, isError: boolean): void {
    this.working -= 1
    this.take(ended(this.state, toolUseId, output, isError))
  }

  say(event: ProviderEvent): void {
    this.take(say(this.state, event))
  }

  private take(step: Step): void {
    if (this.over) return
    this.state = step.state
    for (const event of step.events) this.options.emit(event)
  }

  private async consume(run: AsyncIterable<unknown> & { completed: Promise<void> }): Promise<void> {
    // Rejects with what the iteration throws.
    run.completed.catch(() => {})
    const watchdog = setTimeout(() => {
      if (this.working > 0) {
        watchdog.refresh()
        return
      }
      // A cancel came first: that is how the turn ends.
      if (this.signal.aborted) return
      this.stalled = true
      this.abort()
    }, this.options.stallMs)
    this.alive = () => watchdog.refresh()
    try {
      for await (const event of run) {
        this.alive()
        this.take(runEvent(this.state, event))
        await this.passed()
      }
      await run.completed
    } finally {
      clearTimeout(watchdog)
      this.alive = () => {}
    }
  }

  /** Waits for the host to read; that the provider is silent meanwhile is our doing. */
  private async passed(): Promise<void> {
    this.working += 1
    try {
      await this.options.room()
    } finally {
      this.working -= 1
      this.alive()
    }
  }

  /** Asks about all of them, and resolves when all are answered. */
  private async ask(items: readonly RunToolApprovalItem[]): Promise<Map<string, Verdict>> {
    const size = items.filter((item) => fieldsOf(parsed(item.arguments)) !== undefined).length
    const batch = size > 1 ? { batchId: randomUUID(), batchSize: size } : {}
    const verdicts = new Map<string, Verdict>()
    const answers = items.map(async (item) => {
      const id = callOf(item)
      const name = item.name ?? ''
      const input = parsed(item.arguments)
      // The SDK wants leave for what it cannot read. There is nothing to ask
      // about: such a call is refused when it runs, with words for the model.
      if (fieldsOf(input) === undefined) {
        verdicts.set(id, { refusal: undefined, always: false })
        return
      }
      const answer = this.options.gates.ask(id)
      this.take(begun(this.state, id, name, input))
      this.say({ type: 'permission_request', toolUseId: id, name, input, ...batch })
      const verdict = await answer
      if (verdict.always) this.options.allow(name)
      verdicts.set(id, verdict)
    })
    await Promise.all(answers)
    return verdicts
  }
}

const cancelled: Terminal = { type: 'done', inputTokens: 0, outputTokens: 0, cancelled: true }

function callOf(item: RunToolApprovalItem): string {
  return 'callId' in item.rawItem ? (textOf(item.rawItem.callId) ?? '') : ''
}

async function resume(
  agents: Agents,
  agent: Agent,
  saved: string,
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<RunState<undefined, Agent>> {
  const state = await agents.RunState.fromString<undefined, Agent>(agent, saved)
  for (const item of state.getInterruptions()) {
    const verdict = verdicts.get(callOf(item))
    if (verdict === undefined) throw new Error('a call that nobody was asked about')
    if (verdict.refusal === undefined) state.approve(item)
    else state.reject(item, { message: verdict.refusal })
  }
  return state
}
