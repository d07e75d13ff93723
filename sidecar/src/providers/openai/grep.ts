// The search of the workspace tools, pure but for the disk. It runs in a thread
// of its own (grepThread.ts): a pattern can keep JavaScript busy for ever, and
// every session of this process would stand still with it.
//
// Source: tools-permissions.md 1 (grep).
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'

import { MAX_READ_BYTES, textIn } from './fence.js'

/** Hits after which a search stops. */
export const MAX_HITS = 100

/** Folders that searches and lists leave out, besides hidden names. */
export const skippedFolders: ReadonlySet<string> = new Set(
  (
    '.git node_modules target dist build .next __pycache__ .venv venv .idea .vscode coverage ' +
    '.turbo .cache .parcel-cache vendor pkg .svelte-kit'
  ).split(' '),
)

/** What is searched. `root` and `start` are true paths; `include` is a glob on the file name. */
export interface GrepRequest {
  readonly root: string
  readonly start: string
  readonly pattern: string
  readonly include: string | undefined
}

/** The lines of the answer. It throws a SyntaxError for a pattern that is none. */
export function grep(request: GrepRequest): string[] {
  const pattern = new RegExp(request.pattern, 'u')
  const wanted = request.include === undefined ? undefined : globOf(request.include)
  const hits: string[] = []
  for (const file of filesBelow(request.start)) {
    if (wanted !== undefined && !wanted.test(basename(file))) continue
    const text = readText(file)
    if (text === undefined) continue
    const shown = relative(request.root, file).replaceAll(sep, '/')
    let number = 0
    for (const line of text.split('\n')) {
      number += 1
      if (!pattern.test(line)) continue
      hits.push(`${shown}:${number}: ${line.trim().slice(0, 2000).toWellFormed()}`)
      if (hits.length >= MAX_HITS) return [...hits, `[stopped at ${MAX_HITS} matches]`]
    }
  }
  return hits
}

function* filesBelow(start: string): Generator<string> {
  if (statSync(start).isFile()) {
    yield start
    return
  }
  let entries
  try {
    entries = readdirSync(start, { withFileTypes: true })
  } catch {
    return
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue
    const path = join(start, entry.name)
    // Links are neither: what they lead to may lie outside.
    if (entry.isFile()) yield path
    if (entry.isDirectory() && !skippedFolders.has(entry.name)) yield* filesBelow(path)
  }
}

function readText(file: string): string | undefined {
  try {
    if (statSync(file).size > MAX_READ_BYTES) return undefined
    return textIn(readFileSync(file))
  } catch {
    return undefined
  }
}

/** A glob of `*`, `?`, `[...]` and `{a,b}` on one name. */
export function globOf(glob: string): RegExp {
  let source = ''
  let braces = 0
  for (let i = 0; i < glob.length; i += 1) {
    const c = glob.charAt(i)
    const close = c === '[' ? glob.indexOf(']', i + 2) : -1
    if (c === '*') source += '.*'
    else if (c === '?') source += '.'
    else if (close > 0) {
      const body = glob.slice(i + 1, close).replace(/[\\\]^]/g, '\\$&')
      source += `[${body.replace(/^!/, '^')}]`
      i = close
    } else if (c === '{' && glob.includes('}', i)) {
      source += '(?:'
      braces += 1
    } else if (c === '}' && braces > 0) {
      source += ')'
      braces -= 1
    } else if (c === ',' && braces > 0) source += '|'
    else source += c.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  }
  return new RegExp(`^${source}${')'.repeat(braces)}$`, 's')
}
