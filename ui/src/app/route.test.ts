import { expect, it } from 'vitest'
import { pathOf } from '../view/navigate'
import { parseRoute } from './route'

it.each([
  ['/', '/agents/new'],
  ['/agents', '/agents'],
  ['/agents/new', '/agents/new'],
  ['/agents/c-1', '/agents/c-1'],
  ['/agents/..%2f', '/agents/new'],
  ['/nowhere/at/all', '/agents/new'],
  ['/settings', '/settings/providers'],
  ['/settings/profiles', '/settings/profiles'],
  ['/settings/nothing', '/settings/providers'],
  ['/history', '/history'],
  ['/monitor', '/monitor'],
  ['/monitor/c-1', '/monitor/c-1'],
  ['/monitor/a.b', '/monitor'],
  ['/monitor/terminals', '/monitor/terminals'],
  ['/monitor/terminals/t-1', '/monitor/terminals/t-1'],
  ['/monitor/actors/all', '/monitor/actors/all'],
  ['/workspaces', '/workspaces'],
  ['/workspaces/w-1', '/workspaces/w-1'],
  ['/workspaces/a.b', '/workspaces'],
  ['/ops', '/ops'],
  ['/ops/conversation%3Ac-1', '/ops/conversation%3Ac-1'],
  ['/ops/%E0%A4%A', '/ops'],
])('%s shows %s', (path, shown) => {
  expect(pathOf(parseRoute(path))).toBe(shown)
})
