import type { ReviewCount } from '../../store/review'
import { Icon } from '../Icon'
import { useReviewActions } from '../bench'

interface Props {
  conversationId: string
  count: ReviewCount
  /** Whether a permission waits: it is answered first. */
  behind: boolean
}

/** What was changed, above the composer; opens the review. */
export function ReviewBar({ conversationId, count, behind }: Props) {
  const { show } = useReviewActions()
  if (count.files === 0) return null
  return (
    <button
      type="button"
      className={count.waiting > 0 ? 'reviewbar wait' : 'reviewbar'}
      onClick={() => show(conversationId)}
    >
      <span className="num keep">
        {count.files} {count.files === 1 ? 'file' : 'files'}
      </span>
      <span className="num keep">
        <span className="plus">+{count.added}</span> <span className="minus">−{count.removed}</span>
      </span>
      {count.waiting > 0 && (
        <>
          <span className="sep" />
          <span className="mid amber keep">{count.waiting} awaiting review</span>
        </>
      )}
      <span className="grow" />
      {count.waiting > 0 && behind && (
        <span className="micro ink-3 hide-tight">after the permission</span>
      )}
      <span className="btn sm quiet" aria-hidden="true">
        Review <Icon name="up" className="i-s" />
      </span>
      <span className="sr">Review</span>
    </button>
  )
}

/** The same in the header, small. */
export function DiffstatChip({ conversationId, count }: Omit<Props, 'behind'>) {
  const { show } = useReviewActions()
  if (count.files === 0) return null
  return (
    <button
      type="button"
      className="chip num hide-narrow"
      aria-label={`Review changes: ${count.added} added, ${count.removed} removed`}
      title="Review changes"
      onClick={() => show(conversationId)}
    >
      <span className="plus">+{count.added}</span>
      <span className="minus">−{count.removed}</span>
    </button>
  )
}
