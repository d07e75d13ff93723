// Names under which MCP tools are offered to a model that knows no servers.
import { Buffer } from 'node:buffer'

/** The longest name that every model API takes. */
const MAX_NAME = 64

/**
 * `mcp__<server>__<tool>`. Where a character had to be replaced, or the name is
 * too long, a hash of the true names keeps two tools apart.
 * Source: mcp-state.md 3, tool naming.
 */
export function toolName(server: string, tool: string): string {
  const s = plain(server)
  const t = plain(tool)
  const name = `mcp__${s}__${t}`
  if (s === server && t === tool && name.length <= MAX_NAME) return name
  const budget = MAX_NAME - 'mcp__'.length - '__'.length - '_'.length - 12
  const half = Math.floor(budget / 2)
  const serverShare = Math.max(half, budget - t.length)
  const toolShare = budget - Math.min(s.length, serverShare)
  return `mcp__${s.slice(0, serverShare)}__${t.slice(0, toolShare)}_${hash12(server, tool)}`
}

function plain(name: string): string {
  return name === '' ? '_' : name.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** The first 12 hex digits of FNV-1a 64 over server, 0xFF, tool. */
function hash12(server: string, tool: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of [...Buffer.from(server), 0xff, ...Buffer.from(tool)]) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
  }
  return hash.toString(16).padStart(16, '0').slice(0, 12)
}
