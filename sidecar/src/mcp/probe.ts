// Asks an MCP server for its tools, once, before a session starts.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

import { log, reason } from '../log.js'
import type { McpServerConfig } from '../protocol.js'

/** Most pages of one list. Source: mcp-state.md 3, native client limits. */
const MAX_PAGES = 64

/** One tool of a server; `readOnly` is its own claim that it changes nothing. */
export interface ProbedTool {
  readonly name: string
  readonly readOnly: boolean
}

/** How a server is asked. */
export interface ProbeOptions {
  /** Working directory of a stdio server; empty is ours. */
  readonly projectPath: string
  /** Environment of a stdio server, below its own. */
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** The tools of a server. It throws when the server does not answer in time. */
export async function probe(server: McpServerConfig, options: ProbeOptions): Promise<ProbedTool[]> {
  const [sdk, transport] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    transportTo(server, options),
  ])
  const client = new sdk.Client(
    { name: 'packetbench-trust-probe', version: '1.0.0' },
    // Servers offer more to a client that can more; a vendor's can all of this.
    {
      capabilities: {
        roots: { listChanged: true },
        elicitation: { form: {}, url: {} },
        sampling: {},
      },
    },
  )
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), options.timeoutMs)
  try {
    const deadline = new Promise<never>((_, reject) => {
      late.signal.addEventListener('abort', () =>
        reject(new Error(`no answer within ${options.timeoutMs} ms`)),
      )
    })
    return await Promise.race([list(client, transport, options.timeoutMs), deadline])
  } finally {
    clearTimeout(timer)
    // Ending a server can take seconds; the session need not wait for that.
    transport.close().catch((thrown: unknown) => log(`mcp probe not closed: ${reason(thrown)}`))
  }
}

async function list(client: Client, transport: Transport, timeout: number): Promise<ProbedTool[]> {
  await client.connect(transport, { timeout })
  const tools: ProbedTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout })
    for (const tool of answer.tools) {
      tools.push({ name: tool.name, readOnly: tool.annotations?.readOnlyHint === true })
    }
    cursor = answer.nextCursor
    if (cursor === undefined) return tools
  }
  throw new Error(`its list of tools has more than ${MAX_PAGES} pages`)
}

async function transportTo(server: McpServerConfig, options: ProbeOptions): Promise<Transport> {
  if (server.type === 'http' || server.type === 'sse') {
    if (server.url === undefined) throw new Error('it has no url')
    const url = new URL(server.url)
    const requestInit = { headers: server.headers ?? {}, redirect: 'error' } as const
    if (server.type === 'sse') {
      const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js')
      return new SSEClientTransport(url, { requestInit })
    }
    const sdk = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
    const http = new sdk.StreamableHTTPClientTransport(url, { requestInit })
    return adapted(http)
  }
  if (server.command === undefined) throw new Error('it has no command')
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
  return new StdioClientTransport({
    command: server.command,
    args: server.args ?? [],
    env: { ...options.env, ...server.env },
    // What a server prints is of interest when it is used, not when it is asked.
    stderr: 'ignore',
    ...(options.projectPath === '' ? {} : { cwd: options.projectPath }),
  })
}

/** The same transport in the type that the client takes, which is stricter. */
function adapted(http: StreamableHTTPClientTransport): Transport {
  const transport: Transport = {
    start: () => http.start(),
    send: (message) => http.send(message),
    close: () => http.close(),
    setProtocolVersion: (version) => http.setProtocolVersion(version),
  }
  http.onmessage = (message) => transport.onmessage?.(message)
  http.onclose = () => transport.onclose?.()
  http.onerror = (error) => transport.onerror?.(error)
  return transport
}
