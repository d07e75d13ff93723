import { useRef, useState } from 'react'
import type { Message } from '../../contract/model'
import type { OutboxItem } from '../../store/outbox'
import { Icon } from '../Icon'
import { useActions } from '../bench'
import { useNavigation } from '../navigate'
import { CopyButton } from './CopyButton'
import type { TurnContext } from './Turn'

/** What somebody typed, in any window; earlier ones can be sent in another way. */
export function Bubble({ message, context }: { message: Message; context: TurnContext }) {
  const [mode, setMode] = useState<'plain' | 'edit' | 'restore'>('plain')
  if (mode === 'edit') {
    return <EditBox message={message} context={context} onDone={() => setMode('plain')} />
  }
  const may = context.canFork && !context.readOnly && !message.queued
  return (
    <div className="said-by-you">
      <div className={message.queued ? 'bubble queued' : 'bubble'}>
        {message.content}
        <Attachments message={message} />
        {message.queued && <span className="q">(queued)</span>}
        {message.queued && !context.readOnly && (
          <QueuedActs conversationId={context.conversationId} messageId={message.id} />
        )}
      </div>
      {!message.queued && mode === 'plain' && (
        <div className="bubble-acts">
          <CopyButton text={message.content} name="Copy message" />
          {may && (
            <>
              <button
                type="button"
                className="ico"
                aria-label="Edit and resend"
                title="Edit & resend — forks the conversation from this turn"
                onClick={() => setMode('edit')}
              >
                <Icon name="pencil" className="i-s" />
              </button>
              <button
                type="button"
                className="ico"
                aria-label="Restore"
                aria-disabled={context.active}
                title={
                  context.active
                    ? 'Stop the turn first: what runs cannot be rewound.'
                    : 'Restore — rewind to this turn and re-run it'
                }
                onClick={() => !context.active && setMode('restore')}
              >
                <Icon name="undo" className="i-s" />
              </button>
            </>
          )}
        </div>
      )}
      {mode === 'restore' && (
        <RestoreQuestion message={message} context={context} onDone={() => setMode('plain')} />
      )}
    </div>
  )
}

function Attachments({ message }: { message: Message }) {
  if (message.attachments.length === 0) return null
  return (
    <span className="thumbs">
      {message.attachments.map((a, i) => (
        <span key={i} className="chip edge">
          <Icon name="file" />
          {a.name ?? a.media_type} · {Math.ceil(a.size / 1024)} KB
        </span>
      ))}
    </span>
  )
}

function QueuedActs(props: { conversationId: string; messageId: string }) {
  const { editQueued, removeQueued } = useActions()
  return (
    <>
      <button
        type="button"
        className="q-act"
        title="Takes it out of the queue and into the composer"
        onClick={() => editQueued(props.conversationId, props.messageId)}
      >
        Edit
      </button>
      <button
        type="button"
        className="q-act"
        onClick={() => removeQueued(props.conversationId, props.messageId)}
      >
        Remove
      </button>
    </>
  )
}

interface Inner {
  message: Message
  context: TurnContext
  onDone: () => void
}

/** Two to eight rows; nothing happens before it is sent. */
function EditBox({ message, context, onDone }: Inner) {
  const { fork } = useActions()
  const { go } = useNavigation()
  const [text, setText] = useState(message.content)
  const [busy, setBusy] = useState(false)
  const [reason, setReason] = useState('')
  const composing = useRef(false)
  const rows = Math.min(8, Math.max(2, text.split('\n').length))
  const resend = (): void => {
    if (busy || text.trim() === '') return
    setBusy(true)
    void fork(context.conversationId, message.id, text.trim()).then((forked) => {
      setBusy(false)
      if (!forked.ok) {
        setReason(forked.reason)
        return
      }
      onDone()
      go({ view: 'agents', screen: 'conversation', id: forked.id })
    })
  }
  return (
    <form
      className="edit-box"
      aria-label="Edit and resend"
      onSubmit={(e) => {
        e.preventDefault()
        resend()
      }}
    >
      <textarea
        autoFocus
        aria-label="Message to resend"
        rows={rows}
        value={text}
        onChange={(e) => setText(e.target.value)}
        onCompositionStart={() => (composing.current = true)}
        onCompositionEnd={() => (composing.current = false)}
        onBlur={() => (composing.current = false)}
        onKeyDown={(e) => {
          // An input method's Enter chooses a word, it does not send.
          if (composing.current || e.nativeEvent.isComposing || e.keyCode === 229) return
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
            e.preventDefault()
            resend()
          }
          if (e.key === 'Escape') {
            e.preventDefault()
            e.stopPropagation()
            onDone()
          }
        }}
      />
      {reason !== '' && (
        <p className="note red" role="alert">
          <Icon name="warn" className="i-s" />
          <span>{reason}</span>
        </p>
      )}
      <div className="row">
        <span className="micro ink-3 grow">
          This conversation stays as it is; the new text goes on in a copy.
        </span>
        <button type="button" className="btn sm quiet" onClick={onDone}>
          Cancel <kbd className="kbd">Esc</kbd>
        </button>
        <button type="submit" className="btn sm" aria-disabled={busy || text.trim() === ''}>
          Resend <kbd className="kbd">Ctrl+Enter</kbd>
        </button>
      </div>
    </form>
  )
}

/** The second step of a restore: what is lost, then the button that loses it. */
function RestoreQuestion({ message, context, onDone }: Inner) {
  const { restore } = useActions()
  const [busy, setBusy] = useState(false)
  const [reason, setReason] = useState('')
  return (
    <div
      className="restore"
      role="group"
      aria-label="Restore from here?"
      onKeyDown={(e) => {
        if (e.key !== 'Escape') return
        e.preventDefault()
        e.stopPropagation()
        onDone()
      }}
    >
      <p>Restore from here? Later messages are discarded and this turn re-runs.</p>
      <p className="micro ink-3">Files stay as they are on disk; Review can undo edits.</p>
      {reason !== '' && (
        <p className="red" role="alert">
          {reason}
        </p>
      )}
      <div className="row">
        <span className="grow" />
        <button type="button" className="btn sm quiet" autoFocus onClick={onDone}>
          Cancel <kbd className="kbd">Esc</kbd>
        </button>
        <button
          type="button"
          className="btn sm"
          aria-disabled={busy}
          onClick={() => {
            if (busy) return
            setBusy(true)
            void restore(context.conversationId, message.id).then((why) => {
              setBusy(false)
              setReason(why)
              if (why === '') onDone()
            })
          }}
        >
          Restore and re-run
        </button>
      </div>
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
