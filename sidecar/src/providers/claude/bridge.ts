// The gates before a tool runs: plan mode, the tool filter, the MCP authority,
// permission prompts and reviewed edits. What has to be asked is parked here by
// tool use id until the host answers; the first answer wins.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'

import type {
  CanUseTool,
  HookCallback,
  PermissionResult,
  SyncHookJSONOutput,
} from '@anthropic-ai/claude-agent-sdk'

import { MAX_FRAME_BYTES } from '../../encode.js'
import { fieldsOf, textOf } from '../../fields.js'
import { reason } from '../../log.js'
import type { EditAnswer, PermissionAnswer, PermissionMode, ProviderEvent } from '../../protocol.js'
import type { McpGrant } from '../types.js'
import { proposal } from './edit.js'
import { pathOf, writeTools } from './translate.js'

/** What the gates may do and when; the session changes it as the host says. */
export interface Posture {
  planMode: boolean
  permissionMode: PermissionMode
  approveWrites: boolean
}

/** What the bridge needs of its session. */
export interface BridgeOptions {
  posture: Readonly<Posture>
  projectPath: string
  /** Empty means all. */
  allowedTools: readonly string[]
  mcp: McpGrant
  emit: (event: ProviderEvent) => void
  /** Resolves when the `tool_start` of a call has been sent; a prompt never precedes it. */
  shown: (toolUseId: string) => Promise<void>
  /** We wrote the file of this call ourselves. */
  applied: (toolUseId: string) => void
}

/** Denied while plan mode is on; allowing them would run them (real-parts.md 2). */
const plannedAway: ReadonlySet<string> = new Set([...writeTools, 'Bash'])

/** Files above this are not shown for review or kept as baselines. Source: tools-permissions.md 8. */
const MAX_TEXT_BYTES = 2_000_000

/** Names under which a filter of ours knows the vendor's tools. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  read_file: ['Read'],
  write_file: ['Write'],
  edit_file: ['Edit', 'MultiEdit', 'NotebookEdit'],
  list_directory: ['LS', 'Glob'],
  grep: ['Grep'],
  bash: ['Bash'],
}

/** A filter of the host in the vendor's names. */
export function vendorTools(allowed: readonly string[]): string[] {
  return [...new Set(allowed.flatMap((name) => aliases[name] ?? [name]))]
}

/** MCP tools, in the vendor's names, that are refused whatever they are called with. */
export function refusedTools(mcp: McpGrant): string[] {
  return Object.entries(mcp.tools).flatMap(([server, tools]) =>
    tools
      .filter((tool) => !mcp.decide(server, tagOf(tool), {}).allowed)
      .map((tool) => `mcp__${tagOf(server)}__${tagOf(tool)}`),
  )
}

/** A name as the vendor writes it in the name of a tool. */
function tagOf(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

/**
 * Servers by the name that the vendor builds tool names with; undefined where
 * two servers share one, since a call could then mean either.
 */
export function serversByTag(names: readonly string[]): Map<string, string | undefined> {
  const byTag = new Map<string, string | undefined>()
  for (const name of names) {
    const tag = tagOf(name)
    byTag.set(tag, byTag.has(tag) ? undefined : name)
  }
  return byTag
}

const go: SyncHookJSONOutput = { continue: true }

/** Makes the SDK call canUseTool whatever its own rules say of the call. */
const ask: SyncHookJSONOutput = {
  continue: true,
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' },
}

function stop(why: string): SyncHookJSONOutput {
  return {
    continue: true,
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: why,
    },
  }
}

type Verdict = { approved: true; merged: string | undefined } | { approved: false; why: string }

interface ParkedEdit {
  settle: (verdict: Verdict) => void
}

interface ParkedPrompt {
  input: Record<string, unknown>
  settle: (result: PermissionResult) => void
}

/** See the top of this file. */
export class Bridge {
  private readonly prompts = new Map<string, ParkedPrompt>()
  private readonly edits = new Map<string, ParkedEdit>()
  private readonly filter: ReadonlySet<string>
  private readonly servers: Map<string, string | undefined>

  constructor(private readonly options: BridgeOptions) {
    this.filter = new Set(vendorTools(options.allowedTools))
    this.servers = serversByTag(Object.keys(options.mcp.servers))
  }

  /** The SDK asks whether a tool may run. */
  readonly canUseTool: CanUseTool = async (name, input, { toolUseID, signal }) => {
    const refused = this.refusal(name)
    if (refused !== undefined) return { behavior: 'deny', message: refused }
    await this.options.shown(toolUseID)
    if (signal.aborted) return aborted
    return new Promise((resolve) => {
      this.prompts.get(toolUseID)?.settle({ behavior: 'deny', message: 'asked again' })
      const abort = (): void => settle(aborted)
      const settle = (result: PermissionResult): void => {
        signal.removeEventListener('abort', abort)
        if (this.prompts.get(toolUseID) === parked) this.prompts.delete(toolUseID)
        resolve(result)
      }
      const parked: ParkedPrompt = { input, settle }
      this.prompts.set(toolUseID, parked)
      signal.addEventListener('abort', abort, { once: true })
      this.options.emit({ type: 'permission_request', toolUseId: toolUseID, name, input })
    })
  }

  /** Runs before every tool, also before those that never ask. */
  readonly preToolUse: HookCallback = async (hook, id, { signal }) => {
    if (hook.hook_event_name !== 'PreToolUse') return go
    const name = hook.tool_name
    const gate = this.mcpRefusal(name, hook.tool_input) ?? this.refusal(name)
    if (gate !== undefined) return stop(gate)
    if (!writeTools.has(name) && name !== 'Bash') return go
    // The vendor denies these itself in this mode, but only after this hook.
    if (this.options.posture.permissionMode === 'deny_all') {
      return stop('Permissions: all risky tools are denied.')
    }
    // The vendor lets commands run unasked that it takes for harmless; here the
    // host judges every command.
    if (name === 'Bash') return ask
    const path = pathOf(hook.tool_input)
    const toolUseId = hook.tool_use_id ?? id
    if (path === undefined || toolUseId === undefined) return go
    return this.edit(name, hook.tool_input, path, toolUseId, signal)
  }

  /** Throws when no prompt waits for the id. */
  respondPermission(answer: PermissionAnswer): void {
    const parked = this.prompts.get(answer.toolUseId)
    if (parked === undefined) {
      throw new Error(
        `No permission request is waiting for ${answer.toolUseId}. It was answered already, or its turn has ended.`,
      )
    }
    if (answer.decision === 'deny') {
      parked.settle({ behavior: 'deny', message: denial(answer) })
      return
    }
    parked.settle({ behavior: 'allow', updatedInput: parked.input })
  }

  /** Throws when no edit waits for the id. */
  respondEdit(answer: EditAnswer): void {
    const parked = this.edits.get(answer.toolUseId)
    if (parked === undefined) {
      throw new Error(
        `No edit is waiting for ${answer.toolUseId}. It was answered already, or its turn has ended.`,
      )
    }
    parked.settle(
      answer.approved
        ? { approved: true, merged: answer.mergedContent }
        : { approved: false, why: 'User rejected edit' },
    )
  }

  /** Denies everything that is parked, without interrupting the turn. */
  denyAll(why: string): void {
    for (const parked of [...this.prompts.values()]) {
      parked.settle({ behavior: 'deny', message: why })
    }
    for (const parked of [...this.edits.values()]) parked.settle({ approved: false, why })
  }

  private refusal(name: string): string | undefined {
    if (this.filter.size > 0 && !this.filter.has(name)) {
      return `Tool '${name}' is outside this session's allowed tool set.`
    }
    if (this.options.posture.planMode && plannedAway.has(name)) {
      return `Plan mode is active \u2014 '${name}' is disabled. Ask the user to exit plan mode first.`
    }
    return undefined
  }

  private mcpRefusal(name: string, input: unknown): string | undefined {
    const call = /^mcp__(.*?)__(.*)$/s.exec(name)
    if (call === null) return undefined
    const [, tag = '', tool = ''] = call
    const server = this.servers.has(tag) ? this.servers.get(tag) : tag
    if (server === undefined) {
      return `Two MCP servers are called ${tag}. Rename one of them, then reconnect.`
    }
    const decision = this.options.mcp.decide(server, tool, input ?? {})
    return decision.allowed ? undefined : decision.reason
  }

  private async edit(
    name: string,
    input: unknown,
    path: string,
    toolUseId: string,
    signal: AbortSignal,
  ): Promise<SyncHookJSONOutput> {
    const file = isAbsolute(path) ? path : resolve(this.options.projectPath, path)
    const current = await read(file)
    const { emit, posture } = this.options
    if (!posture.approveWrites) {
      if (current.kind === 'unreadable') return go
      await this.options.shown(toolUseId)
      const before = current.kind === 'text' ? { before: current.text } : {}
      emit({ type: 'edit_baseline', toolUseId, path, ...before })
      return go
    }
    if (current.kind === 'unreadable') return stop(`${current.why} It cannot be shown for review.`)
    const before = current.kind === 'text' ? current.text : undefined
    const after = proposal(name, input, before)
    // The tool will refuse it in its own words.
    if (after === undefined) return go
    const event: ProviderEvent = {
      type: 'pending_edit',
      toolUseId,
      path,
      ...(before === undefined ? {} : { before }),
      after,
    }
    // Room for the session and turn ids that are added.
    if (Buffer.byteLength(JSON.stringify(event)) > MAX_FRAME_BYTES - 4096) {
      return stop('This edit is too large to be shown for review. Make it in smaller steps.')
    }
    await this.options.shown(toolUseId)
    const verdict = await this.park(event, toolUseId, signal)
    if (!verdict.approved) return stop(verdict.why)
    if (verdict.merged === undefined) return go
    return this.write(file, path, before, verdict.merged, toolUseId)
  }

  private park(event: ProviderEvent, toolUseId: string, signal: AbortSignal): Promise<Verdict> {
    if (signal.aborted) return Promise.resolve({ approved: false, why: 'cancelled' })
    return new Promise((resolve) => {
      this.edits.get(toolUseId)?.settle({ approved: false, why: 'asked again' })
      const abort = (): void => settle({ approved: false, why: 'cancelled' })
      const settle = (verdict: Verdict): void => {
        signal.removeEventListener('abort', abort)
        if (this.edits.get(toolUseId) === parked) this.edits.delete(toolUseId)
        resolve(verdict)
      }
      const parked: ParkedEdit = { settle }
      this.edits.set(toolUseId, parked)
      signal.addEventListener('abort', abort, { once: true })
      this.options.emit(event)
    })
  }

  /** The person's version is written by us; the tool, which has another, must not run. */
  private async write(
    file: string,
    path: string,
    before: string | undefined,
    merged: string,
    toolUseId: string,
  ): Promise<SyncHookJSONOutput> {
    const now = await read(file)
    const same =
      now.kind === 'text' ? now.text === before : now.kind === 'new' && before === undefined
    if (!same) {
      return stop(
        `${path} changed while this edit was under review, so nothing was written. Read it and propose the edit again.`,
      )
    }
    try {
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, merged)
    } catch (thrown) {
      return stop(`${path} could not be written: ${reason(thrown)}`)
    }
    this.options.applied(toolUseId)
    return stop(
      `The user changed this edit before applying it, and the user's version was written to ${path}. Read the file before you edit it again.`,
    )
  }
}

const aborted: PermissionResult = { behavior: 'deny', message: 'cancelled', interrupt: true }

/** What the model is told. Source: sidecar-protocol.md 12.2, permission bridge. */
function denial(answer: PermissionAnswer): string {
  switch (answer.by) {
    case 'policy':
      return 'denied by policy'
    case 'timeout':
      return 'permission request timed out'
    case 'cancel':
      return 'User cancelled this tool'
    case 'user': {
      const why = answer.reason?.trim() ?? ''
      return why === '' ? 'denied by user' : `Denied by user. User's guidance: ${why}`
    }
  }
}

type Current =
  { kind: 'new' } | { kind: 'text'; text: string } | { kind: 'unreadable'; why: string }

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

async function read(file: string): Promise<Current> {
  try {
    const { size } = await stat(file)
    if (size > MAX_TEXT_BYTES) {
      return { kind: 'unreadable', why: `This file is larger than ${MAX_TEXT_BYTES} bytes.` }
    }
    const bytes = await readFile(file)
    if (bytes.includes(0)) return { kind: 'unreadable', why: 'This file is not text.' }
    return { kind: 'text', text: strict.decode(bytes) }
  } catch (thrown) {
    const code = textOf(fieldsOf(thrown)?.['code'])
    if (code === 'ENOENT') return { kind: 'new' }
    if (thrown instanceof TypeError)
      return { kind: 'unreadable', why: 'This file is not UTF-8 text.' }
    return { kind: 'unreadable', why: `This file cannot be read (${code ?? reason(thrown)}).` }
  }
}
