import { expect, test } from 'vitest'

import { Pool, type Member } from './pool.js'

class Fake implements Member {
  working = true
  evicted = 0
  busy(): boolean {
    return this.working
  }
  evict(): Promise<void> {
    this.evicted += 1
    return Promise.resolve()
  }
}

const never = new AbortController().signal
const quiet = (): void => {}

test('the one that was idle longest makes room', async () => {
  const pool = new Pool(2)
  const [a, b, c] = [new Fake(), new Fake(), new Fake()]
  await pool.acquire(a, never, quiet)
  await pool.acquire(b, never, quiet)
  b.working = false
  pool.idle(b)
  a.working = false
  pool.idle(a)
  expect(await pool.acquire(c, never, quiet)).toBe(true)
  expect([a.evicted, b.evicted]).toEqual([0, 1])
  expect(pool.size).toBe(2)
})

test('the busy ones are waited for, in order', async () => {
  const pool = new Pool(1)
  const [a, b, c] = [new Fake(), new Fake(), new Fake()]
  await pool.acquire(a, never, quiet)
  let told = 0
  const order: string[] = []
  const second = pool.acquire(b, never, () => (told += 1)).then(() => order.push('b'))
  const third = pool.acquire(c, never, () => (told += 1)).then(() => order.push('c'))
  expect(a.evicted).toBe(0)
  a.working = false
  pool.idle(a)
  await second
  expect([told, a.evicted]).toEqual([2, 1])
  pool.release(b)
  await third
  expect(order).toEqual(['b', 'c'])
})

test('who gives up waiting gets no place', async () => {
  const pool = new Pool(1)
  const [a, b, c] = [new Fake(), new Fake(), new Fake()]
  await pool.acquire(a, never, quiet)
  const leave = new AbortController()
  const second = pool.acquire(b, leave.signal, quiet)
  const third = pool.acquire(c, never, quiet)
  leave.abort()
  expect(await second).toBe(false)
  pool.release(a)
  expect(await third).toBe(true)
  expect(pool.size).toBe(1)
})

test('a member keeps its place', async () => {
  const pool = new Pool(1)
  const a = new Fake()
  await pool.acquire(a, never, quiet)
  expect(await pool.acquire(a, never, quiet)).toBe(true)
  expect(pool.size).toBe(1)
})
