// The real Claude Agent SDK in the built sidecar, against a Messages API on
// loopback. Every test has a child and a server of its own.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { start, textOf } from './child.js'
import { key, last, rig, shape, tool, types } from './claudeRig.js'
import type { Reply } from './messages.js'
import { running, vendors, withCommand } from './processes.js'

test('a plain turn streams, counts and can be resumed', async () => {
  const { child, server, open } = await rig()
  open('a', { initialMessage: 'hi', turnId: 't-1', systemPrompt: 'You are a test.' })
  const turn = await child.turn('a', 't-1')
  expect(shape(turn)).toEqual(['chunk', 'turn_summary', 'done'])
  expect(textOf(turn)).toBe('Hello from claude-sonnet-4-5.')
  expect(turn.filter((f) => f.type === 'chunk')).toHaveLength(4)
  expect(last(turn)).toMatchObject({
    inputTokens: 120,
    outputTokens: 25,
    cacheReadInputTokens: 40,
    cacheCreationInputTokens: 7,
    resumeToken: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  })
  expect(last(turn)).not.toHaveProperty('cancelled')
  expect(server.asks[0]?.system).toContain('You are a test.')

  child.send({ type: 'send_message', sessionId: 'a', content: 'and again', turnId: 't-2' })
  const second = await child.turn('a', 't-2')
  expect(textOf(second)).toBe('Hello from claude-sonnet-4-5.')
  // Counts are those of the turn, not of the session.
  expect(last(second)).toMatchObject({ inputTokens: 120, outputTokens: 25 })
  expect(server.asks.at(-1)?.texts).toEqual(['hi', 'and again'])
  expect(server.faults).toEqual([])
  expect(child.strays).toEqual([])
})

test('thinking is a run of its own that ends before the text', async () => {
  const { child, server, open } = await rig()
  server.on('THINK', {
    blocks: [
      { type: 'thinking', text: ['let me ', 'think'] },
      { type: 'text', text: ['Done ', 'thinking.'] },
    ],
  })
  open('a', { initialMessage: 'THINK', turnId: 't-1', thinkingEnabled: true })
  const turn = await child.turn('a', 't-1')
  expect(shape(turn)).toEqual(['thinking', 'thinking_stop', 'chunk', 'turn_summary', 'done'])
  expect(
    turn
      .filter((f) => f.type === 'thinking')
      .map((f) => f['text'])
      .join(''),
  ).toBe('let me think')
  expect(server.asks[0]?.thinking).toMatchObject({ type: 'enabled', budget_tokens: 8000 })
})

test('an allowed tool runs and reports its exit code', async () => {
  const { child, server, project, open } = await rig()
  server.on('BASH', tool('tu-1', 'Bash', { command: 'echo hi > made.txt && cat made.txt' }))
  open('a', { initialMessage: 'BASH', turnId: 't-1' })
  const ask = await child.frame((f) => f.type === 'permission_request', 'permission')
  expect(ask).toMatchObject({
    sessionId: 'a',
    turnId: 't-1',
    toolUseId: 'tu-1',
    name: 'Bash',
    input: { command: 'echo hi > made.txt && cat made.txt' },
  })
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'tu-1',
    decision: 'allow_once',
  })
  const turn = await child.turn('a', 't-1')
  expect(shape(turn)).toEqual([
    'chunk',
    'tool_start',
    'permission_request',
    'tool_result',
    'tool_output_extended',
    'chunk',
    'turn_summary',
    'done',
  ])
  expect(turn.find((f) => f.type === 'tool_result')).toMatchObject({
    toolUseId: 'tu-1',
    name: 'Bash',
    output: 'hi',
    isError: false,
  })
  expect(turn.find((f) => f.type === 'tool_output_extended')).toMatchObject({
    toolUseId: 'tu-1',
    exitCode: 0,
    stdout: 'hi',
    stderr: '',
  })
  expect(readFileSync(join(project, 'made.txt'), 'utf8')).toBe('hi\n')
  // Both requests of the turn count.
  expect(last(turn)).toMatchObject({ inputTokens: 240, outputTokens: 50 })
})

test('a denied tool does not run, and the model receives the reason', async () => {
  const { child, server, project, open } = await rig()
  open('a')
  // Each origin has its own words; a timeout is not a denial by the person (F51).
  for (const [turnId, answer, words] of [
    ['reason', { reason: ' other way ' }, "Denied by user. User's guidance: other way"],
    ['user', { by: 'user' }, 'denied by user'],
    ['policy', { by: 'policy', reason: 'unused' }, 'denied by policy'],
    ['timeout', { by: 'timeout' }, 'permission request timed out'],
    ['cancel', { by: 'cancel' }, 'User cancelled this tool'],
  ] as const) {
    const word = `BASH-${turnId}`
    server.on(word, tool(turnId, 'Bash', { command: 'echo hi > made.txt' }))
    child.send({ type: 'send_message', sessionId: 'a', content: word, turnId })
    await child.frame((f) => f.type === 'permission_request' && f.turnId === turnId, 'permission')
    child.send({
      type: 'permission_response',
      sessionId: 'a',
      toolUseId: turnId,
      decision: 'deny',
      ...answer,
    })
    const turn = await child.turn('a', turnId)
    expect(turn.find((f) => f.type === 'tool_result')).toMatchObject({
      toolUseId: turnId,
      isError: true,
    })
    expect(last(turn)).toMatchObject({ type: 'done' })
    expect(last(turn)).not.toHaveProperty('cancelled')
    expect(server.asks.at(-1)?.results).toMatchObject([{ id: turnId, isError: true, text: words }])
  }
  expect(existsSync(join(project, 'made.txt'))).toBe(false)
  expect(server.faults).toEqual([])
})

test('a reviewed edit is applied as proposed, as merged, or not at all', async () => {
  const { child, server, project, open } = await rig()
  const file = join(project, 'note.txt')
  writeFileSync(file, 'one\ntwo\n')
  const edit = (id: string, old: string, now: string): Reply[] => [
    tool(`${id}-r`, 'Read', { file_path: file }),
    tool(`${id}-e`, 'Edit', { file_path: file, old_string: old, new_string: now }),
  ]
  server
    .on('APPLY', ...edit('a', 'one', 'ONE'))
    .on('MERGE', ...edit('m', 'two', 'TWO'))
    .on('REJECT', ...edit('r', 'ONE', 'no'))
  // The host's gate would answer this one by itself.
  void child
    .until(
      () => {
        for (const f of child.frames) {
          if (f.type !== 'permission_request' || f['answered'] === true) continue
          f['answered'] = true
          child.send({
            type: 'permission_response',
            sessionId: 'a',
            toolUseId: f['toolUseId'],
            decision: 'allow_once',
          })
        }
        return undefined
      },
      'never',
      58_000,
    )
    .catch(() => {})

  open('a', { initialMessage: 'APPLY', turnId: 't-1', approveWrites: true })
  const pending = await child.frame((f) => f.type === 'pending_edit', 'edit')
  expect(pending).toMatchObject({
    toolUseId: 'a-e',
    path: file,
    before: 'one\ntwo\n',
    after: 'ONE\ntwo\n',
    turnId: 't-1',
  })
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n')
  child.send({ type: 'edit_response', sessionId: 'a', toolUseId: 'a-e', approved: true })
  const applied = await child.turn('a', 't-1')
  expect(readFileSync(file, 'utf8')).toBe('ONE\ntwo\n')
  expect(applied.filter((f) => f.type === 'tool_result').at(-1)).toMatchObject({ isError: false })
  expect(applied.filter((f) => f.type === 'tool_output_extended').at(-1)).toMatchObject({
    toolUseId: 'a-e',
    modifiedPaths: [file],
  })

  child.send({ type: 'send_message', sessionId: 'a', content: 'MERGE', turnId: 't-2' })
  await child.frame((f) => f.type === 'pending_edit' && f.turnId === 't-2', 'edit')
  child.send({
    type: 'edit_response',
    sessionId: 'a',
    toolUseId: 'm-e',
    approved: true,
    mergedContent: 'ONE\nours\n',
  })
  const merged = await child.turn('a', 't-2')
  expect(readFileSync(file, 'utf8')).toBe('ONE\nours\n')
  expect(merged.filter((f) => f.type === 'tool_result').at(-1)).toMatchObject({
    toolUseId: 'm-e',
    isError: false,
  })
  expect(server.asks.at(-1)?.results.at(-1)?.text).toContain('The user changed this edit')

  child.send({ type: 'send_message', sessionId: 'a', content: 'REJECT', turnId: 't-3' })
  await child.frame((f) => f.type === 'pending_edit' && f.turnId === 't-3', 'edit')
  child.send({ type: 'edit_response', sessionId: 'a', toolUseId: 'r-e', approved: false })
  const rejected = await child.turn('a', 't-3')
  expect(readFileSync(file, 'utf8')).toBe('ONE\nours\n')
  expect(rejected.filter((f) => f.type === 'tool_result').at(-1)).toMatchObject({ isError: true })
  expect(server.asks.at(-1)?.results.at(-1)?.text).toContain('User rejected edit')
  expect(server.faults).toEqual([])

  // A second answer finds nothing to answer.
  child.send({ type: 'edit_response', sessionId: 'a', toolUseId: 'r-e', approved: true })
  const late = await child.frame((f) => f.type === 'error', 'late answer')
  expect(late).toMatchObject({ sessionId: 'a', request: 'edit_response' })
})

test('without review an edit sends its baseline; the switch leaves the permission mode alone', async () => {
  const { child, server, project, open } = await rig()
  const file = join(project, 'new.txt')
  server
    .on('FIRST', tool('w-1', 'Write', { file_path: file, content: 'x\n' }))
    .on('SECOND', tool('w-2', 'Write', { file_path: file, content: 'y\n' }))
  open('a', { initialMessage: 'FIRST', turnId: 't-1', permissionMode: 'auto' })
  await child.frame((f) => f.type === 'permission_request', 'permission')
  const allow = (toolUseId: string): void =>
    child.send({ type: 'permission_response', sessionId: 'a', toolUseId, decision: 'allow_once' })
  allow('w-1')
  const first = await child.turn('a', 't-1')
  const baseline = first.find((f) => f.type === 'edit_baseline')
  expect(baseline).toMatchObject({ toolUseId: 'w-1', path: file })
  expect(baseline).not.toHaveProperty('before')

  child.send({ type: 'set_approve_writes', sessionId: 'a', approveWrites: true })
  child.send({ type: 'send_message', sessionId: 'a', content: 'SECOND', turnId: 't-2' })
  await child.frame((f) => f.type === 'pending_edit', 'edit')
  child.send({ type: 'edit_response', sessionId: 'a', toolUseId: 'w-2', approved: true })
  // Still asked: approving writes is no permission mode.
  await child.frame((f) => f.type === 'permission_request' && f.turnId === 't-2', 'permission')
  allow('w-2')
  await child.turn('a', 't-2')
  expect(readFileSync(file, 'utf8')).toBe('y\n')
})

test('plan mode holds writes back, also after the SDK left it', async () => {
  const { child, server, project, open } = await rig()
  const file = join(project, 'new.txt')
  server
    .on('PLANWRITE', tool('w-1', 'Write', { file_path: file, content: 'x\n' }))
    .on(
      'PLANEXIT',
      tool('e-1', 'ExitPlanMode', { plan: '## Plan\n1. a' }),
      tool('w-2', 'Write', { file_path: file, content: 'x\n' }),
      tool('b-2', 'Bash', { command: `touch ${file}` }),
    )
    .on('GO', tool('w-3', 'Write', { file_path: file, content: 'z\n' }))
  open('a', { initialMessage: 'PLANWRITE', turnId: 't-1', planMode: true })
  const first = await child.turn('a', 't-1')
  expect(types(first)).not.toContain('permission_request')
  expect(server.asks.at(-1)?.results[0]?.text).toContain("Plan mode is active \u2014 'Write'")

  child.send({ type: 'send_message', sessionId: 'a', content: 'PLANEXIT', turnId: 't-2' })
  await child.frame((f) => f.type === 'permission_request', 'plan approval')
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'e-1',
    decision: 'allow_once',
  })
  const second = await child.turn('a', 't-2')
  expect(second.filter((f) => f.type === 'permission_request')).toHaveLength(1)
  expect(existsSync(file)).toBe(false)
  expect(server.asks.at(-1)?.results[0]?.text).toContain("Plan mode is active \u2014 'Bash'")

  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'auto' })
  child.send({ type: 'send_message', sessionId: 'a', content: 'GO', turnId: 't-3' })
  await child.frame((f) => f.type === 'permission_request' && f.turnId === 't-3', 'permission')
  child.send({ type: 'permission_response', sessionId: 'a', toolUseId: 'w-3', decision: 'approve' })
  await child.turn('a', 't-3')
  expect(readFileSync(file, 'utf8')).toBe('z\n')
})

test('posture and model change while a prompt is open, and the prompt can still be answered', async () => {
  const { child, server, project, open } = await rig()
  const file = join(project, 'made.txt')
  server.on(
    'BASH',
    tool('b-1', 'Bash', { command: `echo hi > ${file}` }),
    tool('b-2', 'Bash', { command: 'echo never' }),
  )
  open('a', { initialMessage: 'BASH', turnId: 't-1' })
  await child.frame((f) => f.type === 'permission_request', 'permission')
  child.send({ type: 'set_model', sessionId: 'a', model: 'claude-opus-4-5' })
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'plan' })
  child.send({ type: 'permission_response', sessionId: 'a', toolUseId: 'b-1', decision: 'approve' })
  const turn = await child.turn('a', 't-1')
  expect(last(turn)).toMatchObject({ type: 'done' })
  expect(readFileSync(file, 'utf8')).toBe('hi\n')
  // The next call of the same turn already meets plan mode and the new model.
  expect(turn.filter((f) => f.type === 'permission_request')).toHaveLength(1)
  expect(server.asks.at(-1)?.results[0]?.text).toContain("Plan mode is active \u2014 'Bash'")
  expect(server.asks.at(-1)?.model).toBe('claude-opus-4-5')
})

test('deny_all refuses without asking, and a list becomes a plan', async () => {
  const { child, server, project, open } = await rig()
  const file = join(project, 'new.txt')
  server.on('DENYWRITE', tool('w-1', 'Write', { file_path: file, content: 'x\n' })).on(
    'TODO',
    tool('p-1', 'TodoWrite', {
      todos: [
        { content: 'one', status: 'in_progress', activeForm: 'Doing one' },
        { content: 'two', status: 'pending', activeForm: 'Doing two' },
      ],
    }),
  )
  open('a', { initialMessage: 'DENYWRITE', turnId: 't-1', permissionMode: 'deny_all' })
  const turn = await child.turn('a', 't-1')
  expect(types(turn)).not.toContain('permission_request')
  expect(existsSync(file)).toBe(false)
  child.send({ type: 'send_message', sessionId: 'a', content: 'TODO', turnId: 't-2' })
  const second = await child.turn('a', 't-2')
  expect(second.find((f) => f.type === 'plan_block')).toMatchObject({
    items: [
      { content: 'one', status: 'in_progress', activeForm: 'Doing one' },
      { content: 'two', status: 'pending', activeForm: 'Doing two' },
    ],
  })
})

test('cancel ends the turn once, and the next one is its own (F17, F52)', async () => {
  const { child, server, project, open } = await rig()
  server
    .on('SLOW', { hang: ['word ', 'word '] })
    .on('ASK', tool('tu-1', 'Bash', { command: 'touch never' }))
    .on('LONG', tool('tu-2', 'Bash', { command: 'touch begun && sleep 600', timeout: 600_000 }))
  open('a', { initialMessage: 'SLOW', turnId: 't-1' })
  await child.frame((f) => f.type === 'chunk', 'chunk', 2)
  child.send({ type: 'cancel', sessionId: 'a' })
  const first = await child.turn('a', 't-1')
  expect(last(first)).toMatchObject({ type: 'done', cancelled: true })

  // A prompt is open.
  child.send({ type: 'send_message', sessionId: 'a', content: 'ASK', turnId: 't-2' })
  await child.frame((f) => f.type === 'permission_request', 'permission')
  child.send({ type: 'cancel', sessionId: 'a' })
  const second = await child.turn('a', 't-2')
  expect(last(second)).toMatchObject({ type: 'done', cancelled: true })

  // A tool runs.
  child.send({ type: 'send_message', sessionId: 'a', content: 'LONG', turnId: 't-3' })
  await child.frame((f) => f.type === 'permission_request' && f.turnId === 't-3', 'permission')
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'tu-2',
    decision: 'approve',
  })
  const begun = join(project, 'begun')
  await expect.poll(() => existsSync(begun), { timeout: 20_000 }).toBe(true)
  child.send({ type: 'cancel', sessionId: 'a' })
  const third = await child.turn('a', 't-3')
  expect(last(third)).toMatchObject({ type: 'done', cancelled: true })

  child.send({ type: 'send_message', sessionId: 'a', content: 'hello', turnId: 't-4' })
  const fourth = await child.turn('a', 't-4')
  expect(textOf(fourth)).toBe('Hello from claude-sonnet-4-5.')
  expect(child.of('a').filter((f) => f.type === 'done')).toHaveLength(4)
  expect(child.of('a').filter((f) => f.type === 'error')).toEqual([])
  expect(existsSync(join(project, 'never'))).toBe(false)
  // Every call that was open got a result (F16).
  expect(server.faults).toEqual([])
})

test('a cancel right behind its message still ends it once', async () => {
  const { child, server, open } = await rig()
  server.on('SLOW', { hang: ['word '] })
  open('a')
  child.send({ type: 'send_message', sessionId: 'a', content: 'SLOW', turnId: 't-1' })
  child.send({ type: 'cancel', sessionId: 'a' })
  child.send({ type: 'send_message', sessionId: 'a', content: 'hello', turnId: 't-2' })
  const second = await child.turn('a', 't-2')
  expect(textOf(second)).toBe('Hello from claude-sonnet-4-5.')
  const ends = child.of('a').filter((f) => f.type === 'done' || f.type === 'error')
  expect(ends.map((f) => [f.turnId, f.type, f['cancelled']])).toEqual([
    ['t-1', 'done', true],
    ['t-2', 'done', undefined],
  ])
})

test('pending tools are cancelled and the turn goes on', async () => {
  const { child, server, open } = await rig()
  server.on('ASK', tool('tu-1', 'Bash', { command: 'touch never' }))
  open('a', { initialMessage: 'ASK', turnId: 't-1' })
  await child.frame((f) => f.type === 'permission_request', 'permission')
  child.send({ type: 'cancel_pending_tools', sessionId: 'a' })
  const turn = await child.turn('a', 't-1')
  expect(last(turn)).not.toHaveProperty('cancelled')
  expect(server.asks.at(-1)?.results[0]?.text).toBe('User cancelled this tool')
})

test('a session goes on after kill -9 of the sidecar', async () => {
  const r = await rig()
  r.open('a', { initialMessage: 'first', turnId: 't-1' })
  const done = last(await r.child.turn('a', 't-1'))
  r.server.on('SLOW', { hang: ['word '] })
  r.child.send({ type: 'send_message', sessionId: 'a', content: 'SLOW', turnId: 't-2' })
  await r.child.frame((f) => f.type === 'chunk' && f.turnId === 't-2', 'chunk')
  r.child.killGroup()
  await r.child.exited

  const child = r.again()
  await child.ready()
  child.send(
    start('a', 'claude-oauth', {
      projectPath: r.project,
      apiKey: key,
      initialMessage: 'second',
      turnId: 't-3',
      resume: done['resumeToken'],
      resumeMessages: [{ role: 'user', content: 'not used' }],
    }),
  )
  const turn = await child.turn('a', 't-3')
  expect(textOf(turn)).toBe('Hello from claude-sonnet-4-5.')
  expect(last(turn)['resumeToken']).toBe(done['resumeToken'])
  expect(r.server.asks.at(-1)?.texts[0]).toBe('first')
  expect(r.server.asks.at(-1)?.said).toBe('second')
  expect(r.server.faults).toEqual([])
})

test('an unknown resume token falls back to the transcript', async () => {
  const { child, server, open } = await rig()
  open('a', {
    initialMessage: 'hi again',
    turnId: 't-1',
    resume: '00000000-0000-4000-8000-000000000000',
    resumeMessages: [
      { role: 'user', content: 'my name is Ada' },
      { role: 'assistant', content: 'Hello Ada' },
    ],
  })
  const turn = await child.turn('a', 't-1')
  expect(last(turn)).toMatchObject({ type: 'done' })
  expect(server.asks[0]?.said).toContain('<conversation_history>')
  expect(server.asks[0]?.said).toContain('my name is Ada')
  expect(server.asks[0]?.said.endsWith('hi again')).toBe(true)
})

test('the model changes with the next request, and retry says the last text again', async () => {
  const { child, server, open } = await rig()
  open('a')
  child.send({ type: 'retry', sessionId: 'a', turnId: 't-0' })
  expect(await child.frame((f) => f.type === 'error', 'nothing to retry')).toMatchObject({
    message: 'No message to retry',
    request: 'retry',
  })
  child.send({ type: 'send_message', sessionId: 'a', content: 'hi', turnId: 't-1' })
  expect(textOf(await child.turn('a', 't-1'))).toBe('Hello from claude-sonnet-4-5.')
  child.send({ type: 'set_model', sessionId: 'a', model: 'claude-opus-4-5' })
  child.send({ type: 'retry', sessionId: 'a', turnId: 't-2' })
  expect(textOf(await child.turn('a', 't-2'))).toBe('Hello from claude-opus-4-5.')
  expect(server.asks.at(-1)?.said).toBe('hi')
  child.send({
    type: 'inject_user_turn',
    sessionId: 'a',
    content: 'it rang',
    source: 'wake_trigger',
    trigger: { kind: '<"timer">' },
    turnId: 't-3',
  })
  await child.turn('a', 't-3')
  expect(server.asks.at(-1)?.said).toBe(
    '<wake_trigger source="wake_trigger" kind="timer">it rang</wake_trigger>',
  )
})

test('a picture is sent ahead of the text', async () => {
  const { child, server, open } = await rig()
  // A red pixel.
  const data =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
  open('a', {
    initialMessage: 'what is this',
    turnId: 't-1',
    attachments: [{ media_type: 'image/png', data_base64: data }],
  })
  await child.turn('a', 't-1')
  const messages = server.asks[0]?.body['messages'] as { content: { type: string }[] }[]
  const kinds = messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []))
  const picture = kinds.findIndex((b) => b.type === 'image')
  const words = kinds.findIndex((b) => JSON.stringify(b).includes('what is this'))
  expect(picture).toBeGreaterThanOrEqual(0)
  expect(words).toBeGreaterThan(picture)
})

test.each([
  ['401', 'did not accept the API key (401)'],
  ['429', 'limits your requests (429)'],
])('an answer of %s is one error with what to do', async (status, words) => {
  const { child, server, open } = await rig()
  server.on(`ERR${status}`, { status: Number(status), error: 'no' })
  open('a', { initialMessage: `ERR${status}`, turnId: 't-1' })
  const turn = await child.turn('a', 't-1', 10_000)
  expect(last(turn)).toMatchObject({ type: 'error' })
  expect(last(turn)['message']).toContain(words)
  expect(JSON.stringify(child.frames) + child.stderr).not.toContain(key)
  if (status === '429') {
    expect(turn.find((f) => f.type === 'rate_limited')).toMatchObject({
      retryAfterSeconds: expect.any(Number) as number,
    })
  }
  // The conversation can go on, and the error was the only one.
  child.send({ type: 'send_message', sessionId: 'a', content: 'hello', turnId: 't-2' })
  expect(textOf(await child.turn('a', 't-2'))).toBe('Hello from claude-sonnet-4-5.')
  expect(child.of('a').filter((f) => f.type === 'error')).toHaveLength(1)
})

test('a refused connection is one error within 10 s', async () => {
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  const { child, open } = await rig({ env: { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` } })
  open('a', { initialMessage: 'hi', turnId: 't-1' })
  const turn = await child.turn('a', 't-1', 10_000)
  expect(last(turn)['message']).toContain('cannot be reached')
  child.send({ type: 'close_session', sessionId: 'a' })
  expect(await child.close()).toBe(0)
  expect(child.of('a').filter((f) => f.type === 'error')).toHaveLength(1)
})

test('a blank key is refused before anything starts', async () => {
  const { child, open } = await rig({ env: { ANTHROPIC_API_KEY: 'ambient' } })
  open('a', { initialMessage: 'hi', turnId: 't-1', apiKey: ' ' })
  const error = await child.frame((f) => f.type === 'error', 'error')
  expect(error['message']).toBe(
    'No API key configured for claude-oauth. Set one in Settings > API Keys.',
  )
  child.send({ type: 'send_message', sessionId: 'a', content: 'hi' })
  expect(await child.frame((f) => f.type === 'error', 'error', 2)).toMatchObject({
    message: 'No active session: a',
    request: 'send_message',
  })
})

test('a sub-agent is counted apart and its calls are asked for', async () => {
  const { child, server, open } = await rig()
  server
    .on(
      'DELEGATE',
      tool('ag-1', 'Agent', {
        description: 'look',
        prompt: 'INNERTASK',
        subagent_type: 'general-purpose',
      }),
    )
    .on('INNERTASK', tool('in-1', 'Bash', { command: 'echo inner > x' }, 'Inner words. '))
  open('a', { initialMessage: 'DELEGATE', turnId: 't-1' })
  const ask = await child.frame((f) => f.type === 'permission_request', 'permission')
  expect(ask).toMatchObject({ toolUseId: 'in-1', name: 'Bash' })
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'in-1',
    decision: 'approve',
  })
  const turn = await child.turn('a', 't-1')
  expect(textOf(turn)).not.toContain('Inner words')
  expect(turn.filter((f) => f.type === 'tool_start').map((f) => f['toolUseId'])).toEqual([
    'ag-1',
    'in-1',
  ])
  // Two requests each, 120 in and 25 out.
  expect(turn.filter((f) => f.type === 'turn_summary')).toMatchObject([
    { address: 'ag-1', inputTokens: 240, outputTokens: 50, cacheReadInputTokens: 80 },
    { inputTokens: 240, outputTokens: 50, cacheReadInputTokens: 80 },
  ])
  expect(last(turn)).toMatchObject({ inputTokens: 240, outputTokens: 50 })
})

test('live children are capped, idle ones make room and are resumed unnoticed', async () => {
  const { child, server, open } = await rig({ env: { PACKETBENCH_SIDECAR_LIVE: '2' } })
  for (const id of ['a', 'b', 'c']) {
    open(id, { initialMessage: `I am ${id}`, turnId: `${id}-1` })
    await child.turn(id, `${id}-1`)
    expect(vendors(child.pid).length).toBeLessThanOrEqual(2)
  }
  child.send({ type: 'send_message', sessionId: 'a', content: 'still there', turnId: 'a-2' })
  const turn = await child.turn('a', 'a-2')
  expect(shape(turn)).toEqual(['chunk', 'turn_summary', 'done'])
  expect(server.asks.at(-1)?.texts).toEqual(['I am a', 'still there'])
  expect(vendors(child.pid).length).toBeLessThanOrEqual(2)
  expect(child.of('a').filter((f) => f.type === 'error')).toEqual([])
})

test('with every place busy a turn waits, says so, and can be cancelled', async () => {
  const { child, server, open } = await rig({ env: { PACKETBENCH_SIDECAR_LIVE: '1' } })
  server.on('SLOW', { hang: ['word '] })
  open('a', { initialMessage: 'SLOW', turnId: 'a-1' })
  await child.frame((f) => f.type === 'chunk', 'chunk')
  open('b', { initialMessage: 'b', turnId: 'b-1' })
  open('c', { initialMessage: 'c', turnId: 'c-1' })
  const notice = await child.frame((f) => f.type === 'rate_limited', 'notice')
  expect(notice['message']).toContain('goes on as soon as')
  await child.frame((f) => f.type === 'rate_limited' && f.sessionId === 'c', 'notice')
  child.send({ type: 'cancel', sessionId: 'b' })
  expect(last(await child.turn('b', 'b-1'))).toMatchObject({ type: 'done', cancelled: true })
  child.send({ type: 'cancel', sessionId: 'a' })
  await child.turn('a', 'a-1')
  expect(textOf(await child.turn('c', 'c-1'))).toBe('Hello from claude-sonnet-4-5.')
})

test('an idle child is ended and comes back with the next message', async () => {
  const { child, server, open } = await rig({ env: { PACKETBENCH_SIDECAR_IDLE_MS: '50' } })
  open('a', { initialMessage: 'one', turnId: 't-1' })
  await child.turn('a', 't-1')
  await expect.poll(() => vendors(child.pid), { timeout: 20_000 }).toEqual([])
  child.send({ type: 'set_model', sessionId: 'a', model: 'claude-opus-4-5' })
  child.send({ type: 'send_message', sessionId: 'a', content: 'two', turnId: 't-2' })
  expect(textOf(await child.turn('a', 't-2'))).toBe('Hello from claude-opus-4-5.')
  expect(server.asks.at(-1)?.texts).toEqual(['one', 'two'])
})

test('a stopped vendor child is one error, and the next message goes on', async () => {
  const { child, server, open } = await rig({ env: { PACKETBENCH_SIDECAR_STALL_MS: '3000' } })
  // BASH first, because the next message may carry the transcript, and SLOW with it.
  server
    .on('BASH', tool('tu-1', 'Bash', { command: 'sleep 4; echo slept' }))
    .on('SLOW', { hang: ['word '] })
  open('a', { initialMessage: 'SLOW', turnId: 't-1' })
  await child.frame((f) => f.type === 'chunk', 'chunk')
  const stopped = vendors(child.pid)
  for (const pid of stopped) process.kill(pid, 'SIGSTOP')
  const turn = await child.turn('a', 't-1', 20_000)
  expect(last(turn)).toMatchObject({
    type: 'error',
    message: 'The provider sent nothing for 120 s; send again to retry.',
  })
  // A call that takes longer than that is no silence, and neither is a prompt.
  child.send({ type: 'send_message', sessionId: 'a', content: 'BASH', turnId: 't-2' })
  await child.frame((f) => f.type === 'permission_request', 'permission')
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'tu-1',
    decision: 'approve',
  })
  const second = await child.turn('a', 't-2', 30_000)
  expect(second.find((f) => f.type === 'tool_result')).toMatchObject({ output: 'slept' })
  expect(last(second).type).toBe('done')
  expect(child.of('a').filter((f) => f.type === 'error')).toHaveLength(1)
  for (const pid of stopped) await expect.poll(() => running(pid), { timeout: 10_000 }).toBe(false)
})

test('cancel ends the turn of a stopped vendor child once', async () => {
  const { child, server, open } = await rig()
  // First, because the next message may carry the transcript, and SLOW with it.
  server.on('AFTER', { blocks: [{ type: 'text', text: ['fine'] }] }).on('SLOW', { hang: ['word '] })
  open('a', { initialMessage: 'SLOW', turnId: 't-1' })
  await child.frame((f) => f.type === 'chunk', 'chunk')
  const stopped = vendors(child.pid)
  for (const pid of stopped) process.kill(pid, 'SIGSTOP')
  child.send({ type: 'cancel', sessionId: 'a' })
  expect(last(await child.turn('a', 't-1', 10_000))).toMatchObject({
    type: 'done',
    cancelled: true,
  })
  for (const pid of stopped) await expect.poll(() => running(pid), { timeout: 10_000 }).toBe(false)
  child.send({ type: 'cancel', sessionId: 'a' })
  child.send({ type: 'send_message', sessionId: 'a', content: 'AFTER', turnId: 't-2' })
  expect(last(await child.turn('a', 't-2')).type).toBe('done')
  expect(child.of('a').filter((f) => f.type === 'done' || f.type === 'error')).toHaveLength(2)
})

test('a killed vendor child is one error, and the next message goes on', async () => {
  const { child, server, open } = await rig()
  server.on('SLOW', { hang: ['word '] })
  open('a', { initialMessage: 'one', turnId: 't-1' })
  await child.turn('a', 't-1')
  child.send({ type: 'send_message', sessionId: 'a', content: 'SLOW', turnId: 't-2' })
  await child.frame((f) => f.type === 'chunk' && f.turnId === 't-2', 'chunk')
  for (const pid of vendors(child.pid)) process.kill(pid, 'SIGKILL')
  const turn = await child.turn('a', 't-2')
  expect(last(turn)).toMatchObject({ type: 'error' })
  expect(last(turn)['message']).toContain('SIGKILL')
  child.send({ type: 'send_message', sessionId: 'a', content: 'three', turnId: 't-3' })
  expect(textOf(await child.turn('a', 't-3'))).toBe('Hello from claude-sonnet-4-5.')
  expect(server.asks.at(-1)?.texts[0]).toBe('one')
  expect(child.of('a').filter((f) => f.type === 'error')).toHaveLength(1)
})

// What a command starts is in sessions of its own, so no group of ours holds it.
test.each(['kill', 'close', 'exit'] as const)(
  'what a vendor child started ends with it (%s)',
  async (how) => {
    const { child, server, open } = await rig()
    // Figures that no other process of this machine has.
    const [plain, apart, other] = [randomInt(1e8, 1e9), randomInt(1e8, 1e9), randomInt(1e8, 1e9)]
    const sleeps = (): number[] =>
      [plain, apart].flatMap((seconds) => withCommand('sleep', String(seconds)))
    const stranger = spawn('sleep', [String(other)], { stdio: 'ignore' })
    try {
      server
        .on('AFTER', { blocks: [{ type: 'text', text: ['fine'] }] })
        .on('BASH', tool('tu-1', 'Bash', { command: `setsid sleep ${apart} & sleep ${plain}` }))
      open('a', { initialMessage: 'BASH', turnId: 't-1' })
      await child.frame((f) => f.type === 'permission_request', 'permission')
      child.send({
        type: 'permission_response',
        sessionId: 'a',
        toolUseId: 'tu-1',
        decision: 'approve',
      })
      await expect.poll(() => sleeps().length, { timeout: 20_000 }).toBe(2)
      if (how === 'kill') {
        for (const pid of vendors(child.pid)) process.kill(pid, 'SIGKILL')
        expect(last(await child.turn('a', 't-1'))).toMatchObject({
          type: 'error',
          message: expect.stringContaining('SIGKILL') as string,
        })
      } else if (how === 'close') child.send({ type: 'close_session', sessionId: 'a' })
      else child.endInput()
      await expect.poll(sleeps, { timeout: 10_000 }).toEqual([])
      expect(withCommand('sleep', String(other))).toEqual([stranger.pid])
      if (how === 'exit') expect(await child.exited).toEqual({ code: 0, signal: null })
      if (how !== 'kill') return
      child.send({ type: 'send_message', sessionId: 'a', content: 'AFTER', turnId: 't-2' })
      expect(last(await child.turn('a', 't-2')).type).toBe('done')
      expect(child.of('a').filter((f) => f.type === 'error')).toHaveLength(1)
    } finally {
      stranger.kill('SIGKILL')
      for (const pid of sleeps()) process.kill(pid, 'SIGKILL')
    }
  },
)

test.each(['stdin', 'SIGTERM', 'SIGINT'] as const)(
  'nothing outlives the end by %s (F23)',
  async (how) => {
    const { child, server, open } = await rig()
    server.on('SLOW', { hang: ['word '] })
    open('a', { initialMessage: 'SLOW', turnId: 't-1' })
    await child.frame((f) => f.type === 'chunk', 'chunk')
    const pids = vendors(child.pid)
    expect(pids).not.toEqual([])
    if (how === 'stdin') child.endInput()
    else child.signal(how)
    expect(await child.exited).toEqual({ code: 0, signal: null })
    // A signal was sent; the system needs a moment to act on it.
    await expect.poll(() => pids.filter(running), { timeout: 5000 }).toEqual([])
  },
)

test('the key is in no argument, and the environment of the child is our list', async () => {
  const { child, open } = await rig({ env: { AWS_SECRET_ACCESS_KEY: 'x', LANG: 'C.UTF-8' } })
  open('a', {
    initialMessage: 'hi',
    turnId: 't-1',
    mcpServers: {
      broken: { type: 'stdio', command: 'false', args: [], env: { TOKEN: 'server-secret' } },
    },
    mcpTrustSnapshot: [],
  })
  await child.turn('a', 't-1')
  const [pid] = vendors(child.pid)
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  expect(command).not.toContain(key)
  expect(command).not.toContain('server-secret')
  const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .map((line) => line.split('=')[0])
  expect(names).toContain('LANG')
  expect(names).toContain('CLAUDE_CONFIG_DIR')
  expect(names).not.toContain('AWS_SECRET_ACCESS_KEY')
  expect(names).not.toContain('CLAUDE_CODE_OAUTH_TOKEN')
})

test('a command has the home of its person and no key', async () => {
  const home = "/home/o'brien"
  const { child, server, open } = await rig({ env: { HOME: home } })
  server.on('BASH', tool('tu-1', 'Bash', { command: 'touch made.txt; env' }))
  open('a', { initialMessage: 'BASH', turnId: 't-1' })
  await child.frame((f) => f.type === 'permission_request', 'the question')
  child.send({
    type: 'permission_response',
    sessionId: 'a',
    toolUseId: 'tu-1',
    decision: 'allow_once',
  })
  const turn = await child.turn('a', 't-1')
  const output = turn.find((f) => f.type === 'tool_result')?.['output'] as string
  expect(output.split('\n')).toContain(`HOME=${home}`)
  expect(output).not.toContain(key)
  expect(output).not.toMatch(/^(ANTHROPIC_|CLAUDE_CONFIG_DIR)/m)
})
