import { useEffect, useRef } from 'react'
import type { Completion } from './useCompletion'

/** The open popover; the field keeps the focus and names its active row. */
export function CompletionList({ id, completion: c }: { id: string; completion: Completion }) {
  const active = useRef<HTMLDivElement>(null)
  useEffect(() => active.current?.scrollIntoView?.({ block: 'nearest' }), [c.highlight])
  if (c.kind === undefined) return null
  return (
    <div className="menu completion" id={id} role="listbox" aria-label={nameOf(c.kind)}>
      {c.choices.length === 0 && <p className="micro ink-3 p-2">{c.empty}</p>}
      {c.choices.map((choice, i) => (
        <div
          key={choice.key}
          ref={i === c.highlight ? active : undefined}
          id={`${id}-${i}`}
          className={i === c.highlight ? 'mi on' : 'mi'}
          role="option"
          aria-selected={i === c.highlight}
          // The field must not lose the focus before the click has landed.
          onPointerDown={(e) => e.preventDefault()}
          onPointerMove={() => c.setHighlight(i)}
          onClick={() => c.pick(i)}
        >
          <span className={c.kind === 'file' ? 'code-s cut' : 'code-s keep'}>{choice.label}</span>
          {choice.detail !== '' && <span className="ink-3 micro grow cut">{choice.detail}</span>}
        </div>
      ))}
    </div>
  )
}

const nameOf = (kind: 'file' | 'command'): string => (kind === 'file' ? 'Files' : 'Commands')
