// The tools of a session as the SDK takes them: which are offered, which are
// asked about, which are refused, and the review of edits.
//
// The gates, in this order: offered at all, plan mode, deny-all, permission (the
// SDK ends the run for it), edit review or baseline, the tool itself.
// Source: sidecar-protocol.md 12.3, tools-permissions.md 6.
import { randomUUID } from 'node:crypto'

import type { tool as makeTool, Tool } from '@openai/agents'

import { MAX_FRAME_BYTES } from '../../encode.js'
import { fieldsOf } from '../../fields.js'
import { log, reason } from '../../log.js'
import type { PermissionMode, ProviderEvent } from '../../protocol.js'
import type { McpGrant } from '../types.js'
import { Fence, ToolError, type Current } from './fence.js'
import { texts, type Gates } from './gates.js'
import type { McpTool } from './mcpTools.js'
import type { Shell } from './shell.js'
import {
  argument,
  bashTool,
  grepTool,
  listDirectoryTool,
  ownTools,
  planTools,
  readFileTool,
  riskyTools,
  schemaOf,
  type Schema,
  type OwnTool,
} from './tools.js'

/** What may be done and when; the session changes it as the host says. */
export interface Posture {
  planMode: boolean
  permissionMode: PermissionMode
  approveWrites: boolean
}

/** The turn that a tool runs in. */
export interface Reporter {
  readonly signal: AbortSignal
  /** Shows a call, unless it was shown. */
  begun(toolUseId: string, name: string, input: unknown): void
  /** Shows its result, unless that was shown. */
  ended(toolUseId: string, output: string, isError: boolean): void
  say(event: ProviderEvent): void
}

/** What a tool answers with. */
interface Outcome {
  readonly output: string
  readonly isError: boolean
}

/** One call on its way. */
interface Call {
  readonly id: string
  readonly input: unknown
  readonly reporter: Reporter
}

interface Offer {
  readonly name: string
  readonly description: string
  readonly parameters: Schema
  readonly risky: boolean
  readonly run: (call: Call) => Promise<Outcome>
}

type MakeTool = typeof makeTool

/** A refusal of ours: the same words for the model and the person, as they are. */
class Refusal extends Error {}

/** See the top of this file. */
export class Toolbox {
  private readonly always = new Set<string>()
  private fence: Promise<Fence> | undefined

  constructor(
    private readonly options: {
      readonly posture: Readonly<Posture>
      readonly projectPath: string
      /** Empty means all. */
      readonly allowedTools: readonly string[]
      readonly mcp: McpGrant
      readonly gates: Gates
      readonly shell: Shell
    },
  ) {}

  /** Lets a tool run without being asked about, for the rest of the session. */
  allow(name: string): void {
    this.always.add(name)
  }

  /** Throws a ToolError when the session has a project folder and it is not there. */
  async check(): Promise<void> {
    if (this.options.projectPath === '') return
    this.fence = undefined
    await this.project()
  }

  /** The tools of one turn. */
  tools(make: MakeTool, mcp: readonly McpTool[], reporter: Reporter): Tool[] {
    const { allowedTools } = this.options
    // Stays asked about whatever the posture becomes, so that a denial holds.
    const asked = new Set<string>()
    return [...this.ownOffers(), ...mcp.map((tool) => this.mcpOffer(tool))]
      .filter((offer) => allowedTools.length === 0 || allowedTools.includes(offer.name))
      .map((offer) => {
        const made = make({
          name: offer.name,
          description: offer.description,
          parameters: offer.parameters,
          strict: false,
          needsApproval: (_context, _input, callId) => {
            const ask = asked.has(callId ?? '') || this.asks(offer)
            if (ask) asked.add(callId ?? '')
            return Promise.resolve(ask)
          },
          execute: (input, _context, details) =>
            this.run(offer, {
              id: details?.toolCall?.callId ?? randomUUID(),
              input: input ?? {},
              reporter,
            }),
          errorFunction: (_context, thrown) => {
            log(`tool call refused tool=${offer.name}: ${reason(thrown)}`)
            return texts.invalidArguments
          },
        })
        // The SDK writes "_" for "-", which would make one name of two.
        made.name = offer.name
        return made
      })
  }

  private asks(offer: Offer): boolean {
    const { permissionMode, approveWrites } = this.options.posture
    if (!offer.risky || this.refusal(offer) !== undefined) return false
    if (permissionMode === 'allow_all' || this.always.has(offer.name)) return false
    return !(offer.name === 'write_file' && approveWrites)
  }

  private refusal(offer: Offer): string | undefined {
    const { planMode, permissionMode } = this.options.posture
    if (planMode && !planTools.has(offer.name)) return texts.plan(offer.name)
    if (offer.risky && permissionMode === 'deny_all') return texts.denyAll
    return undefined
  }

  private async run(offer: Offer, call: Call): Promise<string> {
    const { reporter } = call
    reporter.begun(call.id, offer.name, call.input)
    const { output, isError } = await this.outcome(offer, call)
    // What fails because it was cancelled has not failed.
    const shown = reporter.signal.aborted && isError ? texts.cancelledByUser : output
    reporter.ended(call.id, shown, isError)
    return shown
  }

  private async outcome(offer: Offer, call: Call): Promise<Outcome> {
    const refused = this.refusal(offer)
    if (refused !== undefined) return { output: refused, isError: true }
    if (fieldsOf(call.input) === undefined) return { output: texts.invalidArguments, isError: true }
    if (call.reporter.signal.aborted) return { output: texts.cancelledByUser, isError: true }
    try {
      return await offer.run(call)
    } catch (thrown) {
      if (thrown instanceof Refusal) return { output: thrown.message, isError: true }
      if (thrown instanceof ToolError) return { output: `Error: ${thrown.message}`, isError: true }
      log(`tool failed tool=${offer.name}: ${reason(thrown)}`)
      return {
        output: `Error: the tool ${offer.name} failed (${reason(thrown)}). Try another way.`,
        isError: true,
      }
    }
  }

  private ownOffers(): Offer[] {
    const plain = (output: Promise<string>): Promise<Outcome> =>
      output.then((text) => ({ output: text, isError: false }))
    const run: Record<OwnTool, Offer['run']> = {
      read_file: async ({ input }) => plain(readFileTool(await this.project(), input)),
      list_directory: async ({ input }) => plain(listDirectoryTool(await this.project(), input)),
      grep: async ({ input, reporter }) =>
        plain(grepTool(await this.project(), input, reporter.signal)),
      bash: (call) => this.bash(call),
      write_file: (call) => this.writeFile(call),
    }
    return ownTools.map((spec) => ({
      name: spec.name,
      description: spec.description,
      parameters: schemaOf(spec),
      risky: riskyTools.has(spec.name),
      run: run[spec.name],
    }))
  }

  private mcpOffer(tool: McpTool): Offer {
    return {
      name: tool.name,
      description: tool.description,
      parameters: tool.schema,
      risky: !this.options.mcp.verified(tool.server, tool.tool),
      run: async ({ input, reporter }) => ({
        output: await tool.call(fieldsOf(input) ?? {}, reporter.signal),
        isError: false,
      }),
    }
  }

  private project(): Promise<Fence> {
    this.fence ??= Fence.around(this.options.projectPath)
    return this.fence
  }

  private async bash({ id, input, reporter }: Call): Promise<Outcome> {
    const { result, output, isError } = await bashTool(this.options.shell, input, reporter.signal)
    const { exitCode, stdout, stderr } = result
    reporter.say({ type: 'tool_output_extended', toolUseId: id, exitCode, stdout, stderr })
    return { output, isError }
  }

  private async writeFile(call: Call): Promise<Outcome> {
    const { id, input, reporter } = call
    const path = argument(input, 'path')
    const proposed = argument(input, 'content')
    const fence = await this.project()
    const target = await fence.target(path)
    const before = await fence.current(path, target)
    const content = this.options.posture.approveWrites
      ? await this.reviewed(call, path, before, proposed)
      : this.baseline(call, path, before, proposed)
    if (this.options.posture.planMode) throw new Refusal(texts.plan('write_file'))
    if (!same(before, await fence.current(path, target))) {
      throw new ToolError(
        `${path} changed while this edit waited, so nothing was written. Read it and propose the edit again.`,
      )
    }
    const bytes = await fence.write(path, target, content)
    reporter.say({ type: 'tool_output_extended', toolUseId: id, modifiedPaths: [path] })
    const note =
      content === proposed ? '' : ' The user changed the text before applying it; read the file.'
    return { output: `Wrote ${bytes} bytes to ${fence.shown(target)}.${note}`, isError: false }
  }

  private baseline(
    { id, reporter }: Call,
    path: string,
    before: Current,
    proposed: string,
  ): string {
    // Without the old text there is nothing to show: it would read as a new file.
    if (before.kind !== 'other') {
      reporter.say({ type: 'edit_baseline', toolUseId: id, path, ...beforeOf(before) })
    }
    return proposed
  }

  /** The text that the person approved. */
  private async reviewed(
    { id, reporter }: Call,
    path: string,
    before: Current,
    proposed: string,
  ): Promise<string> {
    if (before.kind === 'other') throw new ToolError(`${before.why} It cannot be shown for review.`)
    const event: ProviderEvent = {
      type: 'pending_edit',
      toolUseId: id,
      path,
      ...beforeOf(before),
      after: proposed,
    }
    // Room for the session and turn ids that are added.
    if (Buffer.byteLength(JSON.stringify(event)) > MAX_FRAME_BYTES - 4096) {
      throw new ToolError(
        'This edit is too large to be shown for review. Make it in smaller steps.',
      )
    }
    const answer = this.options.gates.review(id)
    reporter.say(event)
    const verdict = await answer
    if (!verdict.approved) throw new Refusal(verdict.why)
    return verdict.merged ?? proposed
  }
}

function beforeOf(current: Current): { before?: string } {
  return current.kind === 'text' ? { before: current.text } : {}
}

function same(a: Current, b: Current): boolean {
  if (a.kind === 'text' && b.kind === 'text') return a.text === b.text
  return a.kind === b.kind
}
