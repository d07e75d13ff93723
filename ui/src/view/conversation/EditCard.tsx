import { useMemo } from 'react'
import type { PendingEdit } from '../../contract/model'
import { changedLines, diffLines } from '../../store/diff'
import { projectRelative } from '../../store/tools'
import { Icon } from '../Icon'
import { keepLabel, pendingHunks } from '../../store/review'
import { useBench, useReviewActions, useReviews } from '../bench'
import { useEditAnswer } from '../review/useEditAnswer'
import { DiffText } from './DiffText'
import { Waiting } from './Waiting'

interface Props {
  conversationId: string
  edit: PendingEdit
  project: string
  readOnly: boolean
  /** Whether Y and N are this card's. */
  armed: boolean
}

/** A file write that waits: what would change, keep it or not. */
export function EditCard({ conversationId, edit, project, readOnly, armed }: Props) {
  const answer = useEditAnswer(conversationId)
  const { show } = useReviewActions()
  const ticks = useReviews((s) => s.ticks[edit.id])
  const error = useReviews((s) => s.errors[edit.id]) ?? ''
  const busy = useBench((s) => s.answering[edit.id] === true)
  const lines = useMemo(() => diffLines(edit.before ?? '', edit.content), [edit])
  const { added, removed } = useMemo(() => changedLines(edit.before ?? '', edit.content), [edit])
  const path = projectRelative(edit.path, project)
  const hunks = pendingHunks(edit).length
  return (
    <section
      className={readOnly ? 'perm watched' : 'perm'}
      aria-label={`Edit to review: ${path}`}
      data-prompt={edit.id}
    >
      <div className="perm-h">
        <Icon name="pencil" className="i-s" />
        <span className="micro ink-2 mid keep">Edit to review</span>
        {edit.before === undefined && <span className="tag">new</span>}
        <span className="grow" />
        <Waiting since={edit.opened_at} />
      </div>
      <div className="perm-t row">
        <span className="code cut" title={edit.path}>
          {path}
        </span>
        <span className="plus">+{added}</span>
        <span className="minus">−{removed}</span>
      </div>
      <DiffText lines={lines} name="Proposed change" empty="The file would be empty." />
      {!readOnly && (
        <div className="perm-a">
          <button
            type="button"
            className="btn answer"
            aria-disabled={busy}
            onClick={() => answer(edit, true)}
          >
            {keepLabel(edit, ticks)} {armed && <kbd className="kbd">Y</kbd>}
          </button>
          <button
            type="button"
            className="btn answer"
            aria-disabled={busy}
            onClick={() => answer(edit, false)}
          >
            Undo {armed && <kbd className="kbd">N</kbd>}
          </button>
          <button
            type="button"
            className="btn quiet push"
            title="Keep or undo each hunk, and comment on lines"
            onClick={() => show(conversationId, path)}
          >
            {hunks > 1 ? `Review ${hunks} hunks` : 'Review'}
          </button>
        </div>
      )}
      {error !== '' && (
        <p className="note red warn" role="alert">
          <Icon name="warn" className="i-s" />
          <span>{error}</span>
        </p>
      )}
    </section>
  )
}
