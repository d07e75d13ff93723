import type { ToolCall } from '../../contract/model'
import { editSize, editedPaths, projectRelative, targetOf } from '../../store/tools'
import { Icon } from '../Icon'
import { useBench, useReviewActions } from '../bench'

interface Props {
  calls: ToolCall[]
  project: string
  baselines: Record<string, string | null>
  conversationId: string
  /** A watcher sees what was edited and opens nothing. */
  readOnly: boolean
}

/** One chip per edit: the file and how much of it changed; opens the review. */
export function EditChips({ calls, ...rest }: Props) {
  return (
    <ul className="edits" aria-label="Edits">
      {calls.map((call) => (
        <li key={call.id}>
          <EditChip call={call} {...rest} />
        </li>
      ))}
    </ul>
  )
}

function EditChip({ call, ...rest }: { call: ToolCall } & Omit<Props, 'calls'>) {
  const { show } = useReviewActions()
  const waits = useBench((s) => {
    const opened = s.conversations[rest.conversationId]
    const edits = opened?.phase === 'ready' ? opened.state.conversation.pending_edits : []
    return edits.some((e) => e.id === call.id)
  })
  const path = projectRelative(editedPaths(call)[0] ?? '', rest.project)
  const label = (
    <>
      <EditLabel call={call} {...rest} />
      {waits && <span className="amber">review</span>}
      {call.status === 'running' && !waits && <span className="ink-3">…</span>}
    </>
  )
  if (rest.readOnly || (call.status !== 'done' && !waits) || path === '') {
    return (
      <span className="edit" title={path}>
        {label}
      </span>
    )
  }
  return (
    <button
      type="button"
      className={waits ? 'edit wait' : 'edit'}
      title={`Review ${path}`}
      onClick={() => show(rest.conversationId, path)}
    >
      {label}
    </button>
  )
}

/** File and size of an edit, shared by the chip and the card of many. */
export function EditLabel(props: {
  call: ToolCall
  project: string
  baselines: Record<string, string | null>
}) {
  const { call, project, baselines } = props
  const paths = editedPaths(call)
  const path = paths[0] ?? ''
  const { added, removed } = editSize(call, baselines[targetOf(call.name, call.input)])
  return (
    <>
      <Icon name="pencil" />
      <span className="cut">{projectRelative(path, project) || call.name}</span>
      {paths.length > 1 && <span className="ink-3 keep">and {paths.length - 1} more</span>}
      {added > 0 && <span className="plus">+{added}</span>}
      {removed > 0 && <span className="minus">−{removed}</span>}
    </>
  )
}
