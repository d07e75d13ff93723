// A whole conversation opens connections to the configured endpoint and to
// nothing else: neither this process nor the vendor's program that it starts.
//
// The vendor's program is looked at with strace where that is installed. Without
// it the kernel's tables are read again and again, which can miss a connection
// of a few ms; what it finds is as true.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, expect, test } from 'vitest'

import { Child, scratch, start } from './child.js'
import { MessagesServer } from './messages.js'
import { OpenAIServer } from './openai.js'
import { vendors } from './processes.js'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const strace = spawnSync('strace', ['-V']).status === 0

/** Reports every connection and name look-up of this process on stderr. */
const spy = `
import dns from 'node:dns'
import dgram from 'node:dgram'
import net from 'node:net'
const say = (what) => process.stderr.write('NETWORK ' + what + '\\n')
const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function (...args) {
  say('connect ' + JSON.stringify(args[0]))
  return connect.apply(this, args)
}
for (const [name, call] of Object.entries(dns)) {
  if (/^(lookup|resolve)/.test(name)) dns[name] = (...args) => (say(name + ' ' + args[0]), call(...args))
}
const send = dgram.Socket.prototype.send
dgram.Socket.prototype.send = function (...args) {
  say('datagram')
  return send.apply(this, args)
}
say('spy is in place')
`

/** Destinations in a trace: address and port, or the line when it has a form not known here. */
function destinations(trace: string): Set<string> {
  const out = new Set<string>()
  for (const line of trace.split('\n')) {
    const family = /sa_family=(AF_\w+)/.exec(line)?.[1]
    if (family === undefined || family === 'AF_UNIX' || family === 'AF_LOCAL') continue
    if (family === 'AF_NETLINK') continue
    const port = /port=htons\((\d+)\)/.exec(line)?.[1]
    const address =
      /inet_addr\("([^"]+)"\)/.exec(line)?.[1] ?? /inet_pton\(AF_INET6, "([^"]+)"/.exec(line)?.[1]
    out.add(port === undefined || address === undefined ? line : `${address}:${port}`)
  }
  return out
}

/** Remote ends of the sockets that a process holds now. */
function sockets(pid: number): Set<string> {
  const out = new Set<string>()
  let inodes: string[]
  try {
    inodes = readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? ''
      } catch {
        return ''
      }
    })
  } catch {
    return out
  }
  for (const table of ['tcp', 'udp', 'tcp6', 'udp6']) {
    for (const row of readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1)) {
      const columns = row.trim().split(/\s+/)
      const [, , remote = ''] = columns
      if (!inodes.includes(columns[9] ?? '-')) continue
      const [address = '', port = ''] = remote.split(':')
      if (port === '0000') continue
      const bytes = (address.match(/../g) ?? []).reverse().map((b) => parseInt(b, 16))
      out.add(`${table.endsWith('6') ? address : bytes.join('.')}:${parseInt(port, 16)}`)
    }
  }
  return out
}

test('a whole conversation talks to the configured endpoint only', async () => {
  const folder = scratch()
  cleanups.push(folder.remove)
  const project = join(folder.path, 'project')
  mkdirSync(project)
  const preload = join(folder.path, 'spy.mjs')
  const trace = join(folder.path, 'trace')
  writeFileSync(preload, spy)
  const server = await MessagesServer.listen('k')
  cleanups.push(() => server.close())
  server
    .on('BASH', {
      blocks: [{ type: 'tool_use', id: 'tu-1', name: 'Bash', input: { command: 'echo hi > f' } }],
    })
    .on('SLOW', { hang: ['word '] })
  const child = new Child({
    node: ['--import', preload],
    env: { ANTHROPIC_BASE_URL: server.url, PACKETBENCH_SIDECAR_STATE: join(folder.path, 'state') },
    ...(strace
      ? {
          under: [
            'strace',
            '-f',
            '-qq',
            '-o',
            trace,
            '-e',
            'trace=connect,sendto,sendmsg,sendmmsg',
          ],
        }
      : {}),
  })
  cleanups.push(() => child.close())
  const ready = await child.ready()
  const seen = new Set<string>()
  const sampling = setInterval(() => {
    for (const pid of vendors(Number(ready['pid']))) {
      for (const remote of sockets(pid)) seen.add(remote)
    }
  }, 5)
  cleanups.push(() => clearInterval(sampling))

  child.send(
    start('a', 'claude-oauth', {
      projectPath: project,
      apiKey: 'k',
      initialMessage: 'BASH',
      turnId: 't-1',
    }),
  )
  await child.frame((f) => f.type === 'permission_request', 'permission', 1, 55_000)
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'tu-1',
    decision: 'approve',
  })
  await child.turn('a', 't-1')
  child.send({ type: 'set_model', sessionId: 'a', model: 'claude-opus-4-5' })
  child.send({ type: 'send_message', sessionId: 'a', content: 'SLOW', turnId: 't-2' })
  await child.frame((f) => f.type === 'chunk' && f.turnId === 't-2', 'chunk')
  child.send({ type: 'cancel', sessionId: 'a' })
  await child.turn('a', 't-2')
  child.send({ type: 'close_session', sessionId: 'a' })
  expect(await child.close()).toBe(0)

  // This process makes none at all; the vendor's program makes those to the model.
  expect(child.stderr).toContain('NETWORK spy is in place')
  expect(child.stderr.match(/NETWORK (?!spy).*/g) ?? []).toEqual([])
  const endpoint = `127.0.0.1:${server.port}`
  if (strace) {
    const found = destinations(readFileSync(trace, 'utf8'))
    expect([...found]).toEqual([endpoint])
  } else {
    expect([...seen]).toEqual([endpoint])
  }
  expect(server.faults).toEqual([])
})

// Tracing of the OpenAI SDK would go to the vendor whatever the endpoint is. Only
// this process and its MCP server take part, and both are traced.
test('the OpenAI provider talks to the configured endpoint only', async () => {
  const folder = scratch()
  cleanups.push(folder.remove)
  const project = join(folder.path, 'project')
  mkdirSync(project)
  const preload = join(folder.path, 'spy.mjs')
  const trace = join(folder.path, 'trace')
  writeFileSync(preload, spy)
  const server = await OpenAIServer.listen('k')
  cleanups.push(() => server.close())
  server
    .on('BASH', {
      parts: [{ call: { id: 'c-1', name: 'bash', args: { command: 'echo hi > f' } } }],
    })
    .on('NOTE', { parts: [{ call: { id: 'c-2', name: 'mcp__notes__read_note', args: {} } }] })
    .on('SLOW', { hang: ['word '] })
  const child = new Child({
    node: ['--import', preload],
    env: { OPENAI_BASE_URL: server.url, HOME: folder.path },
    ...(strace
      ? { under: ['strace', '-f', '-qq', '-o', trace, '-e', 'trace=connect,sendto,sendmmsg'] }
      : {}),
  })
  cleanups.push(() => child.close())
  await child.ready()
  const script = fileURLToPath(new URL('mcpNotes.mjs', import.meta.url))
  for (const [id, model] of [
    ['a', 'gpt-5.2'],
    ['b', 'gpt-4.1'],
  ] as const) {
    child.send(
      start(id, 'openai-agents', {
        projectPath: project,
        apiKey: 'k',
        model,
        initialMessage: 'BASH',
        turnId: 't-1',
        mcpServers: { notes: { type: 'stdio', command: process.execPath, args: [script] } },
      }),
    )
    await child.frame((f) => f.sessionId === id && f.type === 'permission_request', 'permission')
    child.send({
      type: 'permission_response',
      sessionId: id,
      toolUseId: 'c-1',
      decision: 'approve',
    })
    await child.turn(id, 't-1')
    child.send({ type: 'send_message', sessionId: id, content: 'NOTE', turnId: 't-2' })
    const note = await child.turn(id, 't-2')
    expect(note.find((f) => f.type === 'tool_result')).toMatchObject({ output: 'the note' })
    child.send({ type: 'send_message', sessionId: id, content: 'SLOW', turnId: 't-3' })
    await child.frame((f) => f.sessionId === id && f.turnId === 't-3', 'chunk')
    child.send({ type: 'cancel', sessionId: id })
    await child.turn(id, 't-3')
  }
  expect(await child.close()).toBe(0)

  expect(child.stderr).toContain('NETWORK spy is in place')
  const seen = new Set(child.stderr.match(/NETWORK (?!spy).*/g) ?? [])
  expect(seen.size).toBeGreaterThan(0)
  for (const line of seen) expect(line).toContain(`"port":"${server.port}"`)
  if (strace) {
    const found = destinations(readFileSync(trace, 'utf8'))
    expect([...found]).toEqual([`127.0.0.1:${server.port}`])
  }
  expect(server.faults).toEqual([])
})
