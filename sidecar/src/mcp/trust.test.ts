import { pathToFileURL } from 'node:url'

import { expect, test } from 'vitest'

import { decide, looksMutating, probed, starts, trustOf, type McpTrust } from './trust.js'

const project = '/home/me/project'

/** An entry as the host sends it. */
function entry(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    schemaVersion: 1,
    serverId: 'project:notes',
    serverName: 'notes',
    workspacePath: project,
    allowReads: true,
    allowWrites: false,
    allowNetwork: true,
    allowedRoots: [project],
    allowedToolNames: ['look'],
    denialFloors: ['credentials', 'outside_workspace', 'protected_publish'],
    revision: 3,
    updatedAt: 1700000000000,
    ...more,
  }
}

function trust(more: Record<string, unknown> = {}): McpTrust | undefined {
  return trustOf({ notes: { command: 'x' } }, [entry(more)], project, 5).get('notes')
}

const stdio = { command: 'x' }
const http = { type: 'http', url: 'http://127.0.0.1:1/' }

test('without a snapshot each server gets read-only defaults', () => {
  const map = trustOf({ a: stdio, b: http }, undefined, project, 7)
  expect(map.get('a')).toEqual({
    schemaVersion: 1,
    serverId: 'runtime:a',
    serverName: 'a',
    workspacePath: project,
    allowReads: true,
    allowWrites: false,
    allowNetwork: true,
    allowedRoots: [project],
    allowedToolNames: [],
    denialFloors: ['credentials', 'outside_workspace', 'protected_publish'],
    revision: 1,
    updatedAt: 7,
    capabilityCheckedAt: undefined,
  })
  expect(map.get('b')).toMatchObject({ allowNetwork: false })
  expect(trustOf({ a: stdio }, undefined, '', 7).get('a')).toMatchObject({
    allowedRoots: [],
    workspacePath: undefined,
  })
})

test('an empty snapshot grants nothing, and is not an absent one (13.12)', () => {
  expect(trustOf({ a: stdio }, [], project, 7).size).toBe(0)
  expect(trustOf({ a: stdio }, undefined, project, 7).size).toBe(1)
})

test.each([
  ['no object', 'text'],
  ['no name', entry({ serverName: undefined })],
  ['another schema', entry({ schemaVersion: 2 })],
  ['the id of another server', entry({ serverId: 'project:other' })],
  ['no id', entry({ serverId: undefined })],
  ['reads that are no yes or no', entry({ allowReads: 'yes' })],
  ['no writes', entry({ allowWrites: undefined })],
  ['no network', entry({ allowNetwork: null })],
  ['roots that are no texts', entry({ allowedRoots: [1] })],
  ['no roots', entry({ allowedRoots: undefined })],
  ['tools that are no list', entry({ allowedToolNames: 'look' })],
  ['a floor nobody knows', entry({ denialFloors: ['credentials', 'gravity'] })],
])('an entry with %s grants nothing', (_, value) => {
  expect(trustOf({ notes: stdio }, [value], project, 7).size).toBe(0)
})

test('two entries of one name grant nothing, however many follow', () => {
  const wide = entry({ allowWrites: true })
  for (const list of [
    [entry(), wide],
    [entry(), entry({ allowReads: 1 })],
    [entry({ allowReads: 1 }), entry()],
    [entry(), wide, wide],
  ]) {
    expect(trustOf({ notes: stdio }, list, project, 7).size).toBe(0)
  }
})

test.each([
  ['reads', {}, stdio, true],
  ['no reads', { allowReads: false }, stdio, false],
  ['stdio needs no network', { allowNetwork: false }, stdio, true],
  ['http needs it', { allowNetwork: false }, http, false],
  ['http has it', {}, http, true],
  ['sse needs it', { allowNetwork: false }, { type: 'sse', url: 'x' }, false],
  ['an unknown type is a program', { allowNetwork: false }, { type: 'odd', command: 'x' }, true],
])('start filter: %s', (_, more, server, want) => {
  expect(starts(trust(more), server)).toBe(want)
})

test('a server without an entry does not start', () => {
  expect(starts(undefined, stdio)).toBe(false)
})

test('a probe adds what reads only and freezes the list', () => {
  const base = trust()
  if (base === undefined) throw new Error('no entry')
  const after = probed(base, ['look', 'peek'], 9)
  expect(after.allowedToolNames).toEqual(['look', 'peek'])
  expect(after.capabilityCheckedAt).toBe(9)
  expect(base.allowedToolNames).toEqual(['look'])
})

const none = { denialFloors: [] }
const writes = { allowWrites: true }

/** Every row of the table, its neighbours above it satisfied. */
test.each<[string, Record<string, unknown>, string, unknown, string | undefined]>([
  ['1: reads off', { allowReads: false }, 'look', {}, 'not granted'],
  ['2: checked and not listed', { capabilityCheckedAt: 1 }, 'peek', {}, 'frozen'],
  ['2: checked and listed', { capabilityCheckedAt: 1 }, 'look', {}, undefined],
  ['2 before 3', { capabilityCheckedAt: 1 }, 'get_token', {}, 'frozen'],
  ['2: unchecked, with writes', writes, 'peek', {}, undefined],
  ...['credential', 'SECRET', 'getToken', 'password', 'keyring', 'private_key', 'private-key'].map(
    (name): [string, Record<string, unknown>, string, unknown, string] => [
      `3: ${name}`,
      { ...writes, allowedToolNames: [name] },
      name,
      {},
      'credentials',
    ],
  ),
  ['3: author holds auth', writes, 'list_authors', {}, 'credentials'],
  ['3: without the floor', { ...writes, ...none }, 'get_token', {}, undefined],
  ...['push', 'publish', 'merge', 'release', 'Deploy', 'tag', 'pull_request', 'pull-request'].map(
    (name): [string, Record<string, unknown>, string, unknown, string] => [
      `4: ${name}`,
      writes,
      name,
      {},
      'publishes',
    ],
  ),
  ['4: without the floor', { ...writes, ...none }, 'push', {}, undefined],
  ['3 before 4', writes, 'publish_secret', {}, 'credentials'],
  [
    '5: mutating, although listed',
    { allowedToolNames: ['delete_note'] },
    'delete_note',
    {},
    'writes are off',
  ],
  ['5: a token', { allowedToolNames: ['putNote'] }, 'putNote', {}, 'changes something'],
  ['5: with writes', writes, 'delete_note', {}, undefined],
  ['6: not listed', {}, 'peek', {}, 'not verified as read-only'],
  ['6: listed', {}, 'look', {}, undefined],
  ['7: outside', {}, 'look', { path: '/etc/passwd' }, 'outside the folders'],
  ['7: with writes too', writes, 'look', { path: '/etc/passwd' }, 'outside the folders'],
  ['7: without the floor', none, 'look', { path: '/etc/passwd' }, undefined],
  ['7: no root', { allowedRoots: [] }, 'look', { path: 'a' }, 'outside the folders'],
  ['7: no root and no path', { allowedRoots: [] }, 'look', { text: '/etc' }, undefined],
  ['8: inside', {}, 'look', { path: `${project}/a` }, undefined],
])('decision %s', (_, more, tool, args, want) => {
  const verdict = decide(trust(more), tool, args)
  if (want === undefined) expect(verdict).toEqual({ allowed: true })
  else expect(verdict).toEqual({ allowed: false, reason: expect.stringContaining(want) as string })
})

test('1: a server without an entry', () => {
  expect(decide(undefined, 'look', {})).toMatchObject({ allowed: false })
})

test.each<[string, unknown, boolean]>([
  ['the root itself', { path: project }, true],
  ['a relative path', { path: 'src/a.ts' }, true],
  ['one that climbs and returns', { path: 'src/../src/a.ts' }, true],
  ['one that climbs out', { path: '../other' }, false],
  ['one that climbs out late', { path: 'a/b/../../../x' }, false],
  ['a neighbour with the same beginning', { path: `${project}-2/a` }, false],
  ['the parent', { path: '/home/me' }, false],
  ['a second root', { path: '/data/x' }, true],
  ['a key in another case', { FilePath: '/etc/passwd' }, false],
  ['a key that only contains the word', { outputDirectoryName: '/etc' }, false],
  ['a key that means nothing', { text: '/etc/passwd' }, true],
  ['deep below', { a: [{ b: { file: '/etc/passwd' } }] }, false],
  ['a list below such a key', { paths: ['a', '/etc/passwd'] }, false],
  ['an object below such a key', { file: { name: '/etc/passwd' } }, false],
  ['a list of good ones', { paths: ['a', 'b/c'] }, true],
  ['no text', { path: 7, root: null, cwd: true }, true],
  ['an empty text', { path: '' }, true],
  ['a file URL inside', { path: pathToFileURL(`${project}/a b`).href }, true],
  ['a file URL outside', { uri_path: 'file:///etc/passwd' }, false],
  ['an encoded file URL', { path: `file://${project}/%2e%2e/%2e%2e/x` }, false],
  ['an encoded slash', { path: `file://${project}/a%2f..%2f..%2fx` }, false],
  ['a file URL in capitals', { path: 'FILE:///etc/passwd' }, false],
  ['a file URL with a host', { path: `file://host${project}/a` }, false],
  ['a file URL behind a space', { path: ' file:///etc/passwd' }, false],
  ['a home', { path: '~/x' }, false],
  ['a drive', { path: 'C:\\Windows' }, false],
  ['a share', { path: '\\\\host\\share' }, false],
  ['backslashes that climb', { path: '..\\..\\x' }, false],
  ['a zero byte', { path: 'a\0b' }, false],
  ['arguments that are no object', 'x', true],
  ['a list of arguments', [{ path: '/etc' }], false],
])('path rule: %s', (_, args, allowed) => {
  const entry = trust({ allowedRoots: [project, '/data'] })
  expect(decide(entry, 'look', args).allowed).toBe(allowed)
})

test('a root that is relative holds nothing', () => {
  expect(decide(trust({ allowedRoots: ['project'] }), 'look', { path: 'a' }).allowed).toBe(false)
})

test.each([
  ['read_note', false],
  ['list', false],
  ['get_dataset', true],
  ['asset', true],
  ['truncate', true],
  ['HTTPPut', true],
  ['put', true],
  ['computer', false],
  ['input', false],
  ['readAndDrop', true],
  ['edit-file', true],
  ['credit', false],
  ['EXEC', true],
  ['execSync', true],
  ['savings', false],
  ['', false],
])('looksMutating(%s)', (name, want) => {
  expect(looksMutating(name)).toBe(want)
})
