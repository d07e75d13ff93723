import { useEffect } from 'react'
import type { DiffComment } from '../../contract/gen'
import type { EditedFile, EditedText } from '../../contract/model'
import type { Hunk } from '../../store/hunks'
import { fileKey } from '../../store/reviews'
import { Icon } from '../Icon'
import { useReviewActions, useReviews } from '../bench'
import { FilePath } from './FilePath'
import type { Place } from './HunkRows'
import { HunkRows } from './HunkRows'
import type { Cursor } from './Review'
import { useColours } from './useColours'

interface Props {
  conversationId: string
  item: number
  file: EditedFile
  text: EditedText | undefined
  hunks: Hunk[]
  viewed: boolean
  comments: DiffComment[]
  cursor: Cursor
  writing: Place | undefined
  onWrite: (hunk: number, place: Place | undefined) => void
  onComment: (place: Place, text: string) => void
}

const kb = (bytes: number): string =>
  bytes < 0 ? 'no file' : `${Math.ceil(bytes / 1024).toLocaleString('en')} KB`

/** A file that was written: what changed, and the way back. */
export function AppliedFile(props: Props) {
  const { conversationId, item, file, text, hunks, viewed, comments, cursor } = props
  const { loadText, undo, view } = useReviewActions()
  const key = fileKey(conversationId, file.path)
  const read = useReviews((s) => s.texts[key])
  const busy = useReviews((s) => s.busy[key] === true)
  const error = useReviews((s) => s.errors[key]) ?? ''
  // Read when it is shown, and again when the disk holds something else.
  const wanted = !viewed && file.view !== 'size' && text?.file.hash !== file.hash
  useEffect(() => {
    if (wanted) void loadText(conversationId, file.path)
  }, [wanted, loadText, conversationId, file.path, file.hash])
  const colours = useColours(
    text?.before ?? '',
    text?.now ?? '',
    file.path,
    !viewed && text?.file.view === 'full',
  )
  const now = text?.file ?? file
  const whyNot = now.can_undo ? '' : now.why_not || 'There is no earlier text to restore.'
  // A hunk goes back into the file that is there now, whoever wrote it last.
  const byHunk = text !== undefined && text.before !== null && text.now !== null
  return (
    <article className="file" aria-label={`${file.path}, applied${viewed ? ', viewed' : ''}`}>
      <header className={viewed ? 'file-h last' : 'file-h'} data-stop={`${item}/-1`} tabIndex={-1}>
        <FilePath path={file.path} folded={viewed} />
        {file.state === 'new' && <span className="tag">new</span>}
        {file.state === 'deleted' && <span className="tag">deleted</span>}
        {file.edited_outside && <span className="tag amber">changed outside</span>}
        <span className="num micro keep">
          {file.lines_added > 0 && <span className="plus">+{file.lines_added}</span>}{' '}
          {file.lines_removed > 0 && <span className="minus">−{file.lines_removed}</span>}
        </span>
        <span className="grow" />
        {!viewed && file.state !== 'unchanged' && (
          <button
            type="button"
            className="btn sm quiet"
            aria-disabled={whyNot !== '' || busy || text === undefined}
            title={whyNot || 'Restore this file to its pre-edit content'}
            onClick={() => {
              if (whyNot === '' && text) void undo(conversationId, text)
            }}
          >
            <Icon name="undo" className="i-s" />
            Undo all
          </button>
        )}
        <button
          type="button"
          role="checkbox"
          className="chip"
          aria-checked={viewed}
          aria-label="Viewed"
          aria-disabled={file.hash === ''}
          title={
            file.hash === '' ? 'A file that is not there has no text to have seen.' : undefined
          }
          onClick={() => view(conversationId, file.path, viewed ? '' : file.hash)}
        >
          <span className={viewed ? 'box on' : 'box'}>{viewed && <Icon name="check" />}</span>
          Viewed
        </button>
      </header>
      {!viewed && (
        <>
          {file.edited_outside && (
            <p className="note amber" role="note">
              <Icon name="warn" className="i-s" />
              <span className="grow">
                This file was changed outside since the agent wrote it. What you see is on disk now;
                Undo never overwrites a text that is not shown.
              </span>
            </p>
          )}
          {whyNot !== '' && file.state !== 'unchanged' && <p className="nothing">{whyNot}</p>}
          {error !== '' && (
            <p className="note red" role="alert">
              <Icon name="warn" className="i-s" />
              <span className="grow">{error}</span>
            </p>
          )}
          {hunks.map((hunk, i) => {
            const at = cursor.item === item && cursor.hunk === i
            return (
              <section key={i} aria-label={`Hunk ${i + 1} of ${hunks.length}`}>
                <div
                  className={at ? 'hunk-h at' : 'hunk-h'}
                  data-stop={`${item}/${i}`}
                  tabIndex={-1}
                >
                  <span>
                    Hunk {i + 1} @ line {hunk.line}
                  </span>
                  <span className="num">
                    {hunk.added > 0 && <span className="plus">+{hunk.added}</span>}{' '}
                    {hunk.removed > 0 && <span className="minus">−{hunk.removed}</span>}
                  </span>
                  <span className="grow" />
                  {byHunk && (
                    <button
                      type="button"
                      className="btn sm quiet"
                      aria-disabled={busy}
                      title="Restore the original lines for this hunk"
                      onClick={() => void undo(conversationId, text, i)}
                    >
                      <Icon name="undo" className="i-s" />
                      Undo
                    </button>
                  )}
                </div>
                <HunkRows
                  path={file.path}
                  hunk={hunk}
                  off={false}
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
          <Nothing file={file} shown={hunks.length > 0} read={read} />
        </>
      )}
    </article>
  )
}

/** Why there is no diff to see. */
function Nothing(props: {
  file: EditedFile
  shown: boolean
  read: { loading: boolean; reason: string; value: EditedText | undefined } | undefined
}) {
  const { file, shown, read } = props
  if (file.view === 'size') {
    return (
      <p className="nothing num">
        Too large to show: {kb(file.size_before)} before, {kb(file.size_now)} now.
      </p>
    )
  }
  if (shown) return null
  if (read && read.reason !== '') {
    return (
      <p className="nothing red" role="alert">
        Could not read this file from disk. {read.reason}
      </p>
    )
  }
  if (!read?.value) return <p className="nothing">Loading file from disk…</p>
  return <p className="nothing">No changes vs. on-disk content.</p>
}
