import { useState } from 'react'
import type { ToolCall } from '../../contract/model'
import { editSize, targetOf } from '../../store/tools'
import { Icon } from '../Icon'
import { EditLabel } from './EditChips'

interface Props {
  calls: ToolCall[]
  project: string
  baselines: Record<string, string | null>
}

/** Three edits and more, as one card. */
export function EditedCard({ calls, project, baselines }: Props) {
  const [open, setOpen] = useState(false)
  const sizes = calls.map((c) => editSize(c, baselines[targetOf(c.name, c.input)]))
  const added = sizes.reduce((n, s) => n + s.added, 0)
  const removed = sizes.reduce((n, s) => n + s.removed, 0)
  const files = new Set(calls.map((c) => targetOf(c.name, c.input))).size
  return (
    <div className="tool">
      <button type="button" className="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="pencil" />
        <span className="mid text-ink">
          Edited {files} {files === 1 ? 'file' : 'files'}
        </span>
        <span className="num">
          <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
        </span>
        <span className="grow" />
        <Icon name={open ? 'down' : 'right'} />
      </button>
      {open && (
        <ul className="check-list">
          {calls.map((call) => (
            <li key={call.id} className="row code-s">
              <EditLabel call={call} project={project} baselines={baselines} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
