import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { loadFrom } from './sources.js'

let folder = ''
let home = ''
let project = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pb-sources-'))
  home = join(folder, 'home')
  project = join(folder, 'project')
  mkdirSync(join(home, '.claude'), { recursive: true })
  mkdirSync(project)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const global = (value: unknown): void =>
  writeFileSync(
    join(home, '.claude', 'settings.json'),
    typeof value === 'string' ? value : JSON.stringify(value),
  )
const local = (value: unknown): void =>
  writeFileSync(
    join(project, '.mcp.json'),
    typeof value === 'string' ? value : JSON.stringify(value),
  )

test('both files are read, and the project wins by name', async () => {
  global({
    other: 1,
    mcpServers: {
      both: { command: 'global', env: { KEY: 'secret' } },
      web: { type: 'http', url: 'http://127.0.0.1:1', headers: { Authorization: 'secret' } },
      old: { type: 'sse', url: 'http://127.0.0.1:2' },
    },
  })
  local({ mcpServers: { both: { command: 'local', args: ['a', 1] }, own: { command: 'x' } } })
  const { servers, sources, readErrors } = await loadFrom(home, project)
  expect(readErrors).toEqual([])
  expect(servers).toEqual({
    both: { type: 'stdio', command: 'local', args: ['a'] },
    web: { type: 'http', url: 'http://127.0.0.1:1', headers: { Authorization: 'secret' } },
    old: { type: 'sse', url: 'http://127.0.0.1:2' },
    own: { type: 'stdio', command: 'x', args: [] },
  })
  expect(sources).toEqual([
    { name: 'web', transport: 'http', scope: 'global' },
    { name: 'old', transport: 'sse', scope: 'global' },
    { name: 'both', transport: 'stdio', scope: 'project' },
    { name: 'own', transport: 'stdio', scope: 'project' },
  ])
  // Nothing but names leaves this machine.
  expect(JSON.stringify(sources)).not.toContain('secret')
})

test.each([
  ['disabled', { command: 'x', disabled: true }],
  ['unusable', { args: ['x'] }],
  ['no object', 'x'],
])('a project entry that is %s does not fall back to the global one', async (_, entry) => {
  global({ mcpServers: { both: { command: 'global' } } })
  local({ mcpServers: { both: entry } })
  const { servers, sources } = await loadFrom(home, project)
  expect(servers).toEqual({})
  expect(sources).toEqual([])
})

test('missing files are no error, other failures are, and the rest is still read', async () => {
  rmSync(join(home, '.claude'), { recursive: true })
  local({ mcpServers: { own: { command: 'x' } } })
  expect((await loadFrom(home, project)).readErrors).toEqual([])
  mkdirSync(join(home, '.claude', 'settings.json'), { recursive: true })
  const { servers, readErrors } = await loadFrom(home, project)
  expect(Object.keys(servers)).toEqual(['own'])
  expect(readErrors).toEqual([
    {
      scope: 'global',
      path: join(home, '.claude', 'settings.json'),
      message: 'The file cannot be read (EISDIR).',
    },
  ])
})

test.each([
  ['{"mcpServers": {"a": {"env": {"KEY": "secret"', /not valid JSON/],
  ['["secret"]', /JSON object/],
  ['{"mcpServers": "secret"}', /mcpServers is not an object/],
])('a damaged file is told without what it holds (%#)', async (text, want) => {
  local(text)
  const { readErrors } = await loadFrom(home, project)
  expect(readErrors).toHaveLength(1)
  expect(readErrors[0]).toMatchObject({ scope: 'project', path: join(project, '.mcp.json') })
  expect(readErrors[0]?.message).toMatch(want)
  expect(readErrors[0]?.message).not.toContain('secret')
})

test('a missing home directory is an error of the global scope', async () => {
  const { readErrors } = await loadFrom('', project)
  expect(readErrors).toMatchObject([{ scope: 'global' }])
  expect((await loadFrom(home, '')).readErrors).toEqual([])
})
