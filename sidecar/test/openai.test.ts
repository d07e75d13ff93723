// The real OpenAI Agents SDK in the built sidecar, against both of its API
// shapes on loopback. Every test has a child and a server of its own.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { textOf, type Frame } from './child.js'
import { call, calls, key, last, openaiRig, shape, shapes, types } from './openaiRig.js'
import { running } from './processes.js'

const result = (frames: readonly Frame[], id: string): Frame | undefined =>
  frames.find((f) => f.type === 'tool_result' && f['toolUseId'] === id)

const permission =
  (id: string) =>
  (f: Frame): boolean =>
    f.type === 'permission_request' && f['toolUseId'] === id

test.each(shapes)('%s: a plain turn streams and counts', async (api, model) => {
  const { child, server, open, say } = await openaiRig()
  open('a', { initialMessage: 'hi', turnId: 't-1', systemPrompt: 'You are a test.', model })
  const turn = await child.turn('a', 't-1')
  expect(shape(turn)).toEqual(['chunk', 'turn_summary', 'done'])
  expect(textOf(turn)).toBe(`Hello from ${model}.`)
  // One for each delta, which the SDK hands on twice.
  expect(turn.filter((f) => f.type === 'chunk')).toHaveLength(4)
  expect(turn.at(-2)).toEqual({
    type: 'turn_summary',
    inputTokens: 50,
    outputTokens: 9,
    cacheReadInputTokens: 10,
    reasoningTokens: 2,
    sessionId: 'a',
    turnId: 't-1',
  })
  // No cancelled and no resume token.
  expect(last(turn)).toEqual({
    type: 'done',
    inputTokens: 50,
    outputTokens: 9,
    cacheReadInputTokens: 10,
    sessionId: 'a',
    turnId: 't-1',
  })
  expect(server.asks[0]).toMatchObject({ api, model, instructions: 'You are a test.' })
  say('a', 't-2', 'and again')
  // Counts are those of the turn, not of the session.
  expect(last(await child.turn('a', 't-2'))).toMatchObject({ inputTokens: 50, outputTokens: 9 })
  expect(server.asks.at(-1)?.turns.map((t) => t.text)).toEqual([
    'hi',
    `Hello from ${model}.`,
    'and again',
  ])
  expect(server.faults).toEqual([])
  expect(child.strays).toEqual([])
})

test.each(shapes)(
  '%s: thinking is a run of its own that ends before the text',
  async (_, model) => {
    const { child, server, open, say } = await openaiRig()
    server.on('THINK', {
      parts: [{ reasoning: ['let me ', 'think'] }, { text: ['Done ', 'thinking.'] }],
    })
    server.on('PLUNGE', {
      parts: [{ reasoning: ['and '] }, call('c-1', 'list_directory', {})],
    })
    open('a', { initialMessage: 'THINK', turnId: 't-1', thinkingEnabled: true, model })
    const turn = await child.turn('a', 't-1')
    expect(shape(turn)).toEqual(['thinking', 'thinking_stop', 'chunk', 'turn_summary', 'done'])
    expect(
      turn
        .filter((f) => f.type === 'thinking')
        .map((f) => f['text'])
        .join(''),
    ).toBe('let me think')
    const reasoning = server.asks[0]?.body['reasoning']
    // Chat models have none to be asked for.
    if (model === 'gpt-5.2') expect(reasoning).toEqual({ effort: 'medium', summary: 'auto' })
    else expect(server.asks[0]?.body).not.toHaveProperty('reasoning_effort')
    say('a', 't-2', 'PLUNGE')
    expect(shape(await child.turn('a', 't-2')).slice(0, 4)).toEqual([
      'thinking',
      'thinking_stop',
      'tool_start',
      'tool_result',
    ])
    expect(server.faults).toEqual([])
  },
)

test('a refusal of the model is shown as its answer', async () => {
  for (const [, model] of shapes) {
    const { child, server, open } = await openaiRig()
    server.on('NO', { parts: [{ refusal: ['I will ', 'not.'] }] })
    open('a', { initialMessage: 'NO', turnId: 't-1', model })
    const turn = await child.turn('a', 't-1')
    expect(textOf(turn)).toBe('I will not.')
  }
})

test.each(shapes)('%s: an allowed tool runs and reports its exit code', async (_, model) => {
  const { child, server, project, open, answer } = await openaiRig()
  const command = 'echo hi > made.txt && cat made.txt && echo oops >&2'
  server.on('BASH', calls({ text: ['Working.'] }, call('c-1', 'bash', { command })))
  open('a', { initialMessage: 'BASH', turnId: 't-1', model })
  const ask = await child.frame(permission('c-1'), 'permission')
  expect(ask).toEqual({
    type: 'permission_request',
    sessionId: 'a',
    turnId: 't-1',
    toolUseId: 'c-1',
    name: 'bash',
    input: { command },
  })
  expect(existsSync(join(project, 'made.txt'))).toBe(false)
  answer('a', 'c-1', { decision: 'allow_once' })
  const turn = await child.turn('a', 't-1')
  expect(shape(turn)).toEqual([
    'chunk',
    'tool_start',
    'permission_request',
    'tool_output_extended',
    'tool_result',
    'chunk',
    'turn_summary',
    'done',
  ])
  expect(turn.find((f) => f.type === 'tool_start')).not.toHaveProperty('input')
  expect(turn.find((f) => f.type === 'tool_output_extended')).toMatchObject({
    toolUseId: 'c-1',
    exitCode: 0,
    stdout: 'hi\n',
    stderr: 'oops\n',
  })
  expect(result(turn, 'c-1')).toMatchObject({
    name: 'bash',
    input: { command },
    output: 'hi\n--- stderr ---\noops',
    isError: false,
  })
  // Both requests of the turn count.
  expect(last(turn)).toMatchObject({ inputTokens: 100, outputTokens: 18 })
  expect(server.faults).toEqual([])
})

test.each(shapes)('%s: a denied tool does not run, and the model reads why', async (_, model) => {
  const { child, server, project, open, answer, say } = await openaiRig()
  open('a', { model })
  const denied = 'User denied permission for this tool call.'
  // Each origin has its own words; a timeout is not a denial by the person (F51).
  for (const [id, fields, words] of [
    ['reason', { reason: ' other way ' }, `${denied} User's guidance: other way`],
    ['blank', { reason: '  ' }, denied],
    ['policy', { by: 'policy', reason: 'unused' }, 'denied by policy'],
    ['timeout', { by: 'timeout' }, 'Permission request timed out.'],
    ['cancel', { by: 'cancel' }, 'User cancelled this tool'],
  ] as const) {
    server.on(`BASH-${id}`, calls(call(id, 'bash', { command: 'touch made.txt' })))
    say('a', id, `BASH-${id}`)
    await child.frame(permission(id), 'permission')
    answer('a', id, { decision: 'deny', ...fields })
    const turn = await child.turn('a', id)
    expect(result(turn, id)).toMatchObject({ output: words, isError: true, name: 'bash' })
    expect(last(turn).type).toBe('done')
    expect(server.asks.at(-1)?.results).toEqual([{ id, text: words }])
  }
  expect(existsSync(join(project, 'made.txt'))).toBe(false)
  answer('a', 'cancel', { decision: 'approve' })
  const late = await child.frame((f) => f.type === 'error', 'late answer')
  expect(late).toMatchObject({ request: 'permission_response' })
  expect(server.faults).toEqual([])
})

test.each(shapes)(
  '%s: several prompts are one batch, and the run waits for all',
  async (_, model) => {
    const { child, server, project, open, answer } = await openaiRig()
    server.on(
      'BATCH',
      calls(
        call('c-1', 'bash', { command: 'echo one > one' }),
        call('c-2', 'read_file', { path: 'nothing' }),
        call('c-3', 'write_file', { path: 'deep/two', content: 'two' }),
        call('c-4', 'bash', { command: 'echo three > three' }),
      ),
    )
    open('a', { initialMessage: 'BATCH', turnId: 't-1', model })
    await child.frame((f) => f.type === 'permission_request', 'permissions', 3)
    const asks = child.of('a').filter((f) => f.type === 'permission_request')
    expect(asks.map((f) => f['toolUseId'])).toEqual(['c-1', 'c-3', 'c-4'])
    expect(new Set(asks.map((f) => f['batchId'])).size).toBe(1)
    expect(asks.map((f) => f['batchSize'])).toEqual([3, 3, 3])
    answer('a', 'c-4', { decision: 'deny' })
    answer('a', 'c-1', { decision: 'approve' })
    // Handled in order, so by its answer the two above have been taken too.
    answer('a', 'c-1', { decision: 'deny' })
    await child.frame((f) => f.type === 'error', 'second answer')
    expect(existsSync(join(project, 'one'))).toBe(false)
    expect(server.asks).toHaveLength(1)
    answer('a', 'c-3', { decision: 'allow_once' })
    const turn = await child.turn('a', 't-1')
    expect(types(turn).filter((t) => t === 'tool_start')).toHaveLength(4)
    expect(types(turn).filter((t) => t === 'tool_result')).toHaveLength(4)
    expect(readFileSync(join(project, 'one'), 'utf8')).toBe('one\n')
    expect(readFileSync(join(project, 'deep', 'two'), 'utf8')).toBe('two')
    expect(existsSync(join(project, 'three'))).toBe(false)
    expect(
      server.asks
        .at(-1)
        ?.results.map((r) => r.id)
        .sort(),
    ).toEqual(['c-1', 'c-2', 'c-3', 'c-4'])
    expect(server.faults).toEqual([])
  },
)

test('allow always is for the name of the tool and the session', async () => {
  const { child, server, open, answer, say } = await openaiRig()
  server
    .on('ONE', calls(call('c-1', 'bash', { command: 'true' })))
    .on('TWO', calls(call('c-2', 'bash', { command: 'true' })))
    .on('FILE', calls(call('c-3', 'write_file', { path: 'f', content: 'x' })))
  open('a', { initialMessage: 'ONE', turnId: 't-1' })
  await child.frame(permission('c-1'), 'permission')
  answer('a', 'c-1', { decision: 'allow_always' })
  await child.turn('a', 't-1')
  say('a', 't-2', 'TWO')
  expect(types(await child.turn('a', 't-2'))).not.toContain('permission_request')
  say('a', 't-3', 'FILE')
  await child.frame(permission('c-3'), 'another tool')
  open('b', { initialMessage: 'TWO', turnId: 't-1' })
  await child.frame((f) => f.sessionId === 'b' && permission('c-2')(f), 'another session')
})

test.each(shapes)('%s: edits are reviewed: merged, applied, rejected', async (_, model) => {
  const { child, server, project, open, say } = await openaiRig()
  writeFileSync(join(project, 'old.txt'), 'old\n')
  server
    .on('MERGE', calls(call('m', 'write_file', { path: 'old.txt', content: 'new\n' })))
    .on('APPLY', calls(call('p', 'write_file', { path: 'made/new.txt', content: 'fresh' })))
    .on('REJECT', calls(call('r', 'write_file', { path: 'old.txt', content: 'no' })))
    .on('STALE', calls(call('s', 'write_file', { path: 'old.txt', content: 'late' })))
  open('a', { initialMessage: 'MERGE', turnId: 't-1', approveWrites: true, model })
  const merge = await child.frame((f) => f.type === 'pending_edit', 'edit')
  expect(merge).toEqual({
    type: 'pending_edit',
    toolUseId: 'm',
    path: 'old.txt',
    before: 'old\n',
    after: 'new\n',
    sessionId: 'a',
    turnId: 't-1',
  })
  const respond = (toolUseId: string, fields: object): void =>
    child.send({ type: 'edit_response', sessionId: 'a', toolUseId, ...fields })
  respond('m', { approved: true, mergedContent: 'mine\n' })
  const merged = await child.turn('a', 't-1')
  // The review is the leave: nothing else asks.
  expect(shape(merged)).toEqual([
    'tool_start',
    'pending_edit',
    'tool_output_extended',
    'tool_result',
    'chunk',
    'turn_summary',
    'done',
  ])
  expect(readFileSync(join(project, 'old.txt'), 'utf8')).toBe('mine\n')
  expect(server.asks.at(-1)?.results[0]?.text).toContain('The user changed the text')

  say('a', 't-2', 'APPLY')
  const apply = await child.frame((f) => f.type === 'pending_edit', 'edit', 2)
  expect(apply).not.toHaveProperty('before')
  respond('p', { approved: true })
  const applied = await child.turn('a', 't-2')
  expect(readFileSync(join(project, 'made', 'new.txt'), 'utf8')).toBe('fresh')
  expect(applied.find((f) => f.type === 'tool_output_extended')).toMatchObject({
    modifiedPaths: ['made/new.txt'],
  })

  say('a', 't-3', 'REJECT')
  await child.frame((f) => f.type === 'pending_edit', 'edit', 3)
  respond('r', { approved: false })
  expect(result(await child.turn('a', 't-3'), 'r')).toMatchObject({
    output: 'User rejected this edit.',
    isError: true,
  })
  expect(server.asks.at(-1)?.results[0]?.text).toBe('User rejected this edit.')

  // Somebody else writes the file while it is under review.
  say('a', 't-4', 'STALE')
  await child.frame((f) => f.type === 'pending_edit', 'edit', 4)
  writeFileSync(join(project, 'old.txt'), 'theirs\n')
  respond('s', { approved: true })
  expect(result(await child.turn('a', 't-4'), 's')).toMatchObject({ isError: true })
  expect(readFileSync(join(project, 'old.txt'), 'utf8')).toBe('theirs\n')
  respond('s', { approved: true })
  const late = await child.frame((f) => f.type === 'error', 'late answer')
  expect(late).toMatchObject({ request: 'edit_response' })
  expect(server.faults).toEqual([])
})

test('without review a write tells what was there, and asks unless everything is allowed', async () => {
  const { child, server, project, open, answer, say } = await openaiRig()
  writeFileSync(join(project, 'old.txt'), 'old\n')
  writeFileSync(join(project, 'binary'), Buffer.from([0, 1, 2]))
  server
    .on('OLD', calls(call('c-1', 'write_file', { path: 'old.txt', content: 'new\n' })))
    .on('NEW', calls(call('c-2', 'write_file', { path: 'new.txt', content: 'x' })))
    .on('BINARY', calls(call('c-3', 'write_file', { path: 'binary', content: 'text' })))
  open('a', { initialMessage: 'OLD', turnId: 't-1' })
  await child.frame(permission('c-1'), 'permission')
  answer('a', 'c-1', { decision: 'approve' })
  const old = await child.turn('a', 't-1')
  expect(old.find((f) => f.type === 'edit_baseline')).toMatchObject({
    toolUseId: 'c-1',
    path: 'old.txt',
    before: 'old\n',
  })
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'allow_all' })
  say('a', 't-2', 'NEW')
  const made = await child.turn('a', 't-2')
  expect(shape(made).slice(0, 4)).toEqual([
    'tool_start',
    'edit_baseline',
    'tool_output_extended',
    'tool_result',
  ])
  expect(made.find((f) => f.type === 'edit_baseline')).not.toHaveProperty('before')
  // A baseline without its text would read as a new file.
  say('a', 't-3', 'BINARY')
  expect(types(await child.turn('a', 't-3'))).not.toContain('edit_baseline')
  // Toggling the review leaves the mode alone (13.15).
  child.send({ type: 'set_approve_writes', sessionId: 'a', approveWrites: true })
  child.send({ type: 'set_approve_writes', sessionId: 'a', approveWrites: false })
  say('a', 't-4', 'NEW')
  expect(types(await child.turn('a', 't-4'))).not.toContain('permission_request')
})

test.each(shapes)('%s: cancel ends a stream, a prompt, an edit and a command', async (_, model) => {
  const { child, server, project, open, say } = await openaiRig()
  server
    .on('SLOW', { hang: ['word ', 'by '] })
    .on('PROMPT', calls(call('p', 'bash', { command: 'true' })))
    .on('EDIT', calls(call('e', 'write_file', { path: 'f', content: 'x' })))
    .on('RUN', calls(call('r', 'bash', { command: 'sleep 100 & echo $! > pid; wait' })))
  open('a', { model, approveWrites: true })
  const stop = async (word: string, turnId: string, when: (f: Frame) => boolean) => {
    say('a', turnId, word)
    await child.frame((f) => f.turnId === turnId && when(f), `${word} to begin`)
    child.send({ type: 'cancel', sessionId: 'a' })
    const turn = await child.turn('a', turnId, 10_000)
    expect(last(turn)).toMatchObject({ type: 'done', cancelled: true })
    return turn
  }
  await stop('SLOW', 't-1', (f) => f.type === 'chunk')
  await expect.poll(() => server.left).toBe(1)
  const prompt = await stop('PROMPT', 't-2', permission('p'))
  expect(result(prompt, 'p')).toMatchObject({ output: 'Cancelled by the user', isError: true })
  const edit = await stop('EDIT', 't-3', (f) => f.type === 'pending_edit')
  expect(result(edit, 'e')).toMatchObject({ output: 'Cancelled by the user', isError: true })
  expect(existsSync(join(project, 'f'))).toBe(false)

  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'allow_all' })
  say('a', 't-4', 'RUN')
  const pid = await expect
    .poll(() => existsSync(join(project, 'pid')) && Number(readFileSync(join(project, 'pid'))), {
      timeout: 20_000,
    })
    .toBeGreaterThan(1)
    .then(() => Number(readFileSync(join(project, 'pid'))))
  expect(running(pid)).toBe(true)
  child.send({ type: 'cancel', sessionId: 'a' })
  expect(last(await child.turn('a', 't-4', 10_000))).toMatchObject({ cancelled: true })
  // The whole group went with it (F18).
  await expect.poll(() => running(pid)).toBe(false)

  // The next turn is whole: every call has a result, and what was said is known.
  say('a', 't-5', 'hello')
  expect(textOf(await child.turn('a', 't-5'))).toBe(`Hello from ${model}.`)
  const said = server.asks.at(-1)?.turns.map((t) => t.text)
  expect(said).toEqual(['SLOW', 'word by ', 'PROMPT', 'EDIT', 'RUN', 'hello'])
  child.send({ type: 'cancel', sessionId: 'a' })
  say('a', 't-6', 'hello')
  await child.turn('a', 't-6')
  // Exactly one end a turn, and none for a cancel without one (13.14).
  const ends = child.of('a').filter((f) => f.type === 'done' || f.type === 'error')
  expect(ends.map((f) => [f.turnId, f['cancelled'] === true])).toEqual([
    ['t-1', true],
    ['t-2', true],
    ['t-3', true],
    ['t-4', true],
    ['t-5', false],
    ['t-6', false],
  ])
  expect(server.faults).toEqual([])
})

test('cancelling what is pending refuses it, and the turn goes on', async () => {
  const { child, server, open, say } = await openaiRig()
  server
    .on(
      'PROMPTS',
      calls(call('p', 'bash', { command: 'true' }), call('q', 'bash', { command: 'x' })),
    )
    .on('EDIT', calls(call('e', 'write_file', { path: 'f', content: 'x' })))
  open('a', { initialMessage: 'PROMPTS', turnId: 't-1' })
  await child.frame((f) => f.type === 'permission_request', 'permissions', 2)
  child.send({ type: 'cancel_pending_tools', sessionId: 'a' })
  const turn = await child.turn('a', 't-1')
  expect(last(turn)).not.toHaveProperty('cancelled')
  expect(server.asks.at(-1)?.results.map((r) => r.text)).toEqual([
    'User cancelled this tool',
    'User cancelled this tool',
  ])
  child.send({ type: 'set_approve_writes', sessionId: 'a', approveWrites: true })
  say('a', 't-2', 'EDIT')
  await child.frame((f) => f.type === 'pending_edit', 'edit')
  child.send({ type: 'cancel_pending_tools', sessionId: 'a' })
  expect(result(await child.turn('a', 't-2'), 'e')).toMatchObject({
    output: 'User cancelled this tool',
    isError: true,
  })
  expect(server.faults).toEqual([])
})

test.each(shapes)('%s: retry forgets what the last turn said', async (_, model) => {
  const { child, server, open, say } = await openaiRig()
  open('a', { model })
  child.send({ type: 'retry', sessionId: 'a', turnId: 't-0' })
  const none = await child.frame((f) => f.type === 'error', 'nothing to retry')
  expect(none).toMatchObject({ message: 'No message to retry', request: 'retry' })
  say('a', 't-1', 'first')
  await child.turn('a', 't-1')
  const attachments = [{ media_type: 'image/png', data_base64: 'aGk=' }]
  child.send({ type: 'send_message', sessionId: 'a', turnId: 't-2', content: 'look', attachments })
  await child.turn('a', 't-2')
  child.send({ type: 'retry', sessionId: 'a', turnId: 't-3' })
  await child.turn('a', 't-3')
  const [, second, third] = server.asks
  expect(second?.images).toEqual(['data:image/png;base64,aGk='])
  // With its pictures, and without the answer that was not wanted.
  expect(third?.images).toEqual(second?.images)
  expect(third?.turns).toEqual(second?.turns)
  expect(server.faults).toEqual([])
})

test('a model change and a posture change hold from the next run on', async () => {
  const { child, server, open, say, answer } = await openaiRig()
  const bash = (id: string) => calls(call(id, 'bash', { command: 'true' }))
  server
    .on('ASK', bash('c-1'))
    .on('PLAN', calls(call('c-2', 'bash', { command: 'true' }), call('c-3', 'list_directory', {})))
    .on('DENY', calls(call('c-4', 'bash', { command: 'true' }), call('c-5', 'list_directory', {})))
    .on('FREE', bash('c-6'))
    .on('AGAIN', bash('c-7'))
  open('a', { initialMessage: 'ASK', turnId: 't-1' })
  await child.frame(permission('c-1'), 'permission')
  // The posture is read again when the call runs: plan mode came before the answer.
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'plan' })
  answer('a', 'c-1', { decision: 'approve' })
  const plan = (name: string): string =>
    `Plan mode is active \u2014 '${name}' is disabled. Ask the user to exit plan mode first.`
  expect(result(await child.turn('a', 't-1'), 'c-1')).toMatchObject({
    output: plan('bash'),
    isError: true,
  })
  child.send({ type: 'set_model', sessionId: 'a', model: 'gpt-4.1' })
  say('a', 't-2', 'PLAN')
  const planned = await child.turn('a', 't-2')
  expect(types(planned)).not.toContain('permission_request')
  expect(result(planned, 'c-2')).toMatchObject({ output: plan('bash'), isError: true })
  expect(result(planned, 'c-3')).toMatchObject({ isError: false })
  expect(server.asks.at(-1)).toMatchObject({ model: 'gpt-4.1', api: 'chat' })
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'dontAsk' })
  say('a', 't-3', 'DENY')
  const denied = await child.turn('a', 't-3')
  expect(types(denied)).not.toContain('permission_request')
  expect(result(denied, 'c-4')).toMatchObject({
    output: 'Permissions: all risky tools are denied.',
    isError: true,
  })
  expect(result(denied, 'c-5')).toMatchObject({ isError: false })
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'bypassPermissions' })
  say('a', 't-4', 'FREE')
  expect(result(await child.turn('a', 't-4'), 'c-6')).toMatchObject({ isError: false })
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'ask_for_risky' })
  child.send({ type: 'set_model', sessionId: 'a', model: 'o3' })
  say('a', 't-5', 'AGAIN')
  await child.frame(permission('c-7'), 'permission')
  // A denial holds although everything is allowed by the time it is carried out.
  child.send({ type: 'set_permission_mode', sessionId: 'a', mode: 'allow_all' })
  answer('a', 'c-7', { decision: 'deny' })
  expect(result(await child.turn('a', 't-5'), 'c-7')).toMatchObject({ isError: true })
  expect(server.asks.at(-1)).toMatchObject({ model: 'o3', api: 'responses' })
  expect(server.faults).toEqual([])
})

test('plan mode and deny-all hold from the start', async () => {
  const { child, server, open } = await openaiRig()
  server.on('BASH', calls(call('c-1', 'bash', { command: 'true' })))
  open('p', { initialMessage: 'BASH', turnId: 't-1', planMode: true, permissionMode: 'allow_all' })
  open('d', { initialMessage: 'BASH', turnId: 't-1', permissionMode: 'deny_all' })
  expect(result(await child.turn('p', 't-1'), 'c-1')).toMatchObject({ isError: true })
  expect(result(await child.turn('d', 't-1'), 'c-1')).toMatchObject({ isError: true })
})

test('a tool that was not offered, and arguments that are none, are told to the model', async () => {
  for (const [, model] of shapes) {
    const { child, server, open, say } = await openaiRig()
    server
      .on('OTHER', calls(call('c-1', 'bash', { command: 'true' })))
      .on('BROKEN', calls(call('c-2', 'read_file', '{"path": ')))
      .on('EMPTY', calls(call('c-3', 'read_file', {})))
    open('a', { initialMessage: 'OTHER', turnId: 't-1', allowedTools: ['read_file'], model })
    const other = await child.turn('a', 't-1')
    expect(server.asks[0]?.tools).toEqual(['read_file'])
    expect(result(other, 'c-1')).toMatchObject({
      output: "Tool 'bash' is outside this session's allowed tool set.",
      isError: true,
    })
    say('a', 't-2', 'BROKEN')
    expect(result(await child.turn('a', 't-2'), 'c-2')).toMatchObject({
      output: 'Error: invalid arguments',
      isError: true,
    })
    say('a', 't-3', 'EMPTY')
    expect(result(await child.turn('a', 't-3'), 'c-3')).toMatchObject({ isError: true })
    expect(server.faults).toEqual([])
  }
})

test('the tools stay inside the project', async () => {
  const { child, server, project, folder, open } = await openaiRig()
  writeFileSync(join(folder, 'secret'), 'secret')
  mkdirSync(join(project, 'sub'))
  writeFileSync(join(project, 'sub', 'a.ts'), 'const needle = 1\n')
  symlinkSync(folder, join(project, 'out'))
  server.on(
    'REACH',
    calls(
      call('c-1', 'read_file', { path: '../secret' }),
      call('c-2', 'read_file', { path: 'out/secret' }),
      call('c-3', 'write_file', { path: 'out/made', content: 'x' }),
      call('c-4', 'list_directory', { path: folder }),
      call('c-5', 'grep', { pattern: 'secret|needle', path: '.' }),
      call('c-6', 'grep', { pattern: '(', path: '.' }),
      call('c-7', 'list_directory', {}),
    ),
  )
  open('a', { initialMessage: 'REACH', turnId: 't-1', permissionMode: 'allow_all' })
  const turn = await child.turn('a', 't-1')
  for (const id of ['c-1', 'c-2', 'c-3', 'c-4']) {
    expect(result(turn, id)?.['output']).toMatch(/is outside the project/)
  }
  expect(existsSync(join(folder, 'made'))).toBe(false)
  expect(result(turn, 'c-5')).toMatchObject({ output: 'sub/a.ts:1: const needle = 1' })
  expect(result(turn, 'c-6')).toMatchObject({ isError: true })
  expect(result(turn, 'c-7')).toMatchObject({ output: 'out\n[DIR] sub' })
})

// A pattern can keep JavaScript busy for ever; the other sessions go on (F18).
test('a search that never ends disturbs nobody and ends with its turn', async () => {
  const { child, server, project, open } = await openaiRig()
  writeFileSync(join(project, 'a.txt'), `${'a'.repeat(200)}!`)
  server.on('SEARCH', calls(call('c-1', 'grep', { pattern: '^(a+)+$' })))
  open('a', { initialMessage: 'SEARCH', turnId: 't-1' })
  await child.frame((f) => f.type === 'tool_start', 'search')
  open('b', { initialMessage: 'hi', turnId: 't-1' })
  await child.turn('b', 't-1', 10_000)
  child.send({ type: 'cancel', sessionId: 'a' })
  expect(last(await child.turn('a', 't-1', 10_000))).toMatchObject({ cancelled: true })
  expect(child.of('a').filter((f) => f.type === 'tool_result')).toMatchObject([
    { output: 'Cancelled by the user' },
  ])
})

test('a command that takes too long is ended with its group; failures carry the code', async () => {
  const { child, server, project, open } = await openaiRig()
  server.on(
    'RUN',
    calls(
      call('c-1', 'bash', { command: 'echo out; sleep 100 & echo $! > pid; wait', timeout: 1 }),
      call('c-2', 'bash', { command: 'echo out; exit 3' }),
      call('c-3', 'bash', { command: 'env' }),
      call('c-4', 'bash', { command: 'sleep 100 & echo $! > left' }),
    ),
  )
  open('a', { initialMessage: 'RUN', turnId: 't-1', permissionMode: 'allow_all' })
  const turn = await child.turn('a', 't-1', 20_000)
  expect(result(turn, 'c-1')?.['output']).toMatch(/^Error: The command did not end within 1 s/)
  expect(running(Number(readFileSync(join(project, 'pid'))))).toBe(false)
  expect(result(turn, 'c-2')).toMatchObject({ output: 'Error: out\n[exit code: 3]', isError: true })
  const extended = turn.filter((f) => f.type === 'tool_output_extended')
  expect(extended.find((f) => f['toolUseId'] === 'c-2')).toMatchObject({ exitCode: 3 })
  expect(result(turn, 'c-3')?.['output']).not.toMatch(/OPENAI|sk-test|PACKETBENCH_SIDECAR/)
  // It answers when the shell has ended (F20), and the rest dies with the session (F22).
  const left = Number(readFileSync(join(project, 'left')))
  expect(running(left)).toBe(true)
  child.send({ type: 'close_session', sessionId: 'a' })
  await expect.poll(() => running(left)).toBe(false)
})

test.each(shapes)(
  '%s: a key that is refused is one error, at once, without the key',
  async (_, model) => {
    const { child, server, open } = await openaiRig()
    open('a', { initialMessage: 'hi', turnId: 't-1', apiKey: 'sk-wrong-key', model })
    const turn = await child.turn('a', 't-1', 10_000)
    expect(types(turn)).toEqual(['error'])
    expect(last(turn)['message']).toBe(
      'OpenAI refused the API key (401). Set a valid one in Settings > API Keys, then send again.',
    )
    expect(server.requests).toBe(1)
    expect(JSON.stringify(child.frames) + child.stderr).not.toContain('sk-wron')
  },
)

test.each(shapes)(
  '%s: a limit is told before each wait, and the last one ends it',
  async (_, model) => {
    const { child, server, open, say } = await openaiRig()
    const limited = { status: 429, error: 'Too fast.', headers: { 'retry-after': '0.05' } }
    server.on('LIMIT', limited)
    open('a', { initialMessage: 'LIMIT', turnId: 't-1', model })
    const turn = await child.turn('a', 't-1', 15_000)
    expect(types(turn)).toEqual(['rate_limited', 'rate_limited', 'error'])
    expect(turn[0]).toMatchObject({ retryAfterSeconds: 0.05 })
    expect(last(turn)['message']).toMatch(/limit \(429\): Too fast\./)
    // The session lives on, with what was said.
    say('a', 't-2', 'hi')
    expect(last(await child.turn('a', 't-2')).type).toBe('done')
    expect(server.asks.at(-1)?.turns.map((t) => t.text)).toEqual(['LIMIT', 'hi'])
  },
)

test('nobody listening is one error within 10 s', async () => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  const { child, open } = await openaiRig({
    env: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
  })
  for (const [api, model] of shapes) {
    open(api, { initialMessage: 'hi', turnId: 't-1', model })
    const turn = await child.turn(api, 't-1', 10_000)
    expect(types(turn)).toEqual(['error'])
    expect(last(turn)['message']).toBe(
      `http://127.0.0.1:${port}/v1 cannot be reached (ECONNREFUSED). Check the network and the address, then send again.`,
    )
  }
})

test.each(shapes)(
  '%s: an answer that breaks off is one error, and is not lost',
  async (_, model) => {
    const { child, server, open, say } = await openaiRig()
    server.on('CUT', { cut: ['half an '] }).on('FAILED', { failed: 'The model broke.' })
    open('a', { initialMessage: 'CUT', turnId: 't-1', model })
    const turn = await child.turn('a', 't-1', 15_000)
    expect(shape(turn)).toContain('chunk')
    expect(last(turn)).toMatchObject({
      type: 'error',
      message:
        'Provider stream ended before its completion and usage marker; this request is incomplete',
    })
    say('a', 't-2', 'FAILED')
    const failed = await child.turn('a', 't-2', 15_000)
    expect(types(failed)).toEqual(['error'])
    expect(last(failed)['message']).toContain('The model broke.')
    say('a', 't-3', 'hi')
    await child.turn('a', 't-3')
    expect(server.faults).toEqual([])
  },
)

test.each(shapes)(
  '%s: an earlier transcript comes first, blank messages left out',
  async (_, model) => {
    const { child, server, open } = await openaiRig()
    open('a', {
      initialMessage: 'and now?',
      turnId: 't-1',
      model,
      resume: 'a token of somebody else',
      resumeMessages: [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: '  ' },
        { role: 'assistant', content: 'hi there' },
        { role: 'system', content: 'a note' },
      ],
    })
    expect(last(await child.turn('a', 't-1'))).not.toHaveProperty('resumeToken')
    const turns = server.asks[0]?.turns ?? []
    expect(turns.map((t) => t.text).filter((t) => t !== 'a note')).toEqual([
      'hello',
      'hi there',
      'and now?',
    ])
    expect([server.asks[0]?.instructions, ...turns.map((t) => t.text)]).toContain('a note')
    expect(server.faults).toEqual([])
  },
)

test('each session has its own key', async () => {
  const { child, server, open, say } = await openaiRig()
  open('a', { initialMessage: 'hi', turnId: 't-1' })
  await child.turn('a', 't-1')
  open('b', { initialMessage: 'hi', turnId: 't-1', apiKey: 'sk-bad' })
  expect(last(await child.turn('b', 't-1')).type).toBe('error')
  // The last key would win where they were kept for the process.
  say('a', 't-2', 'hi')
  expect(last(await child.turn('a', 't-2')).type).toBe('done')
  open('c', { initialMessage: 'hi', turnId: 't-1', apiKey: `${key}-2` })
  expect(last(await child.turn('c', 't-1')).type).toBe('done')
  open('d', { initialMessage: 'hi', turnId: 't-1', apiKey: ' ' })
  expect(last(await child.turn('d', 't-1'))['message']).toBe(
    'No API key configured for openai-agents. Set one in Settings > API Keys.',
  )
  expect(server.faults).toEqual([])
})

test('what cannot be done is an error of the command, not of a turn', async () => {
  const { child, open, say } = await openaiRig()
  open('a', { initialMessage: 'hi', turnId: 't-1' })
  await child.turn('a', 't-1')
  child.send({ type: 'inject_user_turn', sessionId: 'a', content: 'x', source: 'user' })
  const attachments = [{ media_type: 'image/bmp', data_base64: 'aGk=' }]
  child.send({ type: 'send_message', sessionId: 'a', turnId: 't-2', content: 'x', attachments })
  say('a', 't-3', '')
  await child.frame((f) => f.type === 'error', 'errors', 3)
  expect(child.of('a').filter((f) => f.type === 'error')).toMatchObject([
    { message: 'openai-agents does not support inject_user_turn', request: 'inject_user_turn' },
    { request: 'send_message' },
    { request: 'send_message' },
  ])
})

test('a project folder that is gone is a sentence', async () => {
  const { child, project, open } = await openaiRig()
  open('a', { initialMessage: 'hi', turnId: 't-1', projectPath: `${project}/gone` })
  const turn = await child.turn('a', 't-1')
  expect(types(turn)).toEqual(['error'])
  expect(last(turn)['message']).toMatch(/does not exist\. Choose another project\.$/)
})

test.each(shapes)('%s: a provider that never answers is one error', async (_api, model) => {
  const { child, server, open, say } = await openaiRig({
    env: { PACKETBENCH_SIDECAR_STALL_MS: '500' },
  })
  server.on('SILENT', { silent: true })
  open('a', { initialMessage: 'SILENT', turnId: 't-1', model })
  expect(await child.turn('a', 't-1', 20_000)).toEqual([
    {
      type: 'error',
      message: 'The provider sent nothing for 120 s; send again to retry.',
      sessionId: 'a',
      turnId: 't-1',
    },
  ])
  expect(server.requests).toBe(1)
  await expect.poll(() => server.left).toBe(1)
  say('a', 't-2', 'again')
  expect(last(await child.turn('a', 't-2')).type).toBe('done')
  expect(child.of('a').filter((f) => f.type === 'error')).toHaveLength(1)
})

test.each(shapes)('%s: cancel while nobody answers is no error', async (_api, model) => {
  const { child, server, open } = await openaiRig()
  server.on('SILENT', { silent: true })
  open('a', { initialMessage: 'SILENT', turnId: 't-1', model })
  await expect.poll(() => server.requests, { timeout: 20_000 }).toBe(1)
  child.send({ type: 'cancel', sessionId: 'a' })
  expect(last(await child.turn('a', 't-1'))).toMatchObject({ type: 'done', cancelled: true })
})
