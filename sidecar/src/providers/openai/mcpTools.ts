// The granted stdio servers of a session as tools of its agent. What the trust
// refuses is not offered, and each call is decided again with its arguments.
import type { MCPServerStdio } from '@openai/agents'

import { fieldsOf, listOf, textOf } from '../../fields.js'
import { log, reason } from '../../log.js'
import { toolName } from '../../mcp/names.js'
import type { McpGrant } from '../types.js'
import { ToolError } from './fence.js'
import type { Schema } from './tools.js'

/** Connecting, listing and a call may each take this long, ms. Source: mcp-state.md 3. */
const REQUEST_MS = 30_000

type MakeServer = (
  options: ConstructorParameters<typeof MCPServerStdio>[0],
) => Pick<MCPServerStdio, 'connect' | 'listTools' | 'callToolResult' | 'close'>

/** One tool that may be offered. */
export interface McpTool {
  /** What the model calls it. */
  readonly name: string
  readonly server: string
  readonly tool: string
  readonly description: string
  readonly schema: Schema
  /** Throws a ToolError where the tool itself failed. */
  readonly call: (args: Record<string, unknown>, signal: AbortSignal) => Promise<string>
}

/** The servers of one session; the first turn connects them, close ends them. */
export class McpTools {
  private readonly servers: ReturnType<MakeServer>[] = []
  private found: Promise<McpTool[]> | undefined
  private closed = false

  constructor(
    private readonly options: {
      readonly grant: McpGrant
      readonly projectPath: string
      /** Environment of the servers, below their own. */
      readonly env: Readonly<Record<string, string>>
      readonly make: MakeServer
    },
  ) {}

  /** What may be offered. A server that fails loses its own tools only. */
  list(): Promise<McpTool[]> {
    this.found ??= this.connectAll()
    return this.found
  }

  async close(): Promise<void> {
    this.closed = true
    await Promise.allSettled(this.servers.map((server) => server.close()))
  }

  private async connectAll(): Promise<McpTool[]> {
    const { servers } = this.options.grant
    const lists = await Promise.all(
      Object.entries(servers).map(async ([name, { type, command, args, env }]) => {
        if (type === 'http' || type === 'sse' || command === undefined) {
          log(`mcp server skipped server=${name}: the OpenAI agent takes stdio servers only`)
          return []
        }
        try {
          return await this.connect(name, command, args ?? [], env ?? {})
        } catch (thrown) {
          log(`mcp server failed server=${name}: ${reason(thrown)}`)
          return []
        }
      }),
    )
    const byName = new Map<string, McpTool>()
    for (const tool of lists.flat()) {
      // A call of such a name could mean either.
      if (byName.has(tool.name)) log(`mcp tool left out, its name is taken: ${tool.name}`)
      else byName.set(tool.name, tool)
    }
    return [...byName.values()]
  }

  private async connect(
    name: string,
    command: string,
    args: string[],
    env: Record<string, string>,
  ): Promise<McpTool[]> {
    const { grant, projectPath, make } = this.options
    const server = make({
      name,
      command,
      args,
      env: { ...this.options.env, ...env },
      cacheToolsList: true,
      clientSessionTimeoutSeconds: REQUEST_MS / 1000,
      timeout: REQUEST_MS,
      toolFilter: (_context, tool) => Promise.resolve(grant.decide(name, tool.name, {}).allowed),
      ...(projectPath === '' ? {} : { cwd: projectPath }),
    })
    this.servers.push(server)
    await within(server.connect(), 'connect')
    if (this.closed) {
      await server.close()
      return []
    }
    const tools = await within(server.listTools(), 'list its tools')
    return tools
      .filter((tool) => grant.decide(name, tool.name, {}).allowed)
      .map((tool) => ({
        name: toolName(name, tool.name),
        server: name,
        tool: tool.name,
        description: tool.description ?? '',
        schema: schemaIn(tool.inputSchema),
        call: async (given, signal) => {
          const decision = grant.decide(name, tool.name, given)
          if (!decision.allowed) throw new ToolError(decision.reason)
          return resultText(await server.callToolResult(tool.name, given, null, { signal }))
        },
      }))
  }
}

/** A server's schema in the shape that the SDK wants; servers leave out what they do not need. */
function schemaIn(given: unknown): Schema {
  const schema = fieldsOf(given) ?? {}
  const properties: Record<string, object> = {}
  for (const [name, value] of Object.entries(fieldsOf(schema['properties']) ?? {})) {
    properties[name] = fieldsOf(value) ?? {}
  }
  const { required } = schema
  return {
    ...schema,
    type: 'object',
    properties,
    required: Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
    additionalProperties: true,
  }
}

/** Text blocks joined by line breaks, else the structured content; other blocks as JSON. */
function resultText(result: unknown): string {
  const f = fieldsOf(result) ?? {}
  const blocks = listOf(f['content']).map((block) =>
    block['type'] === 'text' ? (textOf(block['text']) ?? '') : JSON.stringify(block),
  )
  const structured = f['structuredContent']
  const text =
    blocks.length === 0 && structured !== undefined ? JSON.stringify(structured) : blocks.join('\n')
  if (f['isError'] === true) throw new ToolError(text)
  return text
}

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`it did not ${what} within ${REQUEST_MS / 1000} s`)),
      REQUEST_MS,
    )
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
