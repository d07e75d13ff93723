import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { PreToolUseHookInput } from '@anthropic-ai/claude-agent-sdk'
import { afterEach, expect, test } from 'vitest'

import type { ProviderEvent } from '../../protocol.js'
import { Bridge, serversByTag, vendorTools, type Posture } from './bridge.js'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

interface Rig {
  bridge: Bridge
  posture: Posture
  events: ProviderEvent[]
  applied: string[]
  folder: string
  /** Asks the hook about a call and gives the reason for which it was stopped. */
  hook: (name: string, input: unknown, signal?: AbortSignal) => Promise<string | undefined>
}

function rig(
  more: { posture?: Partial<Posture>; allowedTools?: string[]; servers?: string[] } = {},
): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'pb-bridge-'))
  folders.push(folder)
  const posture: Posture = {
    planMode: false,
    permissionMode: 'auto',
    approveWrites: true,
    ...more.posture,
  }
  const events: ProviderEvent[] = []
  const applied: string[] = []
  const bridge = new Bridge({
    posture,
    projectPath: folder,
    allowedTools: more.allowedTools ?? [],
    mcp: {
      servers: Object.fromEntries(
        (more.servers ?? ['my server']).map((name) => [name, { command: 'x' }]),
      ),
      decide: (server, tool, args) =>
        tool === 'read'
          ? { allowed: true }
          : { allowed: false, reason: `${server}/${tool}/${JSON.stringify(args)}` },
      tools: {},
      verified: () => false,
    },
    emit: (event) => events.push(event),
    shown: () => Promise.resolve(),
    applied: (id) => applied.push(id),
  })
  return {
    bridge,
    posture,
    events,
    applied,
    folder,
    hook: async (name, input, signal = new AbortController().signal) => {
      const call: PreToolUseHookInput = {
        hook_event_name: 'PreToolUse',
        session_id: 's',
        transcript_path: '',
        cwd: folder,
        tool_name: name,
        tool_input: input,
        tool_use_id: 'tu',
      }
      const out = await bridge.preToolUse(call, 'tu', { signal })
      if (!('hookSpecificOutput' in out)) return undefined
      const decision = out.hookSpecificOutput
      return decision?.hookEventName === 'PreToolUse'
        ? decision.permissionDecisionReason
        : undefined
    },
  }
}

const parked = (r: Rig): Promise<void> =>
  expect.poll(() => r.events.map((e) => e.type)).toContain('pending_edit')

test('an edit without changes goes on, one with changes is written by us', async () => {
  const r = rig()
  const file = join(r.folder, 'deep', 'new.txt')
  const first = r.hook('Write', { file_path: file, content: 'proposed' })
  await parked(r)
  expect(r.events).toEqual([
    { type: 'pending_edit', toolUseId: 'tu', path: file, after: 'proposed' },
  ])
  r.bridge.respondEdit({ toolUseId: 'tu', approved: true, mergedContent: undefined })
  expect(await first).toBeUndefined()
  expect(existsSync(file)).toBe(false)

  r.events.length = 0
  const second = r.hook('Write', { file_path: file, content: 'proposed' })
  await parked(r)
  r.bridge.respondEdit({ toolUseId: 'tu', approved: true, mergedContent: '' })
  expect(await second).toContain('the user')
  // An empty text is a text.
  expect(readFileSync(file, 'utf8')).toBe('')
  expect(r.applied).toEqual(['tu'])
})

test('a relative path is one of the project', async () => {
  const r = rig()
  writeFileSync(join(r.folder, 'a.txt'), 'one')
  const edit = r.hook('Edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' })
  await parked(r)
  expect(r.events[0]).toMatchObject({ path: 'a.txt', before: 'one', after: 'two' })
  r.bridge.respondEdit({ toolUseId: 'tu', approved: true, mergedContent: 'three' })
  await edit
  expect(readFileSync(join(r.folder, 'a.txt'), 'utf8')).toBe('three')
})

test('a file that changed under review is not written', async () => {
  const r = rig()
  const file = join(r.folder, 'a.txt')
  writeFileSync(file, 'one')
  const edit = r.hook('Write', { file_path: file, content: 'two' })
  await parked(r)
  writeFileSync(file, 'somebody else')
  r.bridge.respondEdit({ toolUseId: 'tu', approved: true, mergedContent: 'three' })
  expect(await edit).toContain('changed while this edit was under review')
  expect(readFileSync(file, 'utf8')).toBe('somebody else')
  expect(r.applied).toEqual([])
})

test('a folder that is gone fails the call with its reason', async () => {
  const r = rig()
  writeFileSync(join(r.folder, 'file'), 'x')
  const edit = r.hook('Write', { file_path: join(r.folder, 'new.txt'), content: 'two' })
  await parked(r)
  rmSync(r.folder, { recursive: true })
  writeFileSync(r.folder, 'a file where the folder was')
  r.bridge.respondEdit({ toolUseId: 'tu', approved: true, mergedContent: 'three' })
  expect(await edit).toContain('nothing was written')
  expect(r.applied).toEqual([])
})

test.each<[string, Buffer, string]>([
  ['binary', Buffer.from([1, 0, 2]), 'not text'],
  ['other encodings', Buffer.from([0xff, 0xfe, 0x41]), 'not UTF-8'],
  ['huge', Buffer.alloc(2_000_001, 'x'), 'larger than'],
])('a file that cannot be shown is not reviewed: %s (F74, F75)', async (_name, bytes, why) => {
  const r = rig()
  const file = join(r.folder, 'f')
  writeFileSync(file, bytes)
  expect(await r.hook('Write', { file_path: file, content: 'x' })).toContain(why)
  expect(r.events).toEqual([])
  // Without review it is simply not kept as a baseline.
  r.posture.approveWrites = false
  expect(await r.hook('Write', { file_path: file, content: 'x' })).toBeUndefined()
  expect(r.events).toEqual([])
})

test('an edit larger than a frame is not parked', async () => {
  const r = rig()
  const content = 'x'.repeat(9_000_000)
  expect(await r.hook('Write', { file_path: join(r.folder, 'f'), content })).toContain('too large')
  expect(r.events).toEqual([])
})

test('the first answer wins, and everything parked can be ended', async () => {
  const r = rig()
  const abort = new AbortController()
  const edit = r.hook('Write', { file_path: join(r.folder, 'f'), content: 'x' }, abort.signal)
  await parked(r)
  abort.abort()
  expect(await edit).toBe('cancelled')
  expect(() =>
    r.bridge.respondEdit({ toolUseId: 'tu', approved: true, mergedContent: undefined }),
  ).toThrow('answered already')

  const ask = (signal: AbortSignal): Promise<unknown> =>
    r.bridge.canUseTool('Bash', { command: 'x' }, { signal, toolUseID: 'p', requestId: 'r' })
  const stopped = new AbortController()
  const first = ask(stopped.signal)
  await expect.poll(() => r.events.at(-1)?.type).toBe('permission_request')
  stopped.abort()
  expect(await first).toMatchObject({ behavior: 'deny', interrupt: true })

  const second = ask(new AbortController().signal)
  await expect.poll(() => r.events.filter((e) => e.type === 'permission_request').length).toBe(2)
  r.bridge.denyAll('closed')
  expect(await second).toEqual({ behavior: 'deny', message: 'closed' })
  expect(() =>
    r.bridge.respondPermission({
      toolUseId: 'p',
      decision: 'approve',
      reason: undefined,
      by: 'user',
    }),
  ).toThrow('answered already')
})

test.each(['Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'Bash'])(
  'plan mode stops %s, in the hook and when asked',
  async (name) => {
    const r = rig({ posture: { planMode: true } })
    const words = `Plan mode is active \u2014 '${name}' is disabled. Ask the user to exit plan mode first.`
    expect(await r.hook(name, { file_path: 'x', content: 'y' })).toBe(words)
    const signal = new AbortController().signal
    expect(await r.bridge.canUseTool(name, {}, { signal, toolUseID: 'p', requestId: 'r' })).toEqual(
      { behavior: 'deny', message: words },
    )
    expect(r.events).toEqual([])
  },
)

test('deny_all stops a write before it is shown for review', async () => {
  const r = rig({ posture: { permissionMode: 'deny_all' } })
  expect(await r.hook('Write', { file_path: 'x', content: 'y' })).toBe(
    'Permissions: all risky tools are denied.',
  )
})

test('a filter of ours holds in the vendor names', async () => {
  expect(vendorTools(['read_file', 'edit_file', 'WebFetch', 'Read'])).toEqual([
    'Read',
    'Edit',
    'MultiEdit',
    'NotebookEdit',
    'WebFetch',
  ])
  const r = rig({ allowedTools: ['read_file'] })
  expect(await r.hook('Read', { file_path: 'x' })).toBeUndefined()
  expect(await r.hook('Bash', { command: 'x' })).toBe(
    "Tool 'Bash' is outside this session's allowed tool set.",
  )
})

test('an MCP call is decided by its server, its tool and its arguments', async () => {
  const r = rig()
  expect(await r.hook('mcp__my_server__read', {})).toBeUndefined()
  expect(await r.hook('mcp__my_server__write', { a: 1 })).toBe('my server/write/{"a":1}')
  // Split at the first pair: an unknown server is nobody's.
  expect(await r.hook('mcp__my_server__x__y', {})).toBe('my server/x__y/{}')
  expect(await r.hook('mcp__other__write', {})).toBe('other/write/{}')
})

test('two servers that look the same to the vendor are neither', async () => {
  const r = rig({ servers: ['a b', 'a_b'] })
  expect(await r.hook('mcp__a_b__read', {})).toContain('Two MCP servers')
  const byTag = serversByTag(['a b', 'a.b', 'c'])
  expect(byTag.get('a_b')).toBeUndefined()
  expect(byTag.get('c')).toBe('c')
})
