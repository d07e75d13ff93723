import { describe, expect, it } from 'vitest'
import { fakeService, settle } from '../../test/fakeSocket'
import { sampleConversation, sampleMessage } from '../../test/sample'
import { createCommands } from '../net/command'
import { createLink } from '../net/socket'
import type { Alert } from './attention'
import { trimmed } from './desk'
import { storageKey } from './storage'
import { createBench } from './stores'

const row = (change: object) => ({ ...sampleConversation(), session_id: 'a', ...change })

async function bench(summaries: object[], answers: Record<string, unknown> = {}) {
  const service = fakeService({
    list_conversations: () => ({ result: summaries }),
    ...Object.fromEntries(
      Object.entries(answers).map(([method, result]) => [method, () => ({ result })]),
    ),
  })
  const link = createLink({ open: service.open, probe: () => Promise.resolve('other') })
  const b = createBench(link, createCommands(link), (f) => {
    f()
    return () => undefined
  })
  service.last().open()
  await settle()
  const say = async (what: string, id: string, data: object): Promise<void> => {
    const sub = service.last().sent.find((f) => f.method === 'subscribe')
    seq++
    service.last().event(sub ? 's1' : '', {
      seq,
      time: '',
      subject: `conversation.${what}.${id}`,
      data,
    })
    await settle()
  }
  let seq = 10
  return { ...b, service, say }
}

describe('the desk', () => {
  it('marks what ends while nobody looks, and keeps the mark for the next window', async () => {
    const { store, actions, say, dispose } = await bench([row({ status: 'active' })])
    await say('updated', 'a', { status: 'idle' })
    expect(store.getState().unread).toEqual(['a'])
    expect(localStorage.getItem(storageKey('unread'))).toBe('[[],["a"]]')
    actions.open('a')()
    expect(store.getState().unread).toEqual([])
    dispose()
  })
  it('tells of a prompt and of an end, by title', async () => {
    const heard: Alert[] = []
    const b = await bench([row({ title: 'Fix it', status: 'active' })])
    b.onAlert((a) => heard.push(a))
    await b.say('updated', 'a', { needs_you: 1 })
    await b.say('turn-ended', 'a', { turn_id: 't', outcome: 'done' })
    expect(heard.map((a) => a.body)).toEqual([
      'Fix it is waiting for your approval',
      'Fix it has finished',
    ])
    b.dispose()
  })
  it('takes a queued message back only when the service has let it go', async () => {
    const queued = [{ message_id: 'm-9', content: 'later' }]
    const conversation = row({ status: 'active', queue: queued, messages: [] })
    const b = await bench([], { get_conversation: { conversation, seq: 10 } })
    b.actions.open('a')
    await settle()
    b.service.answers.remove_queued_message = () => ({
      error: { code: -32004, message: 'It was sent already.' },
    })
    b.actions.editQueued('a', 'm-9')
    await settle()
    expect(b.store.getState().drafts.a ?? '').toBe('')
    expect(b.store.getState().toast?.text).toBe('It was sent already.')
    b.service.answers.remove_queued_message = () => ({ result: {} })
    b.actions.setDraft('a', 'typed since')
    b.actions.editQueued('a', 'm-9')
    await settle()
    expect(b.store.getState().drafts.a).toBe('later\ntyped since')
    b.dispose()
  })
  it('saves a setting of the app, or says in the service’s words why not', async () => {
    const b = await bench([], { set_settings: { app: { launch_location: 'worktree' } } })
    expect(await b.actions.setAppSetting('launch_location', 'worktree')).toBe('')
    expect(b.store.getState().appSettings?.launchLocation).toBe('worktree')
    b.service.answers.set_settings = () => ({
      error: { code: -32602, message: 'auto_archive_days: a whole number is wanted.' },
    })
    expect(await b.actions.setAppSetting('auto_archive_days', 'x')).toBe(
      'A whole number is wanted.',
    )
    b.dispose()
  })
  it('takes the look from another window of the browser', async () => {
    const b = await bench([])
    localStorage.setItem(storageKey('theme'), 'light')
    b.actions.rereadStored()
    expect(b.store.getState().prefs.theme).toBe('light')
    b.dispose()
  })
})

describe('a trimmed transcript', () => {
  const messages = [1, 2, 3, 4, 5].map((n) => sampleMessage({ id: `m-${n}` }))
  const ids = (from: string) => trimmed(messages, from).shown.map((m) => m.id)
  it('begins at its message, or after it when it was cleared', () => {
    expect(ids('m-4')).toEqual(['m-4', 'm-5'])
    expect(ids('after:m-5')).toEqual([])
    expect(trimmed(messages, 'm-4').hidden).toBe(3)
  })
  it('is whole without a mark, and when the marked message is gone', () => {
    expect(ids('')).toHaveLength(5)
    expect(ids('m-99')).toHaveLength(5)
  })
  it('is kept for a reload, and comes back', async () => {
    const b = await bench([])
    b.actions.trim('a', messages, 4)
    expect(localStorage.getItem(storageKey('trim', 'a'))).toBe('m-2')
    b.actions.trim('a', messages, 0)
    expect(b.store.getState().trims.a).toBe('after:m-5')
    b.actions.untrim('a')
    expect(localStorage.getItem(storageKey('trim', 'a'))).toBeNull()
    b.dispose()
  })
})
