import { useMemo, useRef, useState } from 'react'
import type { ConversationState } from '../../store/reduce'
import { usageLine } from '../../store/format'
import { nextPosture, offered, postureOf } from '../../store/posture'
import { readStored } from '../../store/storage'
import type { Staged } from '../../store/stores'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { ImageChips } from './ImageChips'
import { ModelMenu } from './ModelMenu'
import { PostureChip } from './PostureChip'
import { composerKey, isTouch } from './keys'
import { useGrow } from './useGrow'
import { useImageDrop } from './useImageDrop'

const noImages: Staged[] = []

interface Props {
  state: ConversationState
  /** Why nothing can be sent, in words; empty when it can. */
  blocked: string
}

/** Writes to one conversation. What it can do follows from the service. */
export function Composer({ state, blocked }: Props) {
  const c = state.conversation
  const id = c.session_id
  const draft = useBench((s) => s.drafts[id])
  const text = draft ?? readStored('draft', id)
  const images = useBench((s) => s.staged[id]) ?? noImages
  const error = useBench((s) => s.composerErrors[id]) ?? ''
  const link = useBench((s) => s.link.phase)
  const actions = useActions()
  const field = useRef<HTMLTextAreaElement>(null)
  // 0: not browsing; n: the n-th newest own turn.
  const [back, setBack] = useState(0)
  const composing = useRef(false)
  useGrow(field, text)

  const own = useMemo(
    () => c.messages.filter((m) => m.role === 'user' && !m.queued).map((m) => m.content),
    [c.messages],
  )
  const postures = offered(c.capabilities.permissionModes, c.capabilities.canPlanMode)
  const drop = useImageDrop(c.capabilities.imageAttachments, (added) => actions.stage(id, added))
  const active = c.status === 'active'
  const parked = c.pending_permissions.length + c.pending_edits.length
  const empty = text.trim() === '' && !images.some((x) => x.attachment)
  const why = empty ? 'Write something first.' : blocked
  const usage = usageLine(c.context?.used ?? 0, c.messages)

  const setText = (next: string): void => {
    if (back !== 0) setBack(0)
    actions.setDraft(id, next)
  }
  const send = (): void => {
    if (why !== '') return
    setBack(0)
    actions.send(id)
  }
  const show = (n: number): void => {
    setBack(n)
    actions.setDraft(id, n === 0 ? '' : (own.at(-n) ?? ''))
  }

  return (
    <>
      {error !== '' && (
        <p className="note red composer-error" role="alert">
          <Icon name="warn" className="i-s" />
          <span className="grow">{error}</span>
        </p>
      )}
      {back > 0 && <p className="micro ink-3 num history">{`${back}/${own.length}`}</p>}
      <form
        className={drop.over ? 'composer drop' : 'composer'}
        aria-label="Message"
        onSubmit={(e) => {
          e.preventDefault()
          send()
        }}
        {...drop.handlers}
      >
        <ImageChips images={images} onRemove={(image) => actions.unstage(id, image)} />
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder="Do anything"
          value={text}
          onChange={(e) => setText(e.target.value)}
          onCompositionStart={() => (composing.current = true)}
          onCompositionEnd={() => (composing.current = false)}
          onBlur={() => (composing.current = false)}
          onKeyDown={(e) => {
            const el = e.currentTarget
            const key = composerKey(
              {
                key: e.key,
                shiftKey: e.shiftKey,
                ctrlKey: e.ctrlKey,
                metaKey: e.metaKey,
                altKey: e.altKey,
                isComposing: e.nativeEvent.isComposing || composing.current,
                keyCode: e.keyCode,
              },
              {
                chat: true,
                touch: isTouch(),
                empty: text === '',
                caretAtStart: el.selectionStart === 0 && el.selectionEnd === 0,
                browsing: back > 0,
              },
            )
            if (key === 'none') return
            e.preventDefault()
            if (key === 'send') send()
            else if (key === 'older') show(Math.min(own.length, back + 1))
            else if (key === 'newer') show(back - 1)
            else if (key === 'clear') show(0)
            else {
              const next = nextPosture(postureOf(c.posture), postures)
              if (next) actions.setPosture(id, next)
            }
          }}
        />
        <div className="tools">
          <PostureChip
            posture={c.posture}
            offered={postures}
            canGateWrites={c.capabilities.canGateWrites}
            onPosture={(p) => actions.setPosture(id, p)}
            onApproveWrites={(on) => actions.setApproveWrites(id, on)}
          />
          {active && <StopButton id={id} stopping={c.stopping} />}
          {parked > 0 && (
            <button
              type="button"
              className="btn sm quiet"
              title="Denies what is parked; the turn goes on"
              onClick={() => actions.cancelPending(id)}
            >
              Cancel {parked}
            </button>
          )}
          <span className="push" />
          {!empty && blocked !== '' && <span className="micro ink-3 cut">{blocked}</span>}
          {link !== 'open' && blocked === '' && (
            <span className="micro ink-3 cut">You can write; it goes out on reconnect.</span>
          )}
          <ModelMenu
            model={c.model}
            models={c.capabilities.models}
            authoritative={c.capabilities.modelsAreAuthoritative}
            onChange={(model) => actions.changeModel(id, model)}
          />
          <button
            type="submit"
            className="send"
            aria-label="Send"
            title={why === '' ? 'Send (Enter)' : why}
            aria-disabled={why !== ''}
          >
            <Icon name="send" />
          </button>
        </div>
      </form>
      <div className="statusline">
        <span>{usage}</span>
        {c.pending_permissions.length > 0 ? (
          <span className="end answer-keys">
            <span>
              <kbd className="kbd">Y</kbd> allow
            </span>
            <span>
              <kbd className="kbd">N</kbd> deny
            </span>
          </span>
        ) : (
          c.pending_edits.length > 0 && (
            <span className="end answer-keys">
              <span>
                <kbd className="kbd">Y</kbd> keep
              </span>
              <span>
                <kbd className="kbd">N</kbd> undo
              </span>
            </span>
          )
        )}
      </div>
    </>
  )
}

// A second press asks for more after this long. Source: ui.md 5.6. In ms.
const patienceMs = 3000

/** Stop is a state of the service; pressing it again later asks again. */
function StopButton({ id, stopping }: { id: string; stopping: boolean }) {
  const pressed = useBench((s) => s.stopPressed[id])
  const { stop } = useActions()
  const [impatient, setImpatient] = useState(false)
  const waiting = stopping || pressed !== undefined
  const disabled = waiting && !impatient
  return (
    <button
      type="button"
      className="halt"
      aria-label={disabled ? 'Waiting for Stop acknowledgement' : 'Stop turn'}
      title={disabled ? 'Waiting for Stop acknowledgement' : 'Stop turn'}
      aria-disabled={disabled}
      onClick={() => {
        if (disabled) return
        setImpatient(false)
        stop(id)
        setTimeout(() => setImpatient(true), patienceMs)
      }}
    >
      <i />
    </button>
  )
}
