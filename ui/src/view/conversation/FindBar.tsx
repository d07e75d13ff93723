import { useEffect, useRef } from 'react'
import { Icon } from '../Icon'

interface Props {
  text: string
  /** How many rows hold it, and which of them is shown; from 1. */
  found: number
  at: number
  onText: (text: string) => void
  onStep: (by: 1 | -1) => void
  onClose: () => void
}

/** Searches one conversation, also what is too far away to be in the page. */
export function FindBar({ text, found, at, onText, onStep, onClose }: Props) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const input = field.current
    input?.focus()
    input?.select()
  }, [])
  const words = text.trim() === '' ? '' : found === 0 ? 'Nothing found' : `${at} of ${found}`
  return (
    <form
      className="find-bar"
      role="search"
      aria-label="Search in this conversation"
      onSubmit={(e) => {
        e.preventDefault()
        onStep(1)
      }}
    >
      <label className="field grow">
        <Icon name="search" className="i-s" />
        <input
          ref={field}
          aria-label="Search in this conversation"
          placeholder="Search in this conversation"
          value={text}
          onChange={(e) => onText(e.target.value)}
          onKeyDown={(e) => {
            if (e.nativeEvent.isComposing || e.keyCode === 229) return
            if (e.key === 'Escape') {
              e.preventDefault()
              e.stopPropagation()
              onClose()
            }
            if (e.key === 'Enter' && e.shiftKey) {
              e.preventDefault()
              onStep(-1)
            }
          }}
        />
      </label>
      <span className="micro ink-3 num keep" role="status">
        {words}
      </span>
      <button
        type="button"
        className="ico"
        aria-label="Previous place"
        aria-disabled={found === 0}
        onClick={() => onStep(-1)}
      >
        <Icon name="up" />
      </button>
      <button type="submit" className="ico" aria-label="Next place" aria-disabled={found === 0}>
        <Icon name="down" />
      </button>
      <button type="button" className="ico" aria-label="Close the search" onClick={onClose}>
        <Icon name="x" />
      </button>
    </form>
  )
}
