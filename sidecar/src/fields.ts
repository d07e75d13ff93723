// Looking into values whose shape nobody promised: what a vendor sends, what a
// file holds. A missing or wrong field is undefined, never an exception.

/** A JSON object. */
export type Fields = Record<string, unknown>

/** The value as a JSON object. */
export function fieldsOf(value: unknown): Fields | undefined {
  return isFields(value) ? value : undefined
}

/** The value as a list of JSON objects; other members are left out. */
export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** The value as text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The value as a number that is finite and not negative. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
