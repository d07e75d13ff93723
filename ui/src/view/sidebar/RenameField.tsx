import { useRef, useState } from 'react'

/** Enter and blur commit, Escape leaves the title as it was. */
export function RenameField({ title, onDone }: { title: string; onDone: (title: string) => void }) {
  const [text, setText] = useState(title)
  const over = useRef(false)
  const finish = (value: string): void => {
    if (over.current) return
    over.current = true
    onDone(value.trim())
  }
  return (
    <input
      className="edit-title"
      aria-label="Title"
      autoFocus
      value={text}
      onChange={(e) => setText(e.target.value)}
      onFocus={(e) => e.target.select()}
      onBlur={() => finish(text)}
      onKeyDown={(e) => {
        if (e.nativeEvent.isComposing) return
        if (e.key === 'Enter') finish(text)
        if (e.key === 'Escape') finish(title)
      }}
    />
  )
}
