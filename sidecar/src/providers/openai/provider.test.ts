// The provider with its real SDK in this process: recorded traffic against golden
// files, and what takes too long with budgets of our own.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, expect, test } from 'vitest'

import type { ProviderEvent } from '../../protocol.js'
import { createOpenAIAgents, retryAfter, usesResponses } from '../openaiAgents.js'
import type { ProviderSession, SessionOptions } from '../types.js'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function listen(answer: (n: number, response: ServerResponse) => void): Promise<string> {
  let n = 0
  const server: Server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      answer(n, response)
      n += 1
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

interface Stage {
  session: ProviderSession
  events: ProviderEvent[]
  /** The first event that matches, now or later. */
  until: (match: (event: ProviderEvent) => boolean) => Promise<ProviderEvent>
}

const ends = (event: ProviderEvent): boolean => event.type === 'done' || event.type === 'error'

function stage(
  baseUrl: string,
  more: Partial<SessionOptions> & { editMs?: number; stallMs?: number; room?: () => Promise<void> },
): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'pb-openai-'))
  const events: ProviderEvent[] = []
  const watchers = new Set<() => void>()
  const { editMs = 60_000, stallMs = 60_000, room = () => Promise.resolve(), ...options } = more
  const create = createOpenAIAgents({
    baseUrl,
    editMs,
    stallMs,
    env: { PATH: process.env['PATH'] },
  })
  const session = create(
    {
      sessionId: 's',
      model: 'gpt-5.2',
      systemPrompt: 'be brief',
      allowedTools: [],
      mcp: { servers: {}, tools: {}, decide: () => ({ allowed: true }), verified: () => false },
      projectPath: folder,
      initialMessage: 'hi',
      attachments: [],
      apiKey: 'k',
      baseUrl: undefined,
      resume: undefined,
      resumeMessages: [],
      thinkingEnabled: false,
      planMode: false,
      permissionMode: 'ask_for_risky',
      approveWrites: false,
      ...options,
    },
    (event) => {
      events.push(event)
      for (const watch of [...watchers]) watch()
    },
    room,
  )
  cleanups.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => session.close(),
  )
  return {
    session,
    events,
    until: (match) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(JSON.stringify(events))), 30_000)
        const watch = (): void => {
          const found = events.find(match)
          if (found === undefined) return
          clearTimeout(timer)
          watchers.delete(watch)
          resolve(found)
        }
        watchers.add(watch)
        watch()
      }),
  }
}

const data = fileURLToPath(new URL('../../../testdata/openai/', import.meta.url))
const recordings = readdirSync(data).filter((name) => /^[a-z-]+\.jsonl$/.test(name))

test.each(recordings)('recorded traffic: %s', async (name) => {
  const requests: string[][] = []
  for (const line of readFileSync(join(data, name), 'utf8').trim().split('\n')) {
    if (line.startsWith('{"request"')) requests.push([])
    else requests.at(-1)?.push(line)
  }
  const chat = name.startsWith('chat')
  const url = await listen((n, response) => {
    for (const line of requests[n] ?? []) {
      const type = /^\{"type":"([^"]+)"/.exec(line)?.[1]
      response.write(`${chat ? '' : `event: ${type}\n`}data: ${line}\n\n`)
    }
    response.end(chat ? 'data: [DONE]\n\n' : '')
  })
  const { session, events, until } = stage(url, { model: chat ? 'gpt-4.1' : 'gpt-5.2' })
  await session.start({ id: 't-1' })
  await until(ends)
  const got = events.map((event) => JSON.stringify(event)).join('\n') + '\n'
  const golden = join(data, name.replace('.jsonl', '.golden.jsonl'))
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, got)
  expect(got).toBe(readFileSync(golden, 'utf8'))
})

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`

const call = (name: string, args: object): string =>
  chunk({
    tool_calls: [
      {
        index: 0,
        id: 'c-1',
        type: 'function',
        function: { name, arguments: JSON.stringify(args) },
      },
    ],
  }) + chunk({}, 'tool_calls')

test('a reviewed edit that nobody answers is refused in time, and the turn goes on', async () => {
  const url = await listen((n, response) => {
    response.end(
      n === 0 ? call('write_file', { path: 'f', content: 'x' }) : chunk({ content: 'ok' }, 'stop'),
    )
  })
  const { session, events, until } = stage(url, { model: 'm', approveWrites: true, editMs: 30 })
  await session.start({ id: 't-1' })
  expect(await until(ends)).toMatchObject({ type: 'done' })
  expect(events.map((event) => event.type)).toContain('pending_edit')
  expect(events.find((event) => event.type === 'tool_result')).toMatchObject({
    output: 'Edit approval timed out.',
    isError: true,
  })
  expect(() =>
    session.respondEdit?.({ toolUseId: 'c-1', approved: true, mergedContent: undefined }),
  ).toThrow(/No edit is waiting/)
})

test('a provider that says nothing ends the turn once; a tool that takes long does not', async () => {
  const url = await listen((n, response) => {
    if (n === 0) response.end(call('bash', { command: 'sleep 0.6' }))
    else response.write(chunk({ content: 'half' }))
  })
  const { session, events, until } = stage(url, {
    model: 'm',
    permissionMode: 'allow_all',
    stallMs: 300,
  })
  await session.start({ id: 't-1' })
  expect(await until(ends)).toEqual({
    type: 'error',
    message: 'The provider sent nothing for 120 s; send again to retry.',
  })
  expect(events.find((event) => event.type === 'tool_result')).toMatchObject({ isError: false })
  expect(events.filter(ends)).toHaveLength(1)
})

test('a slow host slows the provider down, and loses nothing of an answer that fails', async () => {
  const words = 200
  const url = await listen((_, response) => {
    for (let i = 0; i < words; i += 1) response.write(chunk({ content: `${i} ` }))
    response.end('data: {"error":{"message":"broke"}}\n\n')
  })
  let waiting: (() => void)[] = []
  let waits = 0
  const open = (): void => {
    const ready = waiting
    waiting = []
    for (const resolve of ready) resolve()
  }
  const room = (): Promise<void> =>
    new Promise((resolve) => {
      waits += 1
      waiting.push(resolve)
    })
  const { session, events } = stage(url, { model: 'm', room })
  await session.start({ id: 't-1' })
  const pieces = (): number => events.filter((event) => event.type === 'chunk').length
  const step = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  while (pieces() === 0) {
    open()
    await step()
  }
  // Nobody reads on: no second piece comes without room for it.
  const { length } = events
  for (let i = 0; i < 20; i += 1) await step()
  expect(events).toHaveLength(length)
  while (!events.some(ends)) {
    open()
    await step()
  }
  expect(waits).toBeGreaterThan(words)
  expect(pieces()).toBe(words)
  expect(events.at(-1)).toMatchObject({ type: 'error' })
})

test('closing ends a turn without a word', async () => {
  const url = await listen((_, response) => response.write(chunk({ content: 'half' })))
  const { session, events, until } = stage(url, { model: 'm' })
  await session.start({ id: 't-1' })
  await until((event) => event.type === 'chunk')
  await session.close()
  const count = events.length
  await new Promise((resolve) => setImmediate(resolve))
  expect(events.slice(count).filter((event) => event.type === 'chunk')).toEqual([])
})

test.each([
  ['gpt-5.2', true],
  ['gpt-6-mini', true],
  ['o1', true],
  ['o3-mini', true],
  ['o4-mini', true],
  ['gpt-4.1', false],
  ['chatgpt-5', false],
  ['omni', false],
])('%s uses the Responses API: %s', (model, want) => {
  expect(usesResponses(model)).toBe(want)
})

test.each([
  [undefined, undefined],
  ['', undefined],
  ['2', 2],
  ['0.5', 0.5],
  ['-1', undefined],
  ['soon', undefined],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 30],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
])('Retry-After %s is %s s', (value, want) => {
  const headers = new Headers(value === undefined ? {} : { 'retry-after': value })
  expect(retryAfter(headers, 30_000)).toBe(want)
})
