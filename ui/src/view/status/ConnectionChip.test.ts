import { expect, it } from 'vitest'
import { connectionWords } from './ConnectionChip'

it.each([
  [{ phase: 'open' }, 'Connected'],
  [{ phase: 'connecting' }, 'Reconnecting…'],
  [{ phase: 'waiting', retryAt: 4200 }, 'Offline — retrying in 4 s'],
  [{ phase: 'waiting', retryAt: 900 }, 'Offline — retrying in 1 s'],
] as const)('says of %j: %s', (link, words) => {
  expect(connectionWords(link, 1000)).toBe(words)
})
