// A provider that says nothing. Source: contract.md 4.

/** How long a provider may say nothing while nothing of ours runs, ms. */
export const defaultStallMs = 120_000

/** How the turn ends then. */
export const STALLED = 'The provider sent nothing for 120 s; send again to retry.'
