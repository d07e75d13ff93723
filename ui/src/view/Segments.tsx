import type { KeyboardEvent, ReactNode } from 'react'
import { useRef } from 'react'

export interface SegmentChoice<T extends string> {
  id: T
  label: string
  title?: string
  mark?: ReactNode
}

interface Props<T extends string> {
  name: string
  value: T
  choices: readonly SegmentChoice<T>[]
  onChange: (id: T) => void
}

/** One of a few, all in view: a radio group with arrow keys. */
export function Segments<T extends string>({ name, value, choices, onChange }: Props<T>) {
  const group = useRef<HTMLDivElement>(null)
  const onKeyDown = (e: KeyboardEvent): void => {
    const step =
      e.key === 'ArrowRight' || e.key === 'ArrowDown'
        ? 1
        : e.key === 'ArrowLeft' || e.key === 'ArrowUp'
          ? -1
          : 0
    if (step === 0) return
    e.preventDefault()
    const at = choices.findIndex((c) => c.id === value)
    const next = (at + step + choices.length) % choices.length
    const chosen = choices[next]
    if (chosen) onChange(chosen.id)
    group.current?.querySelectorAll<HTMLElement>('[role="radio"]')[next]?.focus()
  }
  return (
    <div className="seg" role="radiogroup" aria-label={name} ref={group} onKeyDown={onKeyDown}>
      {choices.map((c) => (
        <button
          key={c.id}
          type="button"
          role="radio"
          aria-checked={c.id === value}
          tabIndex={c.id === value ? 0 : -1}
          title={c.title}
          onClick={() => onChange(c.id)}
        >
          {c.mark}
          {c.label}
        </button>
      ))}
    </div>
  )
}
