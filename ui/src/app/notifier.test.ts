import { describe, expect, it } from 'vitest'
import { createStore } from 'zustand/vanilla'
import { settle } from '../../test/fakeSocket'
import type { Alert } from '../store/attention'
import { readDesk } from '../store/desk'
import type { Actions, Bench, WindowState } from '../store/stores'
import type { Locks } from './notifier'
import { createNotifier } from './notifier'

/** Locks that several windows of one test share. */
function sharedLocks(): Locks {
  const held: { name: string; shared: boolean }[] = []
  const waiting: (() => boolean)[] = []
  return {
    hold: (name, shared, onHeld) => {
      const mine = { name, shared }
      const take = (): boolean => {
        if (held.some((h) => h.name === name && !(h.shared && shared))) return false
        held.push(mine)
        onHeld()
        return true
      }
      if (!take()) waiting.push(take)
      return () => {
        const at = held.indexOf(mine)
        if (at >= 0) held.splice(at, 1)
        for (const w of [...waiting]) if (w()) waiting.splice(waiting.indexOf(w), 1)
      }
    },
    held: () => Promise.resolve(held.map((h) => h.name)),
  }
}

function open(locks: Locks, at: { selected?: string; focused?: boolean } = {}) {
  let tell = (_a: Alert): void => undefined
  const shown: string[] = []
  const went: string[] = []
  const desk = readDesk()
  const notify = { ...desk.prefs.notify, enabled: true }
  const store = createStore(() => ({ ...desk, prefs: { ...desk.prefs, notify } }))
  const bench = {
    store,
    actions: {} as Actions,
    onAlert: (f: (a: Alert) => void) => {
      tell = f
      return () => undefined
    },
  } as unknown as Bench & { store: { getState: () => WindowState } }
  const where = { selected: '', focused: false, now: 100_000, ...at }
  const notifier = createNotifier(bench, {
    locks,
    show: (a, onClick) => {
      shown.push(a.tag)
      onClick()
    },
    now: () => where.now,
    selected: () => where.selected,
    focused: () => where.focused,
    open: (id) => went.push(id),
  })
  return { notifier, tell: (a: Alert) => tell(a), shown, went, where }
}

const alert = (kind: Alert['kind'], id = 'a'): Alert => ({
  kind,
  id,
  tag: `${kind}-${id}`,
  title: 't',
  body: 'b',
})

describe('notifier', () => {
  it('speaks once for all windows of the browser, and leads there', async () => {
    const locks = sharedLocks()
    const [one, two] = [open(locks), open(locks)]
    for (const w of [one, two]) w.tell(alert('approval'))
    await settle()
    expect([...one.shown, ...two.shown]).toEqual(['approval-a'])
    expect(one.went).toEqual(['a'])
  })
  it('passes the word on when the window that has it is closed', async () => {
    const locks = sharedLocks()
    const [one, two] = [open(locks), open(locks)]
    one.notifier.dispose()
    two.tell(alert('approval'))
    await settle()
    expect(two.shown).toEqual(['approval-a'])
  })
  it('is silent while another window has the focus', async () => {
    const locks = sharedLocks()
    const one = open(locks)
    const two = open(locks, { focused: true })
    one.tell(alert('approval'))
    await settle()
    expect(one.shown).toEqual([])
    two.where.focused = false
    two.notifier.moved()
    one.tell(alert('approval'))
    await settle()
    expect(one.shown).toEqual(['approval-a'])
  })
  it('does not say complete of what another window shows', async () => {
    const locks = sharedLocks()
    const one = open(locks)
    open(locks, { selected: 'a' })
    one.tell(alert('complete', 'a'))
    one.tell(alert('complete', 'b'))
    await settle()
    expect(one.shown).toEqual(['complete-b'])
  })
  it('waits 5 s before it speaks of the same conversation again', async () => {
    const one = open(sharedLocks())
    one.tell(alert('approval'))
    await settle()
    one.tell(alert('error'))
    await settle()
    expect(one.shown).toEqual(['approval-a'])
    one.where.now += 5000
    one.tell(alert('error'))
    await settle()
    expect(one.shown).toEqual(['approval-a', 'error-a'])
  })
})
