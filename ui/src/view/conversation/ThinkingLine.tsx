import { useState } from 'react'
import { Icon } from '../Icon'

/** One line for a thought; expands in place, so nothing jumps. */
export function ThinkingLine({ text, live }: { text: string; live: boolean }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span>{live ? 'Thinking...' : 'Thought'}</span>
        <Icon name={open ? 'down' : 'right'} className="chev" />
      </button>
      {open && <div className="think-body">{text.trim()}</div>}
    </>
  )
}
