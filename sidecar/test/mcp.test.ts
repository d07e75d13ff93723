// MCP servers of a session under its frozen trust, real ones over stdio, with
// both real SDKs: what is offered, what is asked about, and what runs.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { start, type Child, type Frame } from './child.js'
import { rig, tool } from './claudeRig.js'
import { call, calls, openaiRig } from './openaiRig.js'
import { vendors } from './processes.js'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const program = (...args: string[]): Record<string, unknown> => ({
  type: 'stdio',
  command: process.execPath,
  args,
})
const packages = '../node_modules/@modelcontextprotocol'
const notes = program(path('mcpNotes.mjs'))
const everything = program(path(`${packages}/server-everything/dist/index.js`), 'stdio')
const files = (dir: string): Record<string, unknown> =>
  program(path(`${packages}/server-filesystem/dist/index.js`), dir)

/** An entry as the host sends it: read-only, all floors. */
function entry(name: string, root: string, more: Record<string, unknown> = {}): object {
  return {
    schemaVersion: 1,
    serverId: `project:${name}`,
    serverName: name,
    workspacePath: root,
    allowReads: true,
    allowWrites: false,
    allowNetwork: false,
    allowedRoots: [root],
    allowedToolNames: [],
    denialFloors: ['credentials', 'outside_workspace', 'protected_publish'],
    revision: 1,
    updatedAt: 1,
    ...more,
  }
}

interface Stage {
  child: Child
  project: string
  /** Everything below it belongs to the test. */
  folder: string
  /** The endpoint has a script for the word: one call of that tool. */
  script: (word: string, id: string, name: string, args: unknown) => void
  open: (id: string, fields: Record<string, unknown>) => void
  /** MCP tools that the last request offered. */
  offered: () => string[]
  /** What the model was told of the last call. */
  told: () => string
  faults: () => string[]
}

async function claudeStage(): Promise<Stage> {
  const { child, server, project, open, state } = await rig()
  return {
    child,
    project,
    folder: join(state, '..'),
    script: (word, id, name, args) => server.on(word, tool(id, name, args)),
    open,
    offered: () => (server.asks.at(-1)?.tools ?? []).filter((t) => t.startsWith('mcp__')).sort(),
    told: () => server.asks.at(-1)?.results.at(-1)?.text ?? '',
    faults: () => server.faults,
  }
}

async function openaiStage(): Promise<Stage> {
  const { child, server, project, open, folder } = await openaiRig()
  return {
    child,
    project,
    folder,
    script: (word, id, name, args) => server.on(word, calls(call(id, name, args))),
    open,
    offered: () => (server.asks.at(-1)?.tools ?? []).filter((t) => t.startsWith('mcp__')).sort(),
    told: () => server.asks.at(-1)?.results.at(-1)?.text ?? '',
    faults: () => server.faults,
  }
}

const stages = [
  ['claude', claudeStage],
  ['openai', openaiStage],
] as const

/** Runs a turn, allows whatever is asked, and returns its frames. */
async function allowed(stage: Stage, sessionId: string, turnId: string): Promise<Frame[]> {
  const { child } = stage
  const seen = new Set<string>()
  await child.until(() => {
    for (const f of child.of(sessionId)) {
      const id = String(f['toolUseId'])
      if (f.turnId !== turnId || f.type !== 'permission_request' || seen.has(id)) continue
      seen.add(id)
      child.send({
        type: 'permission_response',
        sessionId,
        toolUseId: id,
        decision: 'allow_once',
      })
    }
    return child
      .of(sessionId)
      .find((f) => f.turnId === turnId && (f.type === 'done' || f.type === 'error'))
  }, `end of ${turnId} of ${sessionId}`)
  return child.of(sessionId).filter((f) => f.turnId === turnId)
}

const asked = (frames: readonly Frame[]): unknown[] =>
  frames.filter((f) => f.type === 'permission_request').map((f) => f['name'])

const result = (frames: readonly Frame[]): Frame =>
  frames.find((f) => f.type === 'tool_result') ?? { type: 'nothing' }

test.each(stages)('%s: none, defaults and a list are three things (13.12)', async (_, stand) => {
  const stage = await stand()
  const { child, project, open } = stage
  const mcpServers = { notes }
  open('none', { initialMessage: 'hi', turnId: 't-1', mcpServers, mcpTrustSnapshot: [] })
  await child.turn('none', 't-1')
  expect(stage.offered()).toEqual([])
  for (const [id, more] of [
    ['absent', {}],
    ['null', { mcpTrustSnapshot: null }],
    ['list', { mcpTrustSnapshot: [entry('notes', project)] }],
  ] as const) {
    open(id, { initialMessage: 'hi', turnId: 't-1', mcpServers, ...more })
    await child.turn(id, 't-1')
    expect(stage.offered()).toEqual(['mcp__notes__read_note'])
  }
  open('other', {
    initialMessage: 'hi',
    turnId: 't-1',
    mcpServers,
    mcpTrustSnapshot: [entry('somebody', project)],
  })
  await child.turn('other', 't-1')
  expect(stage.offered()).toEqual([])
  expect(stage.faults()).toEqual([])
})

test.each(stages)(
  '%s: a call that is refused does not run, offered or not',
  async (name, stand) => {
    const stage = await stand()
    const { child, project, open } = stage
    stage.script('READNOTE', 'r-1', 'mcp__notes__read_note', {})
    stage.script('WRITENOTE', 'w-1', 'mcp__notes__write_note', {})
    stage.script('DENYNOTE', 'd-1', 'mcp__notes__write_note', {})
    const say = (sessionId: string, turnId: string, content: string): void =>
      child.send({ type: 'send_message', sessionId, turnId, content })
    const mcpServers = { notes }
    open('a', { mcpServers, mcpTrustSnapshot: [entry('notes', project)] })
    say('a', 't-1', 'READNOTE')
    const read = await allowed(stage, 'a', 't-1')
    expect(result(read)).toMatchObject({ output: 'the note', isError: false })
    expect(stage.told()).toBe('the note')
    // What is verified to read only is not asked about where we decide that.
    expect(asked(read)).toEqual(name === 'claude' ? ['mcp__notes__read_note'] : [])
    say('a', 't-2', 'WRITENOTE')
    const write = await allowed(stage, 'a', 't-2')
    expect(asked(write)).toEqual([])
    expect(result(write)).toMatchObject({ isError: true })
    expect(stage.told()).not.toContain('written')

    // With writes it is offered, asked about, and runs.
    const writes = entry('notes', project, { allowWrites: true })
    open('b', { mcpServers, mcpTrustSnapshot: [writes] })
    say('b', 't-1', 'WRITENOTE')
    const wrote = await allowed(stage, 'b', 't-1')
    expect(stage.offered()).toEqual(['mcp__notes__read_note', 'mcp__notes__write_note'])
    expect(asked(wrote)).toEqual(['mcp__notes__write_note'])
    expect(stage.told()).toBe('written')
    // Denied, it does not run.
    say('b', 't-2', 'DENYNOTE')
    await child.frame((f) => f.turnId === 't-2' && f.type === 'permission_request', 'permission')
    child.send({
      type: 'permission_response',
      sessionId: 'b',
      toolUseId: 'd-1',
      decision: 'deny',
      reason: 'not now',
    })
    await child.turn('b', 't-2')
    expect(stage.told()).toContain('not now')
    expect(stage.faults()).toEqual([])
  },
)

test.each(stages)('%s: the filesystem server stays inside the granted root', async (_, stand) => {
  const stage = await stand()
  const { child, project, folder, open } = stage
  mkdirSync(join(project, 'sub'))
  writeFileSync(join(project, 'sub', 'in.txt'), 'inside')
  writeFileSync(join(folder, 'out.txt'), 'outside')
  // The server itself may see more than the conversation may.
  const mcpServers = { files: files(folder) }
  const name = 'mcp__files__read_text_file'
  stage.script('INSIDE', 'i-1', name, { path: join(project, 'sub', 'in.txt') })
  stage.script('OUTSIDE', 'o-1', name, { path: join(folder, 'out.txt') })
  stage.script('URL', 'u-1', name, { path: `file://${join(folder, 'out.txt')}` })
  stage.script('SEVERAL', 's-1', 'mcp__files__read_multiple_files', {
    paths: [join(project, 'sub', 'in.txt'), join(folder, 'out.txt')],
  })
  open('a', { mcpServers, mcpTrustSnapshot: [entry('files', project)] })
  child.send({ type: 'send_message', sessionId: 'a', turnId: 't-1', content: 'INSIDE' })
  await allowed(stage, 'a', 't-1')
  expect(stage.told()).toContain('inside')
  expect(stage.offered()).toContain(name)
  expect(stage.offered()).not.toContain('mcp__files__write_file')
  expect(stage.offered()).not.toContain('mcp__files__move_file')
  for (const [turnId, word] of [
    ['t-2', 'OUTSIDE'],
    ['t-3', 'URL'],
    ['t-4', 'SEVERAL'],
  ] as const) {
    child.send({ type: 'send_message', sessionId: 'a', turnId, content: word })
    await allowed(stage, 'a', turnId)
    expect(stage.told()).toContain('outside the folders it may use')
  }
  expect(stage.faults()).toEqual([])
})

test.each(stages)('%s: server-everything: floors hold with writes on', async (_, stand) => {
  const stage = await stand()
  const { child, project, open } = stage
  const mcpServers = { everything }
  stage.script('ECHO', 'e-1', 'mcp__everything__echo', { message: 'hello there' })
  stage.script('SURROUNDINGS', 'n-1', 'mcp__everything__get-env', {})
  open('a', {
    mcpServers,
    mcpTrustSnapshot: [entry('everything', project, { allowWrites: true })],
  })
  child.send({ type: 'send_message', sessionId: 'a', turnId: 't-1', content: 'ECHO' })
  await allowed(stage, 'a', 't-1')
  expect(stage.told()).toContain('Echo: hello there')
  expect(stage.offered()).toContain('mcp__everything__get-sum')
  // What a server sees: a home, and no key of a model.
  child.send({ type: 'send_message', sessionId: 'a', turnId: 't-2', content: 'SURROUNDINGS' })
  await allowed(stage, 'a', 't-2')
  expect(stage.told()).toContain('PATH')
  expect(stage.told()).not.toContain('sk-test-not-a-secret')
  // A frozen list is a floor of its own.
  open('b', {
    initialMessage: 'hi',
    turnId: 't-1',
    mcpServers,
    mcpTrustSnapshot: [
      entry('everything', project, {
        allowWrites: true,
        allowedToolNames: ['echo'],
        capabilityCheckedAt: 1,
      }),
    ],
  })
  await child.turn('b', 't-1')
  expect(stage.offered()).toEqual(['mcp__everything__echo'])
  expect(stage.faults()).toEqual([])
})

/** An MCP endpoint that takes requests and answers none. */
async function silent(): Promise<{ server: Server; url: string; requests: () => number }> {
  let requests = 0
  const server = createServer(() => {
    requests += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { server, url: `http://127.0.0.1:${port}/mcp`, requests: () => requests }
}

test('a server that does not answer loses its tools, and the session starts', async () => {
  const { server, url, requests } = await silent()
  const {
    child,
    open,
    server: api,
    project,
  } = await openaiRig({
    env: { PACKETBENCH_MCP_PROBE_TIMEOUT_MS: '4000' },
  })
  const mcpServers = {
    missing: { type: 'stdio', command: join(project, 'no-such-program'), args: [] },
    mute: program('-e', 'setInterval(() => {}, 1000)'),
    web: { type: 'http', url },
    notes,
  }
  open('a', {
    initialMessage: 'hi',
    turnId: 't-1',
    mcpServers,
    mcpTrustSnapshot: [
      entry('web', project, { allowNetwork: true }),
      entry('missing', project),
      entry('notes', project),
    ],
  })
  await child.turn('a', 't-1', 20_000)
  expect(api.asks.at(-1)?.tools.filter((t) => t.startsWith('mcp__'))).toEqual([
    'mcp__notes__read_note',
  ])
  expect(requests()).toBe(1)
  expect(child.stderr).toContain('server=missing')
  expect(child.stderr).toContain('server=web')
  // Without leave to use the network it is not even asked.
  open('b', { initialMessage: 'hi', turnId: 't-1', mcpServers: { web: { type: 'http', url } } })
  await child.turn('b', 't-1')
  expect(requests()).toBe(1)
  await new Promise((resolve) => {
    server.closeAllConnections()
    server.close(resolve)
  })
})

test('probes run side by side, and a mute one costs its budget once', async () => {
  const { child, open, project } = await openaiRig({
    env: { PACKETBENCH_MCP_PROBE_TIMEOUT_MS: '6000' },
  })
  const mute = program('-e', 'setInterval(() => {}, 1000)')
  const names = ['one', 'two', 'three', 'four']
  open('a', {
    mcpServers: Object.fromEntries(names.map((name) => [name, mute])),
    mcpTrustSnapshot: names.map((name) => entry(name, project)),
  })
  // All of them are there at once: their starts do not wait for each other.
  await expect.poll(() => vendors(child.pid).length, { timeout: 5900, interval: 20 }).toBe(4)
  // The failures come before anything else of the session; no turn was opened.
  await child.until(
    () => ((child.stderr.match(/gave no list of tools/g) ?? []).length === 4 ? true : undefined),
    'four failures',
  )
  // And they are ended, although the session goes on.
  await expect.poll(() => vendors(child.pid).length, { timeout: 15_000 }).toBe(0)
})

test('closing a session ends its servers', async () => {
  const { child, open, project } = await openaiRig()
  open('a', {
    initialMessage: 'hi',
    turnId: 't-1',
    mcpServers: { notes },
    mcpTrustSnapshot: [entry('notes', project)],
  })
  await child.turn('a', 't-1')
  expect(vendors(child.pid).length).toBeGreaterThan(0)
  child.send({ type: 'close_session', sessionId: 'a' })
  await expect.poll(() => vendors(child.pid).length, { timeout: 15_000 }).toBe(0)
})

test('a host elsewhere: the files of this disk, told before the provider starts', async () => {
  const { child, folder, project, server } = await openaiRig()
  mkdirSync(join(folder, '.claude'))
  writeFileSync(join(folder, '.claude', 'settings.json'), '{"mcpServers": ')
  writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { notes } }))
  child.send(
    start('a', 'openai-agents', {
      projectPath: project,
      apiKey: 'sk-test-not-a-secret',
      model: 'gpt-5.2',
      initialMessage: 'hi',
      turnId: 't-1',
      sourceMcpFromFs: true,
    }),
  )
  await child.turn('a', 't-1')
  expect(child.of('a')[0]).toEqual({
    type: 'mcp_sources',
    sessionId: 'a',
    sources: [{ name: 'notes', transport: 'stdio', scope: 'project' }],
    readErrors: [
      {
        scope: 'global',
        path: join(folder, '.claude', 'settings.json'),
        message: 'The file is not valid JSON. Mend it, then start again.',
      },
    ],
  })
  expect(server.asks.at(-1)?.tools).toContain('mcp__notes__read_note')
  // It arrives although the start fails.
  child.send(start('b', 'openai-agents', { projectPath: project, sourceMcpFromFs: true }))
  await child.frame((f) => f.sessionId === 'b' && f.type === 'error', 'no key')
  expect(child.of('b').map((f) => f.type)).toEqual(['mcp_sources', 'error'])
})
