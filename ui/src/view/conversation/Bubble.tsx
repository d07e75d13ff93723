import type { Message } from '../../contract/model'
import type { OutboxItem } from '../../store/outbox'
import { Icon } from '../Icon'
import { useActions } from '../bench'

/** What somebody typed, in any window. */
export function Bubble(props: { message: Message; conversationId: string; readOnly: boolean }) {
  const { message } = props
  const { removeQueued } = useActions()
  return (
    <div className={message.queued ? 'bubble queued' : 'bubble'}>
      {message.content}
      {message.attachments.length > 0 && (
        <span className="thumbs">
          {message.attachments.map((a, i) => (
            <span key={i} className="chip edge">
              <Icon name="file" />
              {a.name ?? a.media_type} · {Math.ceil(a.size / 1024)} KB
            </span>
          ))}
        </span>
      )}
      {message.queued && <span className="q">(queued)</span>}
      {message.queued && !props.readOnly && (
        <button
          type="button"
          className="q-act"
          onClick={() => removeQueued(props.conversationId, message.id)}
        >
          Remove
        </button>
      )}
    </div>
  )
}

/** A message that waits for the connection. */
export function OutboxBubble({ item }: { item: OutboxItem }) {
  if (item.state === 'sending') return null
  return (
    <div className="bubble pend">
      {item.text}
      <span className="micro amber ml-2">Not sent yet</span>
    </div>
  )
}
