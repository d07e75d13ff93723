import type { KeyboardEvent } from 'react'
import { useRef } from 'react'
import type { Segment } from '../../store/posture'
import { segments } from '../../store/posture'

const dots: Record<Segment['hue'], string> = {
  green: 'mode-dot green',
  blue: 'mode-dot blue',
  amber: 'mode-dot amber',
  violet: 'mode-dot violet',
}

/** Agent, Ask, Manual, Plan. */
export function ModeSegments(props: { value: Segment['id']; onChange: (s: Segment) => void }) {
  const group = useRef<HTMLDivElement>(null)
  const onKeyDown = (e: KeyboardEvent): void => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    e.preventDefault()
    const at = segments.findIndex((s) => s.id === props.value)
    const next = (at + step + segments.length) % segments.length
    const chosen = segments[next]
    if (chosen) props.onChange(chosen)
    group.current?.querySelectorAll<HTMLElement>('[role="radio"]')[next]?.focus()
  }
  return (
    <div className="seg" role="radiogroup" aria-label="Mode" ref={group} onKeyDown={onKeyDown}>
      {segments.map((s) => (
        <button
          key={s.id}
          type="button"
          role="radio"
          aria-checked={s.id === props.value}
          tabIndex={s.id === props.value ? 0 : -1}
          onClick={() => props.onChange(s)}
        >
          <span className={dots[s.hue]} aria-hidden="true" />
          {s.label}
        </button>
      ))}
    </div>
  )
}
