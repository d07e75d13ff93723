import { expect, it } from 'vitest'
import type { TerminalSize } from './sizing'
import { createSizing } from './sizing'

const size = (cols: number, rows: number): TerminalSize => ({ cols, rows })

function setUp() {
  const said: string[] = []
  const s = createSizing({
    take: () => said.push('take'),
    ask: ({ cols, rows }) => said.push(`${cols}x${rows}`),
  })
  return { s, said }
}

// F61: attaching, laying out and the size in force change nothing.
it('asks for nothing until somebody acts here', () => {
  const { s, said } = setUp()
  s.room(size(80, 24))
  s.inForce(size(170, 50))
  s.room(size(100, 30))
  expect(said).toEqual([])
  expect(s.owner()).toBe(false)
})

it('takes the size with the first act, and follows its room from then on', () => {
  const { s, said } = setUp()
  s.inForce(size(170, 50))
  s.room(size(100, 30))
  s.claim(true)
  s.inForce(size(100, 30))
  s.claim(true)
  s.room(size(101, 30))
  expect(said).toEqual(['take', '100x30', '101x30'])
})

// F60: of two windows the one that typed last decides, and the other obeys.
it('gives way to another window', () => {
  const { s, said } = setUp()
  s.inForce(size(80, 24))
  s.room(size(80, 24))
  s.claim(true)
  s.inForce(size(40, 20))
  expect(s.owner()).toBe(false)
  s.room(size(90, 24))
  expect(said).toEqual(['take'])
  s.claim(true)
  expect(said).toEqual(['take', 'take', '90x24'])
})

it('takes its own earlier wish for no other window', () => {
  const { s, said } = setUp()
  s.inForce(size(80, 24))
  s.claim(true)
  s.room(size(90, 24))
  s.room(size(100, 24))
  s.inForce(size(90, 24))
  expect(s.owner()).toBe(true)
  s.inForce(size(100, 24))
  s.room(size(110, 24))
  expect(said).toEqual(['take', '90x24', '100x24', '110x24'])
})

it('refuses a room that is not laid out', () => {
  const { s, said } = setUp()
  s.inForce(size(80, 24))
  s.claim(true)
  s.room(size(0, 0))
  s.room(undefined)
  expect(said).toEqual(['take'])
})

it('owns nothing after the stream came back', () => {
  const { s, said } = setUp()
  s.inForce(size(80, 24))
  s.room(size(90, 24))
  s.claim(true)
  s.reset()
  s.room(size(95, 24))
  expect(said).toEqual(['take', '90x24'])
  expect(s.owner()).toBe(false)
})

it('asks again with a click, when another window typed meanwhile', () => {
  const { s, said } = setUp()
  s.inForce(size(80, 24))
  s.claim(true)
  s.room(size(90, 24))
  s.claim(false)
  expect(said).toEqual(['take', '90x24', 'take', '90x24'])
})
