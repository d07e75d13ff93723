import type { ToolCall } from '../../contract/model'
import { editSize, projectRelative, targetOf } from '../../store/tools'
import { Icon } from '../Icon'

interface Props {
  calls: ToolCall[]
  project: string
  baselines: Record<string, string | null>
}

/** One chip per edit: the file and how much of it changed. */
export function EditChips({ calls, project, baselines }: Props) {
  return (
    <ul className="edits" aria-label="Edits">
      {calls.map((call) => (
        <li key={call.id} className="edit" title={targetOf(call.name, call.input)}>
          <EditLabel call={call} project={project} baselines={baselines} />
          {call.status === 'running' && <span className="ink-3">…</span>}
        </li>
      ))}
    </ul>
  )
}

/** File and size of an edit, shared by the chip and the card of many. */
export function EditLabel({ call, project, baselines }: { call: ToolCall } & Omit<Props, 'calls'>) {
  const path = targetOf(call.name, call.input)
  const { added, removed } = editSize(call, baselines[path])
  return (
    <>
      <Icon name="pencil" />
      <span className="cut">{projectRelative(path, project) || call.name}</span>
      {added > 0 && <span className="plus">+{added}</span>}
      {removed > 0 && <span className="minus">−{removed}</span>}
    </>
  )
}
