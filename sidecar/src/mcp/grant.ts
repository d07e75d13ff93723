// The MCP authority of a session, made once at its start and frozen: which
// servers it may use, what they offer, and the verdict on each call.
//
// Every granted server is asked for its tools, all at once. For one that may
// only read, the tools that call themselves read-only are added to its list; for
// one that may write, the list is only used to hide what would be refused. A
// server that does not answer gets nothing added, and the session still starts.
import { log, reason } from '../log.js'
import type { McpServerConfig } from '../protocol.js'
import type { GrantServers, McpGrant } from '../providers/types.js'
import { probe, type ProbedTool } from './probe.js'
import { decide, probed, starts, trustOf, type McpTrust } from './trust.js'

/** What the program decides about granting. */
export interface GrantSettings {
  /** How long one server may take to list its tools, in ms. */
  readonly probeMs: number
  /** Environment of stdio servers, below their own. */
  readonly env: Readonly<Record<string, string>>
  /** ms since epoch. */
  readonly now: () => number
}

/** How long one server may take to list its tools, ms. Source: sidecar-protocol.md 9. */
export const defaultProbeMs = 30_000

/** Makes the function that the registry calls at each start. */
export function createGrants(settings: GrantSettings): GrantServers {
  return async ({ servers, snapshot, projectPath }) => {
    const trust = trustOf(servers, snapshot, projectPath, settings.now())
    const granted = Object.entries(servers).filter(([name, server]) =>
      starts(trust.get(name), server),
    )
    const asked = await Promise.all(
      granted.map(async ([name, server]) => [name, await ask(name, server)] as const),
    )
    const tools: Record<string, readonly string[]> = {}
    for (const [name, found] of asked) {
      const entry = trust.get(name)
      if (found === undefined || entry === undefined) continue
      tools[name] = found.map((tool) => tool.name)
      if (entry.allowWrites) continue
      const readOnly = found.filter((tool) => tool.readOnly).map((tool) => tool.name)
      trust.set(name, probed(entry, readOnly, settings.now()))
    }
    return grantOf(Object.fromEntries(granted), trust, tools)

    async function ask(name: string, server: McpServerConfig): Promise<ProbedTool[] | undefined> {
      try {
        return await probe(server, { projectPath, env: settings.env, timeoutMs: settings.probeMs })
      } catch (thrown) {
        log(`mcp server gave no list of tools server=${name}: ${reason(thrown)}`)
        return undefined
      }
    }
  }
}

function grantOf(
  servers: Record<string, McpServerConfig>,
  trust: ReadonlyMap<string, McpTrust>,
  tools: Readonly<Record<string, readonly string[]>>,
): McpGrant {
  const entry = (server: string): McpTrust | undefined =>
    Object.hasOwn(servers, server) ? trust.get(server) : undefined
  return {
    servers,
    tools,
    decide: (server, tool, args) => decide(entry(server), tool, args),
    verified: (server, tool) =>
      entry(server)?.allowWrites === false && decide(entry(server), tool, {}).allowed,
  }
}
