import { expect, test } from 'vitest'

import { toolName } from './names.js'

test('plain names stay as they are', () => {
  expect(toolName('notes', 'read_note')).toBe('mcp__notes__read_note')
})

test('replaced characters are told apart', () => {
  const dotted = toolName('my.server', 'a')
  expect(dotted).toMatch(/^mcp__my_server__a_[0-9a-f]{12}$/)
  expect(toolName('my server', 'a')).not.toBe(dotted)
  expect(toolName('', '')).toMatch(/^mcp_____[_]_[0-9a-f]{12}$/)
})

test.each([
  ['s'.repeat(80), 't'],
  ['s', 't'.repeat(80)],
  ['s'.repeat(80), 't'.repeat(80)],
  ['s'.repeat(30), 't'.repeat(28)],
])('long names fit and use what there is (%#)', (server, tool) => {
  const name = toolName(server, tool)
  expect(name).toHaveLength(64)
  expect(name).toMatch(/^mcp__s+__t+_[0-9a-f]{12}$/)
  expect(toolName(server, `${tool}x`)).not.toBe(name)
})

// The 64-bit FNV-1a of "a\xffb" computed by hand from its definition.
test('the hash is FNV-1a over server, 0xFF, tool', () => {
  let hash = 14695981039346656037n
  for (const byte of [0x2e, 0xff, 0x62])
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 1099511628211n)
  expect(toolName('.', 'b').slice(-12)).toBe(hash.toString(16).padStart(16, '0').slice(0, 12))
})
