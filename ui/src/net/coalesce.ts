// Joins a stream of events into at most one store write per frame.

import type { AgentEvent } from '../contract/model'

export type Apply = (batch: AgentEvent[]) => void
/** Asks for one later call of f; returns how to take that back. */
export type Schedule = (f: () => void) => () => void

export interface Coalescer {
  push: (e: AgentEvent) => void
  flushNow: () => void
  /** Drops what waits; a frame that fires later does nothing. */
  dispose: () => void
}

/** Whether an event ends a stream, so that its tail must be shown with it. */
function endsStream(e: AgentEvent): boolean {
  return (
    e.kind === 'done' || e.kind === 'error' || e.kind === 'thinking-stop' || e.kind === 'turn-ended'
  )
}

/** Appends e; neighbouring deltas of one kind and turn become one. */
export function join(waiting: AgentEvent[], e: AgentEvent): AgentEvent[] {
  const last = waiting.at(-1)
  if (last && last.turn === e.turn) {
    if (last.kind === 'chunk' && e.kind === 'chunk') {
      return [...waiting.slice(0, -1), { ...last, text: last.text + e.text }]
    }
    if (last.kind === 'thinking' && e.kind === 'thinking') {
      return [...waiting.slice(0, -1), { ...last, text: last.text + e.text }]
    }
  }
  return [...waiting, e]
}

/**
 * Keeps the order of what is pushed. Everything waits for the frame except an
 * event that ends a stream: it takes what waits along, at once, or the last
 * words of an answer would be drawn after the answer is over (contract.md O7).
 */
export function createCoalescer(apply: Apply, schedule: Schedule): Coalescer {
  let waiting: AgentEvent[] = []
  let cancel: (() => void) | undefined
  const flushNow = (): void => {
    cancel?.()
    cancel = undefined
    const batch = waiting
    waiting = []
    if (batch.length > 0) apply(batch)
  }
  return {
    push: (e) => {
      waiting = join(waiting, e)
      if (endsStream(e)) flushNow()
      else cancel ??= schedule(flushNow)
    },
    flushNow,
    dispose: () => {
      cancel?.()
      cancel = undefined
      waiting = []
    },
  }
}

// A hidden tab gets no frames: without a timer it would buffer a whole turn.
const hiddenMs = 250

/** Next frame, or 250 ms when no frame comes. */
export const frameSchedule: Schedule = (f) => {
  let frame = 0
  const timer = setTimeout(() => {
    cancelAnimationFrame(frame)
    f()
  }, hiddenMs)
  frame = requestAnimationFrame(() => {
    clearTimeout(timer)
    f()
  })
  return () => {
    clearTimeout(timer)
    cancelAnimationFrame(frame)
  }
}
