import type { KeyboardEvent } from 'react'
import { useRef } from 'react'
import type { ProviderRow } from '../../contract/model'
import { badgeLook, grouped } from '../../store/providers'
import { Icon } from '../Icon'

interface Props {
  id: string
  rows: ProviderRow[]
  selected: string
  /** While a new probe runs the badges say so. */
  checking: boolean
  onSelect: (row: string) => void
  onClose: () => void
}

/** Every provider with its badge and what the service says about it. */
export function ProviderShelf({ id, rows, selected, checking, onSelect, onClose }: Props) {
  const shelf = useRef<HTMLDivElement>(null)
  const groups = grouped(rows)
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.key === 'Escape') {
      e.preventDefault()
      e.stopPropagation()
      onClose()
      return
    }
    const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    e.preventDefault()
    const all = Array.from(shelf.current?.querySelectorAll<HTMLElement>('[role="option"]') ?? [])
    const at = all.findIndex((el) => el === document.activeElement)
    all[(at + step + all.length) % all.length]?.focus()
  }
  // Two columns: the two vendors left, the others right.
  const columns = [groups.slice(0, 2), groups.slice(2)]
  return (
    <div
      className="shelf"
      id={id}
      role="listbox"
      aria-label="Provider"
      ref={shelf}
      onKeyDown={onKeyDown}
    >
      {columns.map((column, i) => (
        <div key={i} role="presentation">
          {column.map((g) => (
            <div key={g.group} role="group" aria-label={g.group}>
              <h4 role="presentation">{g.group}</h4>
              {g.rows.map((row) => (
                <Option
                  key={row.row}
                  row={row}
                  selected={row.row === selected}
                  checking={checking}
                  onSelect={() => onSelect(row.row)}
                />
              ))}
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}

function Option(props: {
  row: ProviderRow
  selected: boolean
  checking: boolean
  onSelect: () => void
}) {
  const { row, selected } = props
  const ready = row.badge.status === 'ready'
  return (
    <button
      type="button"
      className={ready ? 'opt' : 'opt dim'}
      role="option"
      aria-selected={selected}
      tabIndex={selected ? 0 : -1}
      onClick={props.onSelect}
    >
      <span className="name cut">{row.label}</span>
      <Badge row={row} checking={props.checking} />
      <small title={row.badge.hint || about(row)}>{row.badge.hint || about(row)}</small>
    </button>
  )
}

/** What a ready row says of itself. */
function about(row: ProviderRow): string {
  const [first] = row.models
  if (!first) return 'Models come from the provider'
  return row.models.length === 1 ? first.label : `${first.label} · ${row.models.length} models`
}

export function Badge({ row, checking }: { row: ProviderRow; checking: boolean }) {
  const look = badgeLook(checking ? 'loading' : row.badge.status)
  return (
    <span className={`tag plain ${look.hue}`}>
      <Icon name={look.icon} />
      {look.label}
    </span>
  )
}
