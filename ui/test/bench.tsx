// A page around one component: stores of the test's making, actions that only
// note that they were called.

import { render } from '@testing-library/react'
import type { ReactElement } from 'react'
import { createStore } from 'zustand/vanilla'
import { readDesk } from '../src/store/desk'
import type { Handlers } from '../src/net/socket'
import { createOps } from '../src/store/ops'
import { createReviews } from '../src/store/reviews'
import type { Actions, WindowState } from '../src/store/stores'
import { createWork } from '../src/store/work'
import { BenchProvider } from '../src/view/bench'
import type { Route } from '../src/view/navigate'
import { NavigationProvider } from '../src/view/navigate'

export interface Noted {
  name: string
  args: unknown[]
}

export function renderInBench(
  ui: ReactElement,
  change: Partial<WindowState> = {},
  answers: Partial<Actions> = {},
  files: Partial<Parameters<typeof createReviews>[0]> = {},
  calls: Record<string, (params: Record<string, unknown>) => unknown> = {},
) {
  const noted: Noted[] = []
  const nobody = (): Promise<never> => Promise.reject(new Error('No service is there.'))
  const reviews = createReviews({
    listEdits: nobody,
    getEdit: nobody,
    undoEdit: nobody,
    setDiffComments: nobody,
    ...files,
  })
  const went: Route[] = []
  const asked: [string, Record<string, unknown>][] = []
  const told: string[] = []
  const heard: { subjects: string[]; handlers: Handlers }[] = []
  // What the stores of terminals and of the tree ask for, by method.
  const link = {
    state: () => ({ phase: 'open' }) as const,
    onState: () => () => undefined,
    subscribe: (subjects: string[], _since: unknown, handlers: Handlers) => {
      const sub = { subjects, handlers }
      heard.push(sub)
      return () => void heard.splice(heard.indexOf(sub), 1)
    },
    call: async (method: string, given: object = {}) => {
      const params = given as Record<string, unknown>
      asked.push([method, params])
      return calls[method]?.(params) ?? {}
    },
  }
  const say = (text: string): void => void told.push(text)
  const work = createWork({ link, say })
  const ops = createOps({
    link,
    say,
    schedule: (f) => {
      f()
      return () => undefined
    },
  })
  const store = createStore<WindowState>(() => ({
    link: { phase: 'open' },
    session: { role: 'owner', boot_id: 'b', version: 'v', project_path: '/p' },
    summaries: [],
    listError: '',
    providers: undefined,
    providersError: '',
    sidecar: undefined,
    conversations: {},
    outbox: [],
    drafts: {},
    staged: {},
    composerErrors: {},
    answering: {},
    stopPressed: {},
    gaps: {},
    keys: undefined,
    providerSettings: undefined,
    toast: undefined,
    ...readDesk(),
    ...change,
  }))
  const given: Partial<Actions> = {
    start: () => Promise.resolve({ ok: false, project: '' }),
    listCommands: () => Promise.resolve([]),
    findFiles: () => Promise.resolve([]),
    confirmDelete: () => Promise.resolve(undefined),
    ...answers,
  }
  const actions = new Proxy({} as Actions, {
    get: (_target, name) => {
      if (name === 'setDraft') {
        return (key: string, text: string) =>
          store.setState((s) => ({ drafts: { ...s.drafts, [key]: text } }))
      }
      const known = given[name as keyof Actions] as ((...a: unknown[]) => unknown) | undefined
      return (...args: unknown[]) => {
        noted.push({ name: String(name), args })
        if (known) return known(...args)
        return Promise.resolve('')
      }
    },
  })
  // One object per action, as in the product: effects depend on identity.
  const stable = new Map<string | symbol, unknown>()
  const steady = new Proxy(actions, {
    get: (target, name) => {
      if (!stable.has(name)) stable.set(name, Reflect.get(target, name))
      return stable.get(name)
    },
  })
  const view = render(
    <BenchProvider
      value={{
        store,
        reviews,
        work,
        ops,
        actions: steady,
        onAlert: () => () => undefined,
        dispose: () => undefined,
      }}
    >
      <NavigationProvider
        value={{ route: { view: 'agents', screen: 'new' }, go: (to) => went.push(to) }}
      >
        {ui}
      </NavigationProvider>
    </BenchProvider>,
  )
  const publish = (subject: string, data: unknown): void => {
    for (const s of [...heard]) {
      const meant = s.subjects.some(
        (p) => p === subject || (p.endsWith('.>') && subject.startsWith(p.slice(0, -1))),
      )
      if (!meant) continue
      s.handlers.onEvents([{ seq: 1, time: new Date().toISOString(), subject, turn: '', data }])
    }
  }
  return { ...view, store, reviews, work, ops, noted, went, asked, told, publish }
}
