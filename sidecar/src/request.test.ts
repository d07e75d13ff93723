import { expect, test } from 'vitest'

import { decodeRequest, permissionModeOf } from './request.js'

const decode = (value: unknown): ReturnType<typeof decodeRequest> =>
  decodeRequest(Buffer.from(JSON.stringify(value)))

const start = {
  type: 'start_session',
  sessionId: 'a',
  provider: 'echo',
  model: 'm',
  systemPrompt: '',
  allowedTools: [],
  mcpServers: {},
  projectPath: '/p',
  initialMessage: 'hi',
}

test('a minimal start gets the defaults', () => {
  expect(decode(start)).toEqual({
    kind: 'request',
    request: {
      type: 'start_session',
      sessionId: 'a',
      start: {
        provider: 'echo',
        model: 'm',
        systemPrompt: '',
        allowedTools: [],
        mcpServers: {},
        mcpTrustSnapshot: undefined,
        projectPath: '/p',
        initialMessage: 'hi',
        turnId: undefined,
        apiKey: undefined,
        resume: undefined,
        thinkingEnabled: false,
        planMode: false,
        attachments: [],
        resumeMessages: [],
        permissionMode: 'ask_for_risky',
        approveWrites: false,
        workspace: undefined,
        sourceMcpFromFs: false,
      },
    },
  })
})

test('null is absent, everywhere', () => {
  const nulls = {
    mcpTrustSnapshot: null,
    turnId: null,
    apiKey: null,
    resume: null,
    thinkingEnabled: null,
    planMode: null,
    attachments: null,
    resumeMessages: null,
    permissionMode: null,
    approveWrites: null,
    workspace: null,
    sourceMcpFromFs: null,
    commandPath: null,
    mcpServers: { s: { type: 'stdio', command: 'c', args: null, env: null, url: null } },
  }
  const plain = { ...start, mcpServers: { s: { type: 'stdio', command: 'c' } } }
  expect(decode({ ...start, ...nulls })).toEqual(decode(plain))
})

test('an empty snapshot is not an absent one', () => {
  expect(decode({ ...start, mcpTrustSnapshot: [] })).toMatchObject({
    request: { start: { mcpTrustSnapshot: [] } },
  })
})

test.each([
  ['an unknown type', { type: 'dance', sessionId: 'a' }, 'Unknown request type: dance'],
  ['a missing field', { type: 'set_model', sessionId: 'a' }, 'Invalid set_model: model must be'],
  [
    'a wrong mode',
    { type: 'set_permission_mode', sessionId: 'a', mode: 'wild' },
    'Unknown permission mode: wild',
  ],
  [
    'a start in a wrong mode',
    { ...start, permissionMode: 'plan' },
    'Unknown permission mode: plan',
  ],
  [
    'an edit answer without its id',
    { type: 'edit_response', sessionId: 'a', approved: true },
    'Invalid edit_response: toolUseId must be',
  ],
  ['a bad server', { ...start, mcpServers: { s: { command: 7 } } }, 'mcpServers.s must be'],
])('%s is refused on its session', (_name, value, message) => {
  const decoded = decode(value)
  expect(decoded).toMatchObject({ kind: 'refused', sessionId: 'a', request: value.type })
  expect(decoded.kind === 'refused' ? decoded.message : '').toContain(message)
})

test.each([
  ['invalid JSON', Buffer.from('{"type":')],
  ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ['no object', Buffer.from('[1]')],
  ['no session', Buffer.from('{"type":"cancel"}')],
  ['no type', Buffer.from('{"sessionId":"a"}')],
])('%s is dropped', (_name, line) => {
  const decoded = decodeRequest(line)
  expect(decoded.kind).toBe('dropped')
})

test('what is dropped does not repeat its text, which may hold a key', () => {
  const decoded = decodeRequest(Buffer.from('{"apiKey":"sk-secret"'))
  expect(JSON.stringify(decoded)).not.toContain('sk-secret')
})

test('blank lines are nothing', () => {
  expect(decodeRequest(Buffer.from(' \r'))).toEqual({ kind: 'blank' })
})

test.each([
  ['default', 'ask_for_risky'],
  ['acceptEdits', 'auto'],
  ['bypassPermissions', 'allow_all'],
  ['dontAsk', 'deny_all'],
  ['allow_all', 'allow_all'],
] as const)('the mode %s counts as %s', (mode, counts) => {
  expect(permissionModeOf(mode)).toBe(counts)
})

// Damaged requests: whatever the bytes are, decoding answers and never throws.
test('no damaged line throws', () => {
  const lines = [
    start,
    { type: 'send_message', sessionId: 'a', content: 'x', attachments: [{ media_type: 'a' }] },
    { type: 'permission_response', sessionId: 'a', toolUseId: 't', decision: 'deny', by: 'x' },
    { type: 'inject_user_turn', sessionId: 'a', content: '', source: 'user', trigger: 3 },
  ].map((v) => Buffer.from(JSON.stringify(v)))
  // A fixed sequence, so that a failure can be repeated.
  let seed = 7
  const random = (n: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % n
  }
  for (let i = 0; i < 20_000; i += 1) {
    const line = Buffer.from(lines[i % lines.length] ?? Buffer.alloc(0))
    for (let hits = random(4); hits >= 0; hits -= 1) line[random(line.length)] = random(256)
    const kinds = ['blank', 'request', 'refused', 'dropped']
    expect(kinds).toContain(decodeRequest(line.subarray(0, random(line.length + 1))).kind)
  }
})
