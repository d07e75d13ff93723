import type { RefObject } from 'react'
import { useLayoutEffect } from 'react'

/** Lets a textarea take the height of its text; CSS holds the maximum. */
export function useGrow(ref: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const el = ref.current
    if (!el) return
    el.style.height = 'auto'
    el.style.height = `${el.scrollHeight}px`
  }, [ref, text])
}
