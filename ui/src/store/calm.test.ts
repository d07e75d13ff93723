import { describe, expect, it } from 'vitest'
import { sampleConversation, sampleMessage } from '../../test/sample'
import type { AgentEvent } from '../contract/model'
import { calmlySame } from './calm'
import { fromSnapshot, reduceAll } from './reduce'

const at = { turn: 't-1', time: 5 }
const begun = reduceAll(
  fromSnapshot(sampleConversation({ messages: [sampleMessage({ id: 'm-1' })] }), 1),
  [{ ...at, kind: 'turn-started', turn_id: 't-1' }],
)
const tokens = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }

describe('calmlySame', () => {
  it.each<AgentEvent>([
    { ...at, kind: 'chunk', text: 'more' },
    { ...at, kind: 'thinking', text: 'more' },
    { ...at, kind: 'tool-start', id: 'x', name: 'bash', input: '' },
  ])('is the same after %j', (event) => {
    expect(calmlySame(begun, reduceAll(begun, [event]))).toBe(true)
  })
  it.each<AgentEvent>([
    { ...at, kind: 'done', tokens, cancelled: false },
    { ...at, kind: 'turn-ended', turn_id: 't-1', outcome: 'done' },
    { ...at, kind: 'notice', message_id: 'n', level: 'info', text: 'x' },
    { ...at, kind: 'permission-request', id: 'x', name: 'bash', arguments: '{}' },
    { ...at, kind: 'rate-limited', message: '' },
    { ...at, kind: 'queue-changed', items: [{ message_id: 'q', content: 'x' }] },
    { ...at, kind: 'plan-block', items: [] },
  ])('is another after %j', (event) => {
    expect(calmlySame(begun, reduceAll(begun, [event]))).toBe(false)
  })
})
