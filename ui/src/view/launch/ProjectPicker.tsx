import type { RefObject } from 'react'
import { useId, useMemo, useState } from 'react'
import { baseName } from '../../store/format'
import { Icon } from '../Icon'

interface Props {
  field: RefObject<HTMLInputElement | null>
  value: string
  /** Folders that were used before, the newest first. */
  known: readonly string[]
  error: string
  onChange: (path: string) => void
}

/** The folder of a launch: one that was used before, or any path. */
export function ProjectPicker({ field, value, known, error, onChange }: Props) {
  const id = useId()
  const [open, setOpen] = useState(false)
  // Nothing typed since it opened: every folder is offered.
  const [typed, setTyped] = useState(false)
  const [highlight, setHighlight] = useState(-1)
  const wanted = value.trim().toLowerCase()
  const shown = useMemo(
    () => (typed ? known.filter((p) => p.toLowerCase().includes(wanted)) : [...known]),
    [known, typed, wanted],
  )
  const drawn = open && shown.length > 0
  const show = (): void => {
    setOpen(true)
    setTyped(false)
    setHighlight(-1)
  }
  const choose = (path: string | undefined): void => {
    if (path !== undefined) onChange(path)
    setOpen(false)
  }
  return (
    <div className="project-pick">
      <label className={error === '' ? 'field soft' : 'field bad'}>
        <Icon name="folder" className="i-s" />
        <input
          ref={field}
          id="project-folder"
          role="combobox"
          aria-label="Project folder"
          aria-expanded={drawn}
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={drawn && highlight >= 0 ? `${id}-${highlight}` : undefined}
          aria-invalid={error !== ''}
          aria-describedby={error === '' ? undefined : 'project-error'}
          placeholder="/path/to/project"
          value={value}
          title={value}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          onFocus={show}
          onClick={() => !open && show()}
          onBlur={() => setOpen(false)}
          onChange={(e) => {
            onChange(e.target.value)
            setOpen(true)
            setTyped(true)
            setHighlight(-1)
          }}
          onKeyDown={(e) => {
            if (e.nativeEvent.isComposing) return
            const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
            if (step !== 0 && shown.length > 0) {
              e.preventDefault()
              setOpen(true)
              setHighlight((highlight + step + shown.length) % shown.length)
            } else if (e.key === 'Enter') {
              e.preventDefault()
              choose(shown[highlight])
            } else if (e.key === 'Escape' && open) {
              e.preventDefault()
              e.stopPropagation()
              setOpen(false)
            }
          }}
        />
        <Icon name="down" className="i-s" />
      </label>
      <div
        className={drawn ? 'menu project-list' : 'sr'}
        id={id}
        role="listbox"
        aria-label="Projects"
        hidden={!drawn}
      >
        {drawn &&
          shown.map((path, i) => (
            <div
              key={path}
              id={`${id}-${i}`}
              className={i === highlight ? 'mi on' : 'mi'}
              role="option"
              aria-selected={path === value}
              onPointerDown={(e) => e.preventDefault()}
              onClick={() => choose(path)}
            >
              <Icon name="folder" />
              <span className="mid keep">{baseName(path)}</span>
              <span className="code-s ink-3 cut grow">{path}</span>
              {path === value && <Icon name="check" />}
            </div>
          ))}
      </div>
    </div>
  )
}
