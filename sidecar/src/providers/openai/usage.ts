// Counts of one turn. They are stored raw: input includes what was read from the
// provider's cache. Source: contract.md 9.
import { countOf, fieldsOf, listOf } from '../../fields.js'

/** Tokens of one turn. */
export interface Counts {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadInputTokens: number
  readonly reasoningTokens: number
}

/** Reads the SDK's `Usage`, which sums the requests of one run and its continuations. */
export function countsOf(usage: unknown): Counts {
  const f = fieldsOf(usage) ?? {}
  return {
    inputTokens: countOf(f['inputTokens']) ?? 0,
    outputTokens: countOf(f['outputTokens']) ?? 0,
    cacheReadInputTokens: sum(f['inputTokensDetails'], 'cached_tokens'),
    reasoningTokens: sum(f['outputTokensDetails'], 'reasoning_tokens'),
  }
}

function sum(details: unknown, name: string): number {
  const list = Array.isArray(details) ? listOf(details) : listOf([details])
  return list.reduce((n, entry) => n + (countOf(entry[name]) ?? 0), 0)
}
