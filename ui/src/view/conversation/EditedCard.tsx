import type { ToolCall } from '../../contract/model'
import type { TranscriptDensity } from '../../store/prefs'
import { editSize, editedPaths, projectRelative, targetOf } from '../../store/tools'
import { Icon } from '../Icon'
import { useReviewActions } from '../bench'
import { EditLabel } from './EditChips'
import { Fold } from './Fold'

interface Props {
  calls: ToolCall[]
  project: string
  baselines: Record<string, string | null>
  conversationId: string
  readOnly: boolean
  density: TranscriptDensity
}

/** Three edits and more, as one card. */
export function EditedCard(props: Props) {
  const { calls, project, baselines, conversationId, readOnly, density } = props
  const { show } = useReviewActions()
  const sizes = calls.map((c) => editSize(c, baselines[targetOf(c.name, c.input)]))
  const added = sizes.reduce((n, s) => n + s.added, 0)
  const removed = sizes.reduce((n, s) => n + s.removed, 0)
  const files = new Set(calls.flatMap(editedPaths).map((p) => projectRelative(p, project))).size
  const head = (
    <>
      <Icon name="pencil" />
      <span className="mid text-ink">
        Edited {files} {files === 1 ? 'file' : 'files'}
      </span>
      <span className="num">
        <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
      </span>
      <span className="grow" />
    </>
  )
  return (
    <div className="tool">
      <Fold density={density} head={head}>
        <ul className="check-list">
          {calls.map((call) => {
            const path = projectRelative(editedPaths(call)[0] ?? '', project)
            const label = <EditLabel call={call} project={project} baselines={baselines} />
            return (
              <li key={call.id} className="code-s">
                {readOnly || path === '' ? (
                  <span className="row">{label}</span>
                ) : (
                  <button
                    type="button"
                    className="row"
                    title={`Review ${path}`}
                    onClick={() => show(conversationId, path)}
                  >
                    {label}
                  </button>
                )}
              </li>
            )
          })}
        </ul>
      </Fold>
    </div>
  )
}
