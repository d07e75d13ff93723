import { useState } from 'react'

interface Props {
  path: string
  line: number
  onAdd: (text: string) => void
  onCancel: () => void
}

/** One line for a remark; it goes out with the next message. */
export function CommentBox({ path, line, onAdd, onCancel }: Props) {
  const [text, setText] = useState('')
  const name = path.split('/').at(-1) ?? path
  const place = `${name}:${line}`
  return (
    <form
      className="talk"
      role="group"
      aria-label={`Comment on ${name} line ${line}`}
      onSubmit={(e) => {
        e.preventDefault()
        if (text.trim() !== '') onAdd(text.trim())
      }}
    >
      <label className="field">
        <input
          autoFocus
          aria-label="Comment"
          value={text}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            const composing = e.nativeEvent.isComposing || e.keyCode === 229
            // An input method's keys choose a word; they neither send nor leave.
            if (e.key === 'Enter' && composing) e.preventDefault()
            if (e.key === 'Escape' && !composing) {
              e.preventDefault()
              e.stopPropagation()
              onCancel()
            }
          }}
        />
      </label>
      <div className="act">
        <span>Goes out with your next message as</span>
        <span className="code-s cut" title={`${path}:${line}`}>
          {place}
        </span>
        <span className="grow" />
        <button type="button" className="btn sm quiet" onClick={onCancel}>
          Cancel <kbd className="kbd">Esc</kbd>
        </button>
        <button type="submit" className="btn sm" aria-disabled={text.trim() === ''}>
          Add comment <kbd className="kbd">Enter</kbd>
        </button>
      </div>
    </form>
  )
}
