// The workspace tools that the model is offered, without the SDK: their
// schemas, what is asked before they run, and what they do.
//
// Source: tools-permissions.md 1, sidecar-protocol.md 12.3.
import { readdir, stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

import { fieldsOf, textOf } from '../../fields.js'
import { textIn, ToolError, type Fence } from './fence.js'
import { skippedFolders } from './grep.js'
import {
  capped,
  DEFAULT_SECONDS,
  MAX_OUTPUT_BYTES,
  MAX_SECONDS,
  type CommandResult,
  type Shell,
} from './shell.js'

/** How long a search may take, ms. */
const GREP_MS = 30_000

interface Property {
  readonly type: 'string' | 'integer'
  readonly description: string
}

/** One tool of ours. */
export interface ToolSpec {
  readonly name: OwnTool
  readonly description: string
  readonly properties: Readonly<Record<string, Property>>
  readonly required: readonly string[]
}

/** Names of our tools. */
export type OwnTool = 'read_file' | 'write_file' | 'list_directory' | 'bash' | 'grep'

const text = (description: string): Property => ({ type: 'string', description })

/** In the order in which they are offered. */
export const ownTools: readonly ToolSpec[] = [
  {
    name: 'read_file',
    description:
      'Read a text file of the project and return it as it is. Files above 2,000,000 bytes are refused.',
    properties: { path: text('The file, relative to the project root or absolute inside it.') },
    required: ['path'],
  },
  {
    name: 'write_file',
    description:
      'Write a whole file of the project, replacing what it held. Missing folders are created.',
    properties: {
      path: text('The file, relative to the project root or absolute inside it.'),
      content: text('The whole new text of the file.'),
    },
    required: ['path', 'content'],
  },
  {
    name: 'list_directory',
    description:
      'List one folder of the project, sorted, folders marked with [DIR]. Hidden names and the folders of dependencies and build results are left out.',
    properties: { path: text('The folder; the project root when absent.') },
    required: [],
  },
  {
    name: 'bash',
    description:
      'Run a shell command in the project root. Returns its output and, on failure, its exit code. Nothing can be typed into it.',
    properties: {
      command: text('The command line.'),
      timeout: {
        type: 'integer',
        description: `Seconds it may take, ${DEFAULT_SECONDS} when absent, at most ${MAX_SECONDS}.`,
      },
    },
    required: ['command'],
  },
  {
    name: 'grep',
    description:
      'Search the text files of the project with a JavaScript regular expression. Returns path:line: text, at most 100 matches. Hidden names, links and the folders of dependencies and build results are skipped.',
    properties: {
      pattern: text('The regular expression.'),
      path: text('The folder or file to search; the whole project when absent.'),
      include: text('A glob on the file name, such as *.ts.'),
    },
    required: ['pattern'],
  },
]

/** Tools that change something: they ask, and plan mode and deny-all refuse them. */
export const riskyTools: ReadonlySet<string> = new Set<OwnTool>(['bash', 'write_file'])

/** What plan mode leaves. Source: contract.md 6.7. */
export const planTools: ReadonlySet<string> = new Set<OwnTool>([
  'read_file',
  'list_directory',
  'grep',
])

/** A text argument. It throws a ToolError where it is missing or something else. */
export function argument(input: unknown, name: string): string {
  const value = textOf(fieldsOf(input)?.[name])
  if (value === undefined) throw new ToolError(`The argument ${name} is missing; it is a text.`)
  return value
}

function optional(input: unknown, name: string): string | undefined {
  const value = fieldsOf(input)?.[name]
  if (value === undefined || value === null) return undefined
  return argument(input, name)
}

/** The text of a file. */
export async function readFileTool(fence: Fence, input: unknown): Promise<string> {
  const path = argument(input, 'path')
  const bytes = await fence.read(path, await fence.existing(path))
  const content = textIn(bytes)
  if (content === undefined) throw new ToolError(`binary, ${bytes.length} bytes`)
  return capped(Buffer.from(content), MAX_OUTPUT_BYTES)
}

/** One level of a folder. */
export async function listDirectoryTool(fence: Fence, input: unknown): Promise<string> {
  const path = optional(input, 'path') ?? '.'
  const real = await fence.existing(path)
  if (!(await stat(real)).isDirectory()) throw new ToolError(`${path} is not a folder.`)
  const entries = await readdir(real, { withFileTypes: true })
  const lines = entries
    .filter((e) => !e.name.startsWith('.') && !(e.isDirectory() && skippedFolders.has(e.name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((e) => (e.isDirectory() ? `[DIR] ${e.name}` : e.name))
  return lines.length === 0 ? '(empty)' : capped(Buffer.from(lines.join('\n')), MAX_OUTPUT_BYTES)
}

/** A command and its result as text; a ToolError where there was nothing to run. */
export async function bashTool(
  shell: Shell,
  input: unknown,
  signal: AbortSignal,
): Promise<{ result: CommandResult; output: string; isError: boolean }> {
  const command = argument(input, 'command')
  if (command.trim() === '') throw new ToolError('The command is empty.')
  if (command.includes('\0')) throw new ToolError('The command holds a zero byte.')
  const result = await shell.run(command, secondsOf(input), signal)
  const parts = [result.stdout]
  if (result.stderr !== '') parts.push('--- stderr ---', result.stderr)
  const said = parts.map((part) => part.replace(/\n$/, '')).filter((part) => part !== '')
  const output = said.length === 0 ? '(no output)' : said.join('\n')
  if (result.failure !== undefined) {
    const head = `Error: ${result.failure}`
    return { result, output: said.length === 0 ? head : `${head}\n${output}`, isError: true }
  }
  if (result.exitCode === 0) return { result, output, isError: false }
  return { result, output: `Error: ${output}\n[exit code: ${result.exitCode}]`, isError: true }
}

function secondsOf(input: unknown): number {
  const value = fieldsOf(input)?.['timeout']
  if (value === undefined || value === null) return DEFAULT_SECONDS
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw new ToolError('The argument timeout is a whole number of seconds, 1 or more.')
  }
  return Math.min(value, MAX_SECONDS)
}

/** The lines that match. */
export async function grepTool(fence: Fence, input: unknown, signal: AbortSignal): Promise<string> {
  const pattern = argument(input, 'pattern')
  const include = optional(input, 'include')
  const start = await fence.existing(optional(input, 'path') ?? '.')
  const hits = await search({ root: fence.root, start, pattern, include }, signal)
  return hits.length === 0 ? '(no matches)' : capped(Buffer.from(hits.join('\n')), MAX_OUTPUT_BYTES)
}

function search(workerData: object, signal: AbortSignal): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./grepThread.js', import.meta.url), { workerData })
    const end = (failure: string): void => {
      finish()
      reject(new ToolError(failure))
    }
    const abort = (): void => end('The search was cancelled.')
    const timer = setTimeout(
      () => end(`The search took longer than ${GREP_MS / 1000} s. Use a simpler pattern.`),
      GREP_MS,
    )
    const finish = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      void worker.terminate()
    }
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) return abort()
    worker.once('error', (thrown) => end(`The search failed: ${thrown.message}`))
    worker.once('message', (message: unknown) => {
      const failure = textOf(fieldsOf(message)?.['failure'])
      if (failure !== undefined) return end(`The search failed: ${failure}`)
      finish()
      const hits = fieldsOf(message)?.['hits']
      resolve(Array.isArray(hits) ? hits.map(String) : [])
    })
  })
}

/** The schema of a tool as the SDK takes it. */
export interface Schema {
  type: 'object'
  properties: Record<string, object>
  required: string[]
  additionalProperties: true
}

/** The schema of a tool of ours. Loose: a model may leave out what is optional. */
export function schemaOf(spec: ToolSpec): Schema {
  return {
    type: 'object',
    properties: { ...spec.properties },
    required: [...spec.required],
    additionalProperties: true,
  }
}
