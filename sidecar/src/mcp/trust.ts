// The frozen trust of a session and the decision about each MCP call: pure, no
// disk, no clock. The same table holds in the service.
//
// An absent snapshot and an empty one are different things: the first is an
// older conversation, which gets read-only defaults, the second grants nothing.
//
// Source: sidecar-protocol.md 5, mcp-state.md 3.
import { isAbsolute, posix, resolve, sep, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'

import { fieldsOf, textOf } from '../fields.js'
import type { McpServerConfig } from '../protocol.js'
import type { McpDecision } from '../providers/types.js'

const floors = ['credentials', 'outside_workspace', 'protected_publish'] as const

/** What is refused whatever else was granted. */
export type DenialFloor = (typeof floors)[number]

/** What one server may do, as it was when the session was started. */
export interface McpTrust {
  readonly schemaVersion: 1
  /** `<scope>:<name>`; `runtime:<name>` for a default. */
  readonly serverId: string
  readonly serverName: string
  readonly workspacePath: string | undefined
  readonly allowReads: boolean
  readonly allowWrites: boolean
  /** Leave to reach an http or sse server; not asked for stdio. */
  readonly allowNetwork: boolean
  readonly allowedRoots: readonly string[]
  readonly allowedToolNames: readonly string[]
  readonly denialFloors: readonly DenialFloor[]
  readonly revision: number
  /** ms since epoch. */
  readonly updatedAt: number
  /** ms since epoch; set once the tools of the server were looked at. */
  readonly capabilityCheckedAt: number | undefined
}

/** How a server is reached; whatever is not http or sse is a program. */
export function transportOf(server: McpServerConfig): 'stdio' | 'http' | 'sse' {
  return server.type === 'http' || server.type === 'sse' ? server.type : 'stdio'
}

/**
 * The entry of each server that has exactly one. `now` is ms since epoch.
 *
 * An entry that cannot be read grants nothing: leaving out the one field that is
 * wrong could turn a refusal into a grant. Two entries of one name grant nothing
 * either, because either could be the one that was meant.
 */
export function trustOf(
  servers: Readonly<Record<string, McpServerConfig>>,
  snapshot: readonly unknown[] | undefined,
  projectPath: string,
  now: number,
): Map<string, McpTrust> {
  const out = new Map<string, McpTrust>()
  if (snapshot === undefined) {
    for (const [name, server] of Object.entries(servers)) {
      out.set(name, migrated(name, server, projectPath, now))
    }
    return out
  }
  const seen = new Set<string>()
  for (const entry of snapshot) {
    const name = textOf(fieldsOf(entry)?.['serverName'])
    if (name === undefined) continue
    const trust = readEntry(entry, name)
    if (trust === undefined || seen.has(name)) out.delete(name)
    else out.set(name, trust)
    seen.add(name)
  }
  return out
}

/** What a server gets where no snapshot was taken. */
function migrated(
  name: string,
  server: McpServerConfig,
  projectPath: string,
  now: number,
): McpTrust {
  return {
    schemaVersion: 1,
    serverId: `runtime:${name}`,
    serverName: name,
    workspacePath: projectPath === '' ? undefined : projectPath,
    allowReads: true,
    allowWrites: false,
    allowNetwork: transportOf(server) === 'stdio',
    allowedRoots: projectPath === '' ? [] : [projectPath],
    allowedToolNames: [],
    denialFloors: floors,
    revision: 1,
    updatedAt: now,
    capabilityCheckedAt: undefined,
  }
}

function readEntry(value: unknown, serverName: string): McpTrust | undefined {
  const f = fieldsOf(value)
  const serverId = textOf(f?.['serverId'])
  const roots = textsOf(f?.['allowedRoots'])
  const tools = textsOf(f?.['allowedToolNames'])
  const denied = textsOf(f?.['denialFloors'])?.map((name) => floors.find((known) => known === name))
  const { allowReads, allowWrites, allowNetwork } = f ?? {}
  if (f?.['schemaVersion'] !== 1 || serverId?.endsWith(`:${serverName}`) !== true) return undefined
  if (roots === undefined || tools === undefined || denied === undefined) return undefined
  // A floor that is not known here could not be held.
  const denialFloors = denied.filter((floor) => floor !== undefined)
  if (denialFloors.length !== denied.length) return undefined
  if (typeof allowReads !== 'boolean') return undefined
  if (typeof allowWrites !== 'boolean' || typeof allowNetwork !== 'boolean') return undefined
  return {
    schemaVersion: 1,
    serverId,
    serverName,
    workspacePath: textOf(f['workspacePath']),
    allowReads,
    allowWrites,
    allowNetwork,
    allowedRoots: roots,
    allowedToolNames: tools,
    denialFloors,
    revision: numberOf(f['revision']) ?? 1,
    updatedAt: numberOf(f['updatedAt']) ?? 0,
    capabilityCheckedAt: numberOf(f['capabilityCheckedAt']),
  }
}

function textsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const texts = value.filter((member) => typeof member === 'string')
  return texts.length === value.length ? texts : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Reports whether a server may be started at all. */
export function starts(trust: McpTrust | undefined, server: McpServerConfig): boolean {
  if (trust?.allowReads !== true) return false
  return transportOf(server) === 'stdio' || trust.allowNetwork
}

/** The entry once the server was asked: `readOnly` are its tools with readOnlyHint. */
export function probed(trust: McpTrust, readOnly: readonly string[], now: number): McpTrust {
  return {
    ...trust,
    allowedToolNames: [...new Set([...trust.allowedToolNames, ...readOnly])],
    capabilityCheckedAt: now,
  }
}

const credentialWords = [
  'credential',
  'secret',
  'token',
  'password',
  'keyring',
  'private_key',
  'private-key',
  'auth',
]

const publishWords = [
  'push',
  'publish',
  'merge',
  'release',
  'deploy',
  'tag',
  'pull_request',
  'pull-request',
]

// Broad on purpose: "set" hits "dataset" too.
const mutatingWords = [
  'write',
  'create',
  'update',
  'delete',
  'remove',
  'move',
  'rename',
  'post',
  'send',
  'merge',
  'push',
  'publish',
  'archive',
  'close',
  'reopen',
  'assign',
  'set',
  'execute',
  'run',
]

const mutatingTokens: ReadonlySet<string> = new Set([
  ...mutatingWords,
  ...'exec edit patch apply commit mkdir rmdir chmod chown append prepend put save store modify'.split(
    ' ',
  ),
  ...'insert upsert drop truncate alter upload install uninstall mutate destroy purge wipe'.split(
    ' ',
  ),
  ...'overwrite replace unlink mount unmount format kill terminate revoke grant restart reset'.split(
    ' ',
  ),
])

const pathWords = ['path', 'file', 'folder', 'directory', 'dir', 'root', 'cwd', 'workspace']

function holds(name: string, words: readonly string[]): boolean {
  const lower = name.toLowerCase()
  return words.some((word) => lower.includes(word))
}

/** Reports whether the name of a tool looks as if calling it changes something. */
export function looksMutating(name: string): boolean {
  if (holds(name, mutatingWords)) return true
  const tokens = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
  return tokens.some((token) => mutatingTokens.has(token))
}

/**
 * The verdict on one call; the first row that matches decides. `args` of `{}`
 * decides whether the tool is offered at all.
 */
export function decide(trust: McpTrust | undefined, tool: string, args: unknown): McpDecision {
  if (trust?.allowReads !== true) {
    return no('This MCP server was not granted to this conversation.')
  }
  const floor = (name: DenialFloor): boolean => trust.denialFloors.includes(name)
  const named = trust.allowedToolNames.includes(tool)
  if (trust.capabilityCheckedAt !== undefined && !named) {
    return no(`The MCP tool ${tool} is not on the list that was frozen for this conversation.`)
  }
  if (floor('credentials') && holds(tool, credentialWords)) {
    return no(`The MCP tool ${tool} looks as if it handles credentials, which is never allowed.`)
  }
  if (floor('protected_publish') && holds(tool, publishWords)) {
    return no(`The MCP tool ${tool} looks as if it publishes something, which is never allowed.`)
  }
  if (!trust.allowWrites && looksMutating(tool)) {
    return no(`The MCP tool ${tool} looks as if it changes something, and writes are off.`)
  }
  if (!trust.allowWrites && !named) {
    return no(`The MCP tool ${tool} is not verified as read-only, and writes are off.`)
  }
  if (floor('outside_workspace') && reachesOut(args, false, trust.allowedRoots)) {
    return no(`The MCP tool ${tool} was given a path outside the folders it may use.`)
  }
  return { allowed: true }
}

function no(reason: string): McpDecision {
  return { allowed: false, reason }
}

/** Reports whether a text under a key that means a path lies outside every root. */
function reachesOut(value: unknown, isPath: boolean, roots: readonly string[]): boolean {
  if (typeof value === 'string') return isPath && !roots.some((root) => inside(root, value))
  if (Array.isArray(value)) return value.some((member) => reachesOut(member, isPath, roots))
  const fields = fieldsOf(value)
  if (fields === undefined) return false
  return Object.entries(fields).some(([key, member]) =>
    // What lies below such a key is meant as a path too: {"paths": ["/etc"]}.
    reachesOut(member, isPath || holds(key, pathWords), roots),
  )
}

/**
 * Reports whether a path stays within a root, by its text alone. Whatever a
 * server might read as another place counts as outside: a home, a drive or a
 * share, and links that are no plain file URLs.
 */
function inside(root: string, given: string): boolean {
  const text = given.trim()
  if (text.includes('\0') || !isAbsolute(root)) return false
  if (/^file:/i.test(text)) {
    try {
      return within(root, fileURLToPath(new URL(text)))
    } catch {
      return false
    }
  }
  if (text.startsWith('~')) return false
  const elsewhere = /^[A-Za-z]:/.test(text) || /^[\\/]{2}/.test(text)
  if (sep === posix.sep && (elsewhere || win32.isAbsolute(text)) && !posix.isAbsolute(text)) {
    return false
  }
  // A server may take either slash.
  return within(root, text) && within(root, text.replaceAll('\\', '/'))
}

function within(root: string, path: string): boolean {
  const base = resolve(root)
  const full = resolve(base, path)
  return full === base || full.startsWith(base.endsWith(sep) ? base : base + sep)
}
