import { useEffect, useRef, useState } from 'react'
import { Icon } from '../Icon'
import type { Face, Mounted } from './mount'

interface Props {
  mounted: Mounted
  found: Face['found']
  onClose: () => void
}

/** Searches everything that a terminal still holds. */
export function FindScrollback({ mounted, found, onClose }: Props) {
  const [text, setText] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    field.current?.focus()
    return () => mounted.endFind()
  }, [mounted])
  const close = (): void => {
    onClose()
    mounted.focus()
  }
  const words =
    text === ''
      ? ''
      : !found || found.count === 0
        ? 'Nothing found'
        : // Beyond its limit xterm counts and does not say which one it is.
          found.index < 0
          ? `${found.count} matches`
          : `${found.index + 1} of ${found.count}`
  return (
    <div className="term-find" role="search" aria-label="Search in the scrollback">
      <label className="field grow">
        <Icon name="search" className="i-s" />
        <input
          ref={field}
          aria-label="Search in the scrollback"
          placeholder="Search in the scrollback"
          value={text}
          spellCheck={false}
          onChange={(e) => {
            setText(e.target.value)
            mounted.find(e.target.value, true)
          }}
          onKeyDown={(e) => {
            if (e.nativeEvent.isComposing) return
            if (e.key === 'Escape') {
              e.preventDefault()
              e.stopPropagation()
              close()
            } else if (e.key === 'Enter') {
              e.preventDefault()
              mounted.find(text, !e.shiftKey)
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
        aria-label="Older match"
        title="Older match (Enter)"
        onClick={() => mounted.find(text, true)}
      >
        <Icon name="up" className="i-s" />
      </button>
      <button
        type="button"
        className="ico"
        aria-label="Newer match"
        title="Newer match (Shift+Enter)"
        onClick={() => mounted.find(text, false)}
      >
        <Icon name="down" className="i-s" />
      </button>
      <button type="button" className="ico" aria-label="Close the search" onClick={close}>
        <Icon name="x" className="i-s" />
      </button>
    </div>
  )
}
