import { describe, expect, it } from 'vitest'
import { sampleConversation } from '../../test/sample'
import type { AgentEvent, Summary } from '../contract/model'
import { alertFor, followUnread, readUnread, shouldTell, unreadText } from './attention'

const row = (change: Partial<Summary> = {}): Summary => ({
  ...sampleConversation(),
  session_id: 'a',
  title: 'Fix it',
  ...change,
})
const at = { turn: '', time: 0 }
const ended = (outcome: 'done' | 'cancelled' | 'error' | 'interrupted'): AgentEvent => ({
  ...at,
  kind: 'turn-ended',
  turn_id: 't',
  outcome,
})
const need = (needs_you: number): AgentEvent => ({ ...at, kind: 'updated', patch: { needs_you } })

describe('alertFor', () => {
  it('tells of a prompt once, when its number grows', () => {
    expect(alertFor(need(1), row())).toEqual({
      kind: 'approval',
      id: 'a',
      tag: 'approval-a',
      title: 'Approval Needed',
      body: 'Fix it is waiting for your approval',
    })
    expect(alertFor(need(1), row({ needs_you: 1 }))).toBeUndefined()
    expect(alertFor(need(0), row({ needs_you: 1 }))).toBeUndefined()
  })
  it.each([
    ['done', 0, 'Fix it has finished'],
    // A queue goes on: nothing is complete yet.
    ['done', 1, undefined],
    ['cancelled', 0, undefined],
    ['interrupted', 0, undefined],
    ['error', 1, 'Fix it encountered an error'],
  ] as const)('says of a turn that ended %s with %i queued: %s', (outcome, queued, body) => {
    expect(alertFor(ended(outcome), row({ queued }))?.body).toBe(body)
  })
})

describe('shouldTell', () => {
  const complete = alertFor(ended('done'), row())
  const approval = alertFor(need(1), row())
  if (!complete || !approval) throw new Error('There is nothing to tell.')
  const on = { enabled: true, unfocused: true, approval: true, complete: true, error: true }
  const away = { prefs: on, focused: false, selected: false, last: 0, now: 100_000 }
  it('tells somebody who is away', () => {
    expect(shouldTell(complete, away)).toBe(true)
  })
  it.each([
    ['nothing is wanted', { prefs: { ...on, enabled: false } }],
    ['this kind is not wanted', { prefs: { ...on, complete: false } }],
    ['a window has the focus', { focused: true }],
    ['the conversation is on screen', { selected: true }],
    ['it has just been told', { last: 95_001 }],
  ])('is silent when %s', (_why, change) => {
    expect(shouldTell(complete, { ...away, ...change })).toBe(false)
  })
  it('tells of a prompt also on the conversation that is selected', () => {
    expect(shouldTell(approval, { ...away, selected: true })).toBe(true)
    expect(
      shouldTell(approval, { ...away, focused: true, prefs: { ...on, unfocused: false } }),
    ).toBe(true)
  })
})

describe('unread marks', () => {
  const never = (): boolean => false
  it('come when a turn ends elsewhere and go when it is opened', () => {
    const running = followUnread(readUnread(''), [row({ status: 'active' })], never)
    expect(running).toEqual({ running: ['a'], unread: [] })
    const over = followUnread(running, [row()], never)
    expect(over).toEqual({ running: [], unread: ['a'] })
    expect(followUnread(over, [row()], (id) => id === 'a').unread).toEqual([])
  })
  it('do not come for what was on screen', () => {
    const running = followUnread(readUnread(''), [row({ status: 'active' })], never)
    expect(followUnread(running, [row()], () => true).unread).toEqual([])
  })
  it('survive a reload, and forget what was deleted', () => {
    const kept = readUnread(unreadText({ running: ['a'], unread: ['b'] }))
    expect(kept).toEqual({ running: ['a'], unread: ['b'] })
    expect(followUnread(kept, [row()], never)).toEqual({ running: [], unread: ['a'] })
  })
  it.each(['', '{', '7', '[1,[2]]', '{"a":1}'])('begin anew from %j', (text) => {
    expect(readUnread(text)).toEqual({ running: [], unread: [] })
  })
})
