// The built child over its real pipes: sidecar-protocol.md 13, as far as it
// concerns this side.
import { spawn } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, expect, test } from 'vitest'

import { Child, entry, scratch, start, textOf, type ChildOptions } from './child.js'
import { running } from './processes.js'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function open(options: ChildOptions = {}): Child {
  const child = new Child(options)
  cleanups.push(() => child.close())
  return child
}

const manifest = JSON.parse(
  readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'),
) as { version: string }

test('ready is the first line, with the version of the package, within 3 s (13.1)', async () => {
  const child = open()
  child.send({ type: 'cancel', sessionId: 'early' })
  const ready = await child.frame((f) => f.type === 'ready', 'ready', 1, 3000)
  expect(ready).toEqual({
    type: 'ready',
    pid: child.pid,
    version: manifest.version,
    protocolVersion: 11,
  })
  await child.frame((f) => f.type === 'error', 'the early request')
  expect(child.frames[0]).toBe(ready)
})

test('an SSH workspace is refused here and taken where SSH started us (13.2)', async () => {
  const workspace = { kind: 'ssh', host: 'h', port: 22, user: 'u', remotePath: '/p' }
  const local = open()
  local.send(start('a', 'echo', { initialMessage: 'x', workspace }))
  const error = await local.frame((f) => f.type === 'error', 'refusal')
  expect(error['message']).toMatch(/^Remote SSH workspace metadata reached the local sidecar/)
  const remote = open({ env: { PACKETBENCH_REMOTE_SIDECAR: '1' } })
  remote.send(start('a', 'echo', { initialMessage: 'x', workspace }))
  await remote.frame((f) => f.type === 'done', 'done')
})

test('echo: three chunks and done, then what commands answer (13.3, 13.4, 13.5)', async () => {
  const child = open()
  child.send(start('a', 'echo', { initialMessage: 'hello', turnId: 't-1' }))
  const turn = await child.turn('a', 't-1')
  expect(turn).toEqual([
    { type: 'chunk', text: 'he', sessionId: 'a', turnId: 't-1' },
    { type: 'chunk', text: 'll', sessionId: 'a', turnId: 't-1' },
    { type: 'chunk', text: 'o', sessionId: 'a', turnId: 't-1' },
    { type: 'done', inputTokens: 5, outputTokens: 5, sessionId: 'a', turnId: 't-1' },
  ])
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'plan' })
  child.send({ type: 'set_model', sessionId: 'a', model: 'm-2' })
  child.send({ type: 'retry', sessionId: 'a', turnId: 't-2' })
  child.send({ type: 'edit_response', sessionId: 'a', toolUseId: 'tool-9', approved: true })
  await child.frame((f) => f.type === 'done', 'done', 5)
  expect(textOf(child.frames.slice(5))).toMatch(
    /^\[echo\] set_permission_mode: plan\n\[echo\] set_model: m-2\n\[echo\] retry\n.*tool-9/,
  )
  const zeros = child.frames.filter((f) => f.type === 'done').slice(1)
  for (const done of zeros) expect(done).toMatchObject({ inputTokens: 0, outputTokens: 0 })
})

test('what echo cannot do and what nobody knows has the exact shape (13.6, 13.7)', async () => {
  const child = open()
  child.send(start('a', 'echo'))
  child.send({ type: 'set_approve_writes', sessionId: 'a', approveWrites: true })
  child.send({ type: 'cancel_pending_tools', sessionId: 'a' })
  child.send({ type: 'inject_user_turn', sessionId: 'a', content: 'x', source: 'user' })
  child.send({ type: 'dance', sessionId: 'a' })
  child.send(start('b', 'nobody'))
  child.send(start('a', 'echo'))
  child.send({ type: 'cancel', sessionId: 'ghost' })
  await child.frame((f) => f.type === 'error', 'errors', 7)
  const error = (sessionId: string, message: string, request?: string): object => ({
    type: 'error',
    sessionId,
    message,
    ...(request === undefined ? {} : { request }),
  })
  expect(child.of('a')).toEqual([
    error('a', 'echo does not support set_approve_writes', 'set_approve_writes'),
    error('a', 'echo does not support cancel_pending_tools', 'cancel_pending_tools'),
    error('a', 'echo does not support inject_user_turn', 'inject_user_turn'),
    error('a', 'Unknown request type: dance', 'dance'),
    error('a', 'Session already exists: a'),
  ])
  expect(child.of('b')).toEqual([error('b', 'Unknown provider: nobody')])
  expect(child.of('ghost')).toEqual([error('ghost', 'No active session: ghost', 'cancel')])
})

test('cancel ends the echo once, and the next turn is whole (13.14)', async () => {
  const child = open()
  child.send(start('a', 'echo', { initialMessage: 'hello', turnId: 't-1' }))
  child.send({ type: 'cancel', sessionId: 'a' })
  child.send({ type: 'send_message', sessionId: 'a', content: 'second', turnId: 't-2' })
  expect(textOf(await child.turn('a', 't-2'))).toBe('second')
  const ends = child.of('a').filter((f) => f.type === 'done')
  expect(ends).toMatchObject([
    { turnId: 't-1', cancelled: true, inputTokens: 0, outputTokens: 0 },
    { turnId: 't-2', inputTokens: 6 },
  ])
})

test('frames of any size and any cut arrive whole; junk between them harms nothing (13.16, F68 to F70)', async () => {
  const child = open()
  await child.ready()
  const large = 'x'.repeat(300_000)
  child.write('\n  \nno json\n{"half":\n')
  child.write(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]))
  child.write(
    `${JSON.stringify(start('a', 'echo'))}\n${JSON.stringify({ type: 'send_message', sessionId: 'a', content: large, turnId: 't-1' })}\n`,
  )
  expect(textOf(await child.turn('a', 't-1'))).toBe(large)
  const small = 'y'.repeat(20_000)
  const line = `${JSON.stringify({ type: 'send_message', sessionId: 'a', content: small, turnId: 't-2' })}\n`
  for (const byte of Buffer.from(line)) child.write(Buffer.of(byte))
  expect(textOf(await child.turn('a', 't-2'))).toBe(small)
  expect(child.strays).toEqual([])
  expect(child.of('a').filter((f) => f.type === 'error')).toEqual([])
})

test('a 2 MB line is answered whole (F66)', async () => {
  const child = open()
  const text = '\u20ac'.repeat(700_000)
  child.send(start('a', 'echo', { initialMessage: text, turnId: 't-1' }))
  expect(textOf(await child.turn('a', 't-1'))).toBe(text)
})

test('sessions run side by side', async () => {
  const child = open()
  const ids = Array.from({ length: 50 }, (_, i) => `s-${i}`)
  for (const id of ids) child.send(start(id, 'echo', { initialMessage: id, turnId: 't-1' }))
  for (const id of ids) expect(textOf(await child.turn(id, 't-1'))).toBe(id)
  // Had they run one after another, the first would have ended before the last began.
  const firstEnd = child.frames.findIndex((f) => f.type === 'done')
  const lastBegin = child.frames.findIndex((f) => f.sessionId === 's-49')
  expect(lastBegin).toBeLessThan(firstEnd)
})

test.each(['stdin', 'SIGTERM', 'SIGINT'] as const)('%s ends it with 0', async (how) => {
  const child = open()
  await child.ready()
  child.send(start('a', 'echo', { initialMessage: 'hello' }))
  await child.frame((f) => f.type === 'chunk', 'chunk')
  if (how === 'stdin') child.endInput()
  else child.signal(how)
  expect(await child.exited).toEqual({ code: 0, signal: null })
})

test('an unterminated last line counts', async () => {
  const child = open()
  await child.ready()
  child.write(JSON.stringify(start('a', 'nobody')))
  child.endInput()
  await child.exited
  expect(child.of('a')).toMatchObject([{ message: 'Unknown provider: nobody' }])
})

test('without a state folder it makes one and leaves nothing behind', async () => {
  const folder = scratch()
  cleanups.push(folder.remove)
  const child = open({ env: { TMPDIR: folder.path } })
  await child.ready()
  expect(await child.close()).toBe(0)
  const { readdirSync } = await import('node:fs')
  expect(readdirSync(folder.path)).toEqual([])
})

test('whatever is printed by others goes to stderr', async () => {
  const folder = scratch()
  cleanups.push(folder.remove)
  const script = join(folder.path, 'noisy.mjs')
  const url = new URL(`file://${entry}`).href
  writeFileSync(
    script,
    `await import(${JSON.stringify(url)})
console.log('noise one')
process.stdout.write('noise two\\n')
console.info('noise three')
`,
  )
  const child = open({ script })
  await child.until(() => (child.stderr.includes('noise three') ? true : undefined), 'noise')
  child.send(start('a', 'echo', { initialMessage: 'x', turnId: 't-1' }))
  await child.turn('a', 't-1')
  expect(child.strays).toEqual([])
  expect(child.stderr).toContain('noise one')
  expect(child.stderr).toContain('noise two')
})

test('without its SDK a provider says what to run, and echo works', async () => {
  const folder = scratch()
  cleanups.push(folder.remove)
  // As the install step unpacks it, before any SDK.
  cpSync(dirname(entry), join(folder.path, 'dist'), { recursive: true })
  copyFileSync(
    fileURLToPath(new URL('../package.json', import.meta.url)),
    join(folder.path, 'package.json'),
  )
  mkdirSync(join(folder.path, 'project'))
  const child = open({ script: join(folder.path, 'dist', 'index.js') })
  const projectPath = join(folder.path, 'project')
  child.send(start('c', 'claude-oauth', { initialMessage: 'x', apiKey: 'k', projectPath }))
  child.send(
    start('o', 'openai-agents', {
      initialMessage: 'x',
      apiKey: 'k',
      model: 'gpt-5.2',
      projectPath,
    }),
  )
  child.send(start('e', 'echo', { initialMessage: 'x', turnId: 't-1' }))
  await child.turn('e', 't-1')
  const openai = await child.frame((f) => f.sessionId === 'o', 'openai')
  expect(openai).toMatchObject({
    type: 'error',
    message:
      'The OpenAI Agents SDK is not installed. Run: packetbench sidecar install --sdk openai',
  })
  const claude = await child.frame((f) => f.sessionId === 'c', 'claude')
  expect(claude).toMatchObject({
    type: 'error',
    message: 'The Claude Agent SDK is not installed. Run: packetbench sidecar install --sdk claude',
  })
})

// Nobody is left to end the group then, and a failed write to a pipe that is
// gone must not keep the child busy with its own exception.
test('a host that is killed takes its child with it (F22)', async () => {
  const script = fileURLToPath(new URL('host.mjs', import.meta.url))
  const host = spawn(process.execPath, [script, entry], { stdio: ['ignore', 'pipe', 'inherit'] })
  cleanups.push(() => host.kill('SIGKILL'))
  host.stdout.setEncoding('utf8')
  // The child's id is printed once its first text has arrived.
  const pid = await new Promise<number>((resolve) => {
    host.stdout.once('data', (text: string) => resolve(Number(text)))
  })
  cleanups.push(() => {
    if (running(pid)) process.kill(pid, 'SIGKILL')
  })
  expect(running(pid)).toBe(true)
  host.kill('SIGKILL')
  await expect.poll(() => running(pid), { timeout: 10_000 }).toBe(false)
})
