import type { DiffComment } from '../../contract/gen'
import type { PendingEdit } from '../../contract/model'
import type { Hunk } from '../../store/hunks'
import { keepLabel } from '../../store/review'
import { Icon } from '../Icon'
import { useActions, useBench, useReviewActions, useReviews } from '../bench'
import { FilePath } from './FilePath'
import type { Place } from './HunkRows'
import { HunkRows } from './HunkRows'
import type { Cursor } from './Review'
import { useEditAnswer } from './useEditAnswer'
import { useColours } from './useColours'

interface Props {
  conversationId: string
  item: number
  path: string
  edit: PendingEdit
  hunks: Hunk[]
  comments: DiffComment[]
  cursor: Cursor
  /** Whether Y and N are this file's. */
  armed: boolean
  writing: Place | undefined
  onWrite: (hunk: number, place: Place | undefined) => void
  onComment: (place: Place, text: string) => void
}

const noTicks: boolean[] = []

/** A write that waits: each of its hunks is kept or not, then it is answered. */
export function PendingFile(props: Props) {
  const { conversationId, item, path, edit, hunks, comments, cursor, armed } = props
  const busy = useBench((s) => s.answering[edit.id] === true)
  const ticks = useReviews((s) => s.ticks[edit.id]) ?? noTicks
  const error = useReviews((s) => s.errors[edit.id]) ?? ''
  const { tick } = useReviewActions()
  const { say } = useActions()
  const answer = useEditAnswer(conversationId)
  const rows = hunks.reduce((n, h) => n + h.lines.length, 0)
  const colours = useColours(edit.before ?? '', edit.content, path, rows <= 5000)
  const fresh = edit.before === undefined
  const added = hunks.reduce((n, h) => n + h.added, 0)
  const removed = hunks.reduce((n, h) => n + h.removed, 0)
  return (
    <article className="file wait" aria-label={`${path}, pending`}>
      <header className="file-h" data-stop={`${item}/-1`} tabIndex={-1}>
        <FilePath path={path} />
        {fresh && <span className="tag">new</span>}
        <span className="num micro keep">
          {added > 0 && <span className="plus">+{added}</span>}{' '}
          {removed > 0 && <span className="minus">−{removed}</span>}
        </span>
        <span className="grow" />
        <button
          type="button"
          className="btn sm quiet"
          aria-disabled={busy}
          onClick={() => answer(edit, false)}
        >
          Undo all {armed && <kbd className="kbd">N</kbd>}
        </button>
        <button
          type="button"
          className="btn sm primary"
          aria-disabled={busy}
          onClick={() => answer(edit, true)}
        >
          {keepLabel(edit, ticks)} {armed && <kbd className="kbd">Y</kbd>}
        </button>
      </header>
      {error !== '' && (
        <p className="note red" role="alert">
          <Icon name="warn" className="i-s" />
          <span className="grow">{error}</span>
        </p>
      )}
      {hunks.map((hunk, i) => {
        const kept = ticks[i] !== false
        const at = cursor.item === item && cursor.hunk === i
        return (
          <section key={i} aria-label={`Hunk ${i + 1} of ${hunks.length}`}>
            <div className={at ? 'hunk-h at' : 'hunk-h'} data-stop={`${item}/${i}`} tabIndex={-1}>
              <button
                type="button"
                role="checkbox"
                className="tick"
                aria-checked={kept}
                aria-label={`Keep hunk ${i + 1}`}
                onClick={() =>
                  fresh
                    ? say(
                        'A new file is kept or undone as a whole: there is nothing to go back to.',
                      )
                    : tick(edit, i)
                }
              >
                <span className={kept ? 'box on' : 'box'}>{kept && <Icon name="check" />}</span>
                Hunk {i + 1} @ line {hunk.line}
              </button>
              <span className="num">
                {hunk.added > 0 && <span className="plus">+{hunk.added}</span>}{' '}
                {hunk.removed > 0 && <span className="minus">−{hunk.removed}</span>}
              </span>
              <span className="grow" />
              <span>{kept ? 'kept' : 'will be undone'}</span>
            </div>
            <HunkRows
              path={path}
              hunk={hunk}
              off={!kept}
              colours={colours}
              comments={comments}
              at={at ? cursor.line : undefined}
              writing={at ? props.writing : undefined}
              onWrite={(place) => props.onWrite(i, place)}
              onComment={props.onComment}
            />
          </section>
        )
      })}
      {hunks.length === 0 && (
        <p className="nothing">
          {fresh
            ? 'The new file would be empty.'
            : 'Nothing in the text of this file would change.'}
        </p>
      )}
    </article>
  )
}
