// The MCP files of this disk, for a session whose host is on another machine.
// Nothing but names leaves: no command, environment, header or secret.
//
// Source: sidecar-protocol.md 6.
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

import { fieldsOf, textOf } from '../fields.js'
import { log, reason } from '../log.js'
import type { McpReadError, McpServerConfig, McpSource } from '../protocol.js'
import type { LoadSources } from '../providers/types.js'
import { transportOf } from './trust.js'

type Scope = McpSource['scope']

type Found = { servers: [string, McpServerConfig | undefined][]; error?: McpReadError }

/** Reads `~/.claude/settings.json` and `.mcp.json` of the project. */
export const loadSources: LoadSources = (projectPath) => loadFrom(home(), projectPath)

/** loadSources with a home directory of choice; an empty one counts as missing. */
export async function loadFrom(homeDir: string, projectPath: string): ReturnType<LoadSources> {
  const path = join('~', '.claude', 'settings.json')
  const found: [Scope, Found][] = [
    [
      'global',
      homeDir === ''
        ? failed('global', path, 'The home directory is not known. Set HOME, then start again.')
        : await read('global', join(homeDir, '.claude', 'settings.json')),
    ],
  ]
  if (projectPath !== '')
    found.push(['project', await read('project', join(projectPath, '.mcp.json'))])

  const sources = new Map<string, McpSource>()
  const servers: Record<string, McpServerConfig> = {}
  const readErrors: McpReadError[] = []
  for (const [scope, { servers: own, error }] of found) {
    if (error !== undefined) {
      log(`mcp file unreadable scope=${scope} path=${error.path}: ${error.message}`)
      readErrors.push(error)
    }
    for (const [name, server] of own) {
      // The project's entry wins, also when it is disabled or cannot be used.
      sources.delete(name)
      delete servers[name]
      if (server === undefined) continue
      servers[name] = server
      sources.set(name, { name, transport: transportOf(server), scope })
    }
  }
  return { servers, sources: [...sources.values()], readErrors }
}

function home(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}

function failed(scope: Scope, path: string, message: string): Found {
  return { servers: [], error: { scope, path, message } }
}

async function read(scope: Scope, path: string): Promise<Found> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (thrown) {
    const code = textOf(fieldsOf(thrown)?.['code'])
    if (code === 'ENOENT' || code === 'ENOTDIR') return { servers: [] }
    return failed(scope, path, `The file cannot be read (${code ?? reason(thrown)}).`)
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own text would quote the file, secrets included.
    return failed(scope, path, 'The file is not valid JSON. Mend it, then start again.')
  }
  const fields = fieldsOf(parsed)
  if (fields === undefined) {
    return failed(scope, path, 'The file does not hold a JSON object. Mend it, then start again.')
  }
  const map = fields['mcpServers'] ?? {}
  const entries = fieldsOf(map)
  if (entries === undefined) {
    return failed(scope, path, 'mcpServers is not an object. Mend it, then start again.')
  }
  return { servers: Object.entries(entries).map(([name, entry]) => [name, serverOf(entry)]) }
}

/** undefined is an entry that is disabled or says nothing that could be started. */
function serverOf(entry: unknown): McpServerConfig | undefined {
  const fields = fieldsOf(entry)
  if (fields === undefined || fields['disabled'] === true) return undefined
  const { type, command, url } = fields
  if (type === 'http' || type === 'sse') {
    const headers = textMap(fields['headers'])
    if (typeof url !== 'string') return undefined
    return { type, url, ...(headers === undefined ? {} : { headers }) }
  }
  if (typeof command !== 'string' || command === '') return undefined
  const { args } = fields
  const env = textMap(fields['env'])
  return {
    type: 'stdio',
    command,
    args: Array.isArray(args) ? args.filter((arg) => typeof arg === 'string') : [],
    ...(env === undefined ? {} : { env }),
  }
}

function textMap(value: unknown): Record<string, string> | undefined {
  const fields = fieldsOf(value)
  if (fields === undefined) return undefined
  const out: Record<string, string> = {}
  for (const [name, member] of Object.entries(fields)) {
    if (typeof member === 'string') out[name] = member
  }
  return out
}
