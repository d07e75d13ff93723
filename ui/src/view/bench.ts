// The door between components and stores.

import { createContext, useContext, useSyncExternalStore } from 'react'
import { useStore } from 'zustand'
import type { Ops, OpsState } from '../store/ops'
import type { Reviews, ReviewsState } from '../store/reviews'
import type { Actions, Bench, WindowState } from '../store/stores'
import type { Work, WorkState } from '../store/work'

const Context = createContext<Bench | undefined>(undefined)

export const BenchProvider = Context.Provider

function useBenchObject(): Bench {
  const bench = useContext(Context)
  if (!bench) throw new Error('A component was drawn outside BenchProvider.')
  return bench
}

/** Selects the smallest value a component needs. */
export function useBench<T>(select: (s: WindowState) => T): T {
  return useStore(useBenchObject().store, select)
}

export function useActions(): Actions {
  return useBenchObject().actions
}

/** Reads the newest state when something happens, without being drawn for it. */
export function useCurrent(): () => WindowState {
  return useBenchObject().store.getState
}

/** Selects of what this window knows of reviews. */
export function useReviews<T>(select: (s: ReviewsState) => T): T {
  return useStore(useBenchObject().reviews.store, select)
}

export function useReviewActions(): Reviews {
  return useBenchObject().reviews
}

/** Selects of terminals and workspaces. */
export function useWork<T>(select: (s: WorkState) => T): T {
  return useStore(useBenchObject().work.store, select)
}

export function useWorkActions(): Work {
  return useBenchObject().work
}

/** Selects of the live tree, the events and the log. */
export function useOps<T>(select: (s: OpsState) => T): T {
  return useStore(useBenchObject().ops.store, select)
}

export function useOpsActions(): Ops {
  return useBenchObject().ops
}

const subscribeClock = (f: () => void): (() => void) => {
  const timer = setInterval(f, 1000)
  return () => clearInterval(timer)
}

/** The time in ms, renewed in steps, for what counts on screen. */
export function useNow(stepMs = 1000): number {
  return useSyncExternalStore(subscribeClock, () => Math.floor(Date.now() / stepMs) * stepMs)
}
