import type { ReviewItem } from '../../store/review'
import { StatusMark } from '../status/StatusMark'

interface Props {
  items: ReviewItem[]
  current: number
  onPick: (item: number) => void
}

/** The files of a review: those that wait, then those on disk. */
export function FileList({ items, current, onPick }: Props) {
  const row = (it: ReviewItem, i: number) => {
    const added =
      it.section === 'applied' ? it.file.lines_added : it.hunks.reduce((n, h) => n + h.added, 0)
    const removed =
      it.section === 'applied' ? it.file.lines_removed : it.hunks.reduce((n, h) => n + h.removed, 0)
    const mark =
      it.section === 'pending'
        ? { kind: 'need' as const, words: 'awaiting review' }
        : it.viewed
          ? { kind: 'done' as const, words: 'viewed' }
          : { kind: 'idle' as const, words: 'not viewed' }
    return (
      <button
        key={it.key}
        type="button"
        className="item"
        aria-current={i === current ? 'true' : undefined}
        title={it.path}
        onClick={() => onPick(i)}
      >
        <StatusMark kind={mark.kind} words={mark.words} />
        <span className="cut">{it.path.split('/').at(-1)}</span>
        <span className="t num">
          {added > 0 && <span className="plus">+{added}</span>}{' '}
          {removed > 0 && <span className="minus">−{removed}</span>}
        </span>
      </button>
    )
  }
  const pending = items.flatMap((it, i) => (it.section === 'pending' ? [row(it, i)] : []))
  const applied = items.flatMap((it, i) => (it.section === 'applied' ? [row(it, i)] : []))
  return (
    <nav className="review-files scroll" aria-label="Files">
      <div className="list">
        {pending.length > 0 && <h3 className="need">Awaiting review</h3>}
        {pending}
        {applied.length > 0 && <h3>Applied</h3>}
        {applied}
      </div>
    </nav>
  )
}
