import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../contract/model'
import { createCoalescer } from './coalesce'

const chunk = (text: string, turn = 't-1'): AgentEvent => ({ kind: 'chunk', text, turn, time: 0 })
const thinking = (text: string): AgentEvent => ({ kind: 'thinking', text, turn: 't-1', time: 0 })
const done: AgentEvent = {
  kind: 'done',
  turn: 't-1',
  time: 0,
  cancelled: false,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
}

/** A frame that comes when the test says so. */
function crank() {
  let waiting: (() => void) | undefined
  const batches: AgentEvent[][] = []
  const coalescer = createCoalescer(
    (batch) => batches.push(batch),
    (f) => {
      waiting = f
      return () => {
        waiting = undefined
      }
    },
  )
  return { batches, coalescer, frame: () => waiting?.(), scheduled: () => waiting !== undefined }
}

describe('createCoalescer', () => {
  it('writes once a frame and joins neighbouring deltas', () => {
    const { batches, coalescer, frame } = crank()
    for (const piece of ['a', 'b', 'c']) coalescer.push(chunk(piece))
    expect(batches).toEqual([])
    frame()
    expect(batches).toEqual([[chunk('abc')]])
  })
  it('keeps the order of different kinds', () => {
    const { batches, coalescer, frame } = crank()
    coalescer.push(thinking('x'))
    coalescer.push(chunk('a'))
    coalescer.push(thinking('y'))
    frame()
    expect(batches).toEqual([[thinking('x'), chunk('a'), thinking('y')]])
  })
  it('does not join the deltas of two turns', () => {
    const { batches, coalescer, frame } = crank()
    coalescer.push(chunk('a', 't-1'))
    coalescer.push(chunk('b', 't-2'))
    frame()
    expect(batches[0]).toHaveLength(2)
  })
  it('shows the tail together with the end, at once', () => {
    const { batches, coalescer, frame, scheduled } = crank()
    coalescer.push(chunk('tail'))
    coalescer.push(done)
    expect(batches).toEqual([[chunk('tail'), done]])
    expect(scheduled()).toBe(false)
    frame()
    expect(batches).toHaveLength(1)
  })
  it('drops what waits when it is disposed', () => {
    const { batches, coalescer, frame } = crank()
    coalescer.push(chunk('a'))
    coalescer.dispose()
    frame()
    coalescer.flushNow()
    expect(batches).toEqual([])
  })
  // F42: a frozen tab that gets 3,000 events at once writes once.
  it('takes a burst of 3,000 events in one write', () => {
    const { batches, coalescer, frame } = crank()
    for (let i = 0; i < 3000; i++) coalescer.push(chunk('x'))
    frame()
    expect(batches).toEqual([[chunk('x'.repeat(3000))]])
  })
})
