// The fence, the shell and the search, without the SDK.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { commandEnvironment, serverEnvironment, vendorEnvironment } from '../../environment.js'
import { Fence, MAX_READ_BYTES, ToolError } from './fence.js'
import { globOf, grep, MAX_HITS } from './grep.js'
import { capped, MAX_OUTPUT_BYTES, Shell } from './shell.js'
import { bashTool, listDirectoryTool, readFileTool } from './tools.js'

let folder = ''
let project = ''
let fence: Fence

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'pb-workspace-')))
  project = join(folder, 'project')
  mkdirSync(join(project, 'sub'), { recursive: true })
  writeFileSync(join(folder, 'secret'), 'secret')
  writeFileSync(join(project, 'a.txt'), 'hello\n')
  symlinkSync('..', join(project, 'up'))
  symlinkSync(join(folder, 'secret'), join(project, 'leak'))
  symlinkSync('nowhere', join(project, 'dangling'))
  symlinkSync('a.txt', join(project, 'alias'))
  fence = await Fence.around(project)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['a.txt', true],
  ['./sub/../a.txt', true],
  ['alias', true],
  ['.', true],
  ['../secret', false],
  ['up/secret', false],
  ['leak', false],
  ['dangling', false],
  ['nothing', false],
  ['', false],
  ['a\0b', false],
  ['/etc/passwd', false],
])('an existing path: %s', async (path, inside) => {
  const found = fence.existing(path)
  if (inside) expect(await found).toContain(project)
  else await expect(found).rejects.toThrow(ToolError)
})

test.each([
  ['new.txt', true],
  ['deep/er/new.txt', true],
  ['a.txt', true],
  ['../project-2/x', false],
  ['up/new', false],
  ['up/deep/new', false],
  ['leak', false],
  ['dangling', false],
  ['a.txt/below', false],
])('a target: %s', async (path, inside) => {
  const found = fence.target(path)
  if (inside) expect(await found).toContain(`${project}/`)
  else await expect(found).rejects.toThrow(ToolError)
  // Nothing is made on the way.
  expect(existsSync(join(folder, 'deep'))).toBe(false)
  expect(existsSync(join(project, 'deep'))).toBe(false)
})

test('an absolute path inside is one of the project', async () => {
  expect(await fence.existing(join(project, 'a.txt'))).toBe(join(project, 'a.txt'))
  expect(fence.shown(project)).toBe('.')
  expect(fence.shown(join(project, 'sub', 'x'))).toBe('sub/x')
})

// A link that appears between the check and the write (F71, F72).
test('a folder that becomes a link is not written through', async () => {
  const target = await fence.target('sub/new.txt')
  rmSync(join(project, 'sub'), { recursive: true })
  symlinkSync(folder, join(project, 'sub'))
  await expect(fence.write('sub/new.txt', target, 'x')).rejects.toThrow(ToolError)
  const file = await fence.target('plain.txt')
  symlinkSync(join(folder, 'secret'), file)
  await expect(fence.write('plain.txt', file, 'x')).rejects.toThrow(ToolError)
  expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('secret')
  expect(existsSync(join(folder, 'new.txt'))).toBe(false)
})

test('what is no readable text is refused with a reason', async () => {
  writeFileSync(join(project, 'binary'), Buffer.from([0x61, 0]))
  writeFileSync(join(project, 'latin'), Buffer.from([0xe4]))
  writeFileSync(join(project, 'large'), Buffer.alloc(MAX_READ_BYTES + 1, 'a'))
  execFileSync('mkfifo', [join(project, 'pipe')])
  for (const [path, want] of [
    ['binary', /^binary, 2 bytes$/],
    ['latin', /^binary, 1 bytes$/],
    ['large', /at most 2000000/],
    ['pipe', /not a regular file/],
    ['sub', /is a folder/],
  ] as const) {
    await expect(readFileTool(fence, { path })).rejects.toThrow(want)
  }
  await expect(readFileTool(fence, {})).rejects.toThrow(/argument path is missing/)
  await expect(readFileTool(fence, { path: 7 })).rejects.toThrow(/argument path is missing/)
  expect(await fence.current('pipe', join(project, 'pipe'))).toMatchObject({ kind: 'other' })
  expect(await fence.current('x', join(project, 'x'))).toEqual({ kind: 'new' })
})

test('a long file is cut between characters and says so', async () => {
  writeFileSync(join(project, 'long'), '\u20ac'.repeat(100_000))
  const text = await readFileTool(fence, { path: 'long' })
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_OUTPUT_BYTES)
  expect(text).toMatch(/\u20ac\n\[output truncated\]$/)
  expect(capped(Buffer.from('abc'), 3)).toBe('abc')
})

test('a list is sorted and leaves out what is hidden', async () => {
  for (const name of ['.git', 'node_modules', 'B', '.hidden']) mkdirSync(join(project, name))
  expect(await listDirectoryTool(fence, {})).toBe(
    ['[DIR] B', 'a.txt', 'alias', 'dangling', 'leak', '[DIR] sub', 'up'].join('\n'),
  )
  expect(await listDirectoryTool(fence, { path: 'sub' })).toBe('(empty)')
  await expect(listDirectoryTool(fence, { path: 'a.txt' })).rejects.toThrow(/not a folder/)
})

test('a search finds text, not links, binaries or hidden things, and stops', () => {
  const find = (pattern: string, include?: string, start = project): string[] =>
    grep({ root: project, start, pattern, include })
  writeFileSync(join(project, 'sub', 'b.ts'), 'one\r\n  hello there \n')
  writeFileSync(join(project, 'sub', 'c.bin'), Buffer.from('hello\0'))
  mkdirSync(join(project, '.git'))
  writeFileSync(join(project, '.git', 'x'), 'hello')
  writeFileSync(join(project, '.env'), 'hello')
  expect(find('hello')).toEqual(['a.txt:1: hello', 'sub/b.ts:2: hello there'])
  expect(find('hello', '*.ts')).toEqual(['sub/b.ts:2: hello there'])
  expect(find('hello', undefined, join(project, 'a.txt'))).toEqual(['a.txt:1: hello'])
  expect(find('secret')).toEqual([])
  expect(() => find('(')).toThrow(SyntaxError)
  writeFileSync(join(project, 'many'), 'needle\n'.repeat(MAX_HITS + 5))
  expect(find('needle')).toHaveLength(MAX_HITS + 1)
  expect(find('needle').at(-1)).toBe('[stopped at 100 matches]')
})

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'a.tsx', false],
  ['?.go', 'a.go', true],
  ['?.go', 'ab.go', false],
  ['*.{ts,js}', 'a.js', true],
  ['*.{ts,js}', 'a.go', false],
  ['[ab].c', 'b.c', true],
  ['[!ab].c', 'b.c', false],
  ['a.b', 'axb', false],
  ['{open', '{open', true],
  ['(x)+', '(x)+', true],
])('glob %s on %s', (glob, name, want) => {
  expect(globOf(glob).test(name)).toBe(want)
})

test('a command: both streams, its code, a signal, and nothing to read', async () => {
  const shell = new Shell(project, { PATH: process.env['PATH'], OPENAI_API_KEY: 'k' })
  const { signal } = new AbortController()
  const run = (command: string, more: object = {}) => bashTool(shell, { command, ...more }, signal)
  expect(await run('echo a; echo b >&2')).toMatchObject({ output: 'a\n--- stderr ---\nb' })
  expect(await run('true')).toMatchObject({ output: '(no output)', isError: false })
  expect(await run('cat; pwd')).toMatchObject({ output: project })
  expect(await run('exit 7')).toMatchObject({
    output: 'Error: (no output)\n[exit code: 7]',
    isError: true,
  })
  expect((await run('kill -9 $$')).result.exitCode).toBe(-1)
  expect((await run('echo "[$OPENAI_API_KEY]"')).output).toBe('[]')
  const long = await run('head -c 400000 /dev/zero | tr "\\0" x; echo why >&2; exit 1')
  expect(Buffer.byteLength(long.result.stdout)).toBeLessThan(MAX_OUTPUT_BYTES)
  expect(long.result.stderr).toBe('why\n')
  for (const bad of [{ command: ' ' }, { command: 'a\0' }, {}, { command: 'x', timeout: 0 }]) {
    await expect(bashTool(shell, bad, signal)).rejects.toThrow(ToolError)
  }
})

test('a command that is cancelled before it began does not begin', async () => {
  const shell = new Shell(project, { PATH: process.env['PATH'] })
  const { output, isError } = await bashTool(shell, { command: 'touch x' }, AbortSignal.abort())
  expect(output).toBe('Error: The command was cancelled.')
  expect(isError).toBe(true)
  expect(existsSync(join(project, 'x'))).toBe(false)
})

test('environments pass what they need and no key', () => {
  const env = {
    PATH: 'p',
    HOME: 'h',
    LC_ALL: 'c',
    PACKETBENCH_BOOT_ID: 'b',
    PACKETBENCH_SIDECAR_STATE: 's',
    OPENAI_BASE_URL: 'u',
    ANTHROPIC_API_KEY: 'k',
    GROQ_API_KEY: 'k',
    MY_AUTH_TOKEN: 't',
    SSH_AUTH_SOCK: 'sock',
    EDITOR: undefined,
  }
  const base = { PATH: 'p', LC_ALL: 'c', PACKETBENCH_BOOT_ID: 'b' }
  expect(vendorEnvironment(env)).toEqual(base)
  expect(serverEnvironment(env)).toEqual({ ...base, HOME: 'h' })
  expect(commandEnvironment(env, '/d')).toEqual({
    ...base,
    HOME: 'h',
    SSH_AUTH_SOCK: 'sock',
    PWD: '/d',
  })
})
