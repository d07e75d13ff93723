import type { DiffComment } from '../../contract/gen'
import { Icon } from '../Icon'
import { useActions, useReviewActions } from '../bench'

interface Props {
  conversationId: string
  comments: DiffComment[]
}

/** The remarks that wait for the next message, above the composer. */
export function CommentChips({ conversationId, comments }: Props) {
  const { setComments } = useReviewActions()
  const { say } = useActions()
  if (comments.length === 0) return null
  const remove = (id: string): void => {
    const left = comments.filter((c) => c.id !== id)
    void setComments(conversationId, left).then((reason) => {
      if (reason !== '') say(reason, 'error')
    })
  }
  return (
    <ul className="remarks" aria-label="Comments for the next message">
      {comments.map((c) => (
        <li key={c.id} className="chip edge" title={`${c.path}:${c.line} — ${c.text}`}>
          <Icon name="say" />
          <span className="code-s keep">
            {c.path.split('/').at(-1)}:{c.line}
          </span>
          <span className="cut">{c.text}</span>
          <button
            type="button"
            className="ico"
            aria-label={`Remove comment on ${c.path} line ${c.line}`}
            onClick={() => remove(c.id)}
          >
            <Icon name="x" className="i-s" />
          </button>
        </li>
      ))}
    </ul>
  )
}
