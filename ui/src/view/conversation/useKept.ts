import { useState } from 'react'

/** The earlier value as long as the new one equals it, so that memos hold. */
export function useKept<T>(value: T, equal: (a: T, b: T) => boolean): T {
  const [keep] = useState(() => {
    let last: { value: T } | undefined
    return (next: T): T => {
      if (!last || !equal(last.value, next)) last = { value: next }
      return last.value
    }
  })
  return keep(value)
}
