import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { kinds } from './gen'
import {
  isRecord,
  readEnvelope,
  readEvent,
  readInput,
  readPatch,
  readSession,
  readSnapshot,
} from './guards'

// The same golden payloads that the service's own tests use. The test runs in
// the folder of the page.
const golden = join(process.cwd(), '..', 'contract', 'testdata')

describe('readEvent', () => {
  const files = readdirSync(golden).filter((f) => f.endsWith('.json'))
  it('has a golden payload for every kind', () => {
    expect(files.map((f) => f.replace('.json', '')).sort()).toEqual([...kinds].sort())
  })
  const cases = files.flatMap((file) => {
    const both = readInput(readFileSync(join(golden, file), 'utf8'))
    return Object.entries(both).map(
      ([name, data]) => [file.replace('.json', ''), name, data] as const,
    )
  })
  it.each(cases)('reads %s, %s', (kind, _name, data) => {
    const event = readEvent(
      readEnvelope({
        seq: 1,
        time: '2026-01-01T00:00:00Z',
        subject: `api-agent.${kind}.c-1`,
        data,
      }),
    )
    expect(event?.kind).toBe(kind)
    if (kind === 'chunk') expect(event).toMatchObject({ text: data })
    if (!isRecord(data)) return
    // Whatever the payload says by name arrives; these are renamed or unused.
    const renamed =
      /tokens$|^(is_error|retry_after_seconds|readErrors|sources|batch_id|resume_token)$/
    for (const [key, value] of Object.entries(data)) {
      if (renamed.test(key) || value === '') continue
      expect(event).toHaveProperty(key, value)
    }
  })
  it('knows nothing of a subject it was not told about', () => {
    const at = { seq: 1, time: '', turn: '', data: {} }
    expect(readEvent({ ...at, subject: 'api-agent.new-kind.c-1' })).toBeUndefined()
    expect(readEvent({ ...at, subject: 'ops.restart' })).toBeUndefined()
    expect(readEvent({ ...at, subject: '' })).toBeUndefined()
  })
})

describe('what is missing becomes what is safe', () => {
  it('takes an absent permission mode for the careful one', () => {
    const { conversation } = readSnapshot({ conversation: {}, seq: 3 })
    expect(conversation.posture.permission_mode).toBe('ask_for_risky')
  })
  it('takes an unknown role for the one that may do less', () => {
    expect(readSession({ role: 'admin' }).role).toBe('monitor')
  })
  it('reads only the keys a patch has', () => {
    expect(readPatch({ title: 'New', unknown: 1 })).toEqual({ title: 'New' })
    expect(readPatch({ reload: true })).toEqual({ reload: true })
  })
  it.each([null, 7, 'x', [], { conversation: 7 }, { conversation: { messages: [null, 3, {}] } }])(
    'survives %j as a snapshot',
    (value) => {
      expect(readSnapshot(value).conversation.session_id).toBe('')
    },
  )
})
