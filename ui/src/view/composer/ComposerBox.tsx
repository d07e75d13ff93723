import type { ReactNode, RefObject } from 'react'
import { useId, useMemo, useRef, useState } from 'react'
import type { BuiltinId, SlashCommand } from '../../store/completion'
import { builtins } from '../../store/completion'
import { readDraft } from '../../store/drafts'
import type { Staged } from '../../store/stores'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { CompletionList } from './CompletionList'
import { ImageChips } from './ImageChips'
import { composerKey, isTouch } from './keys'
import { useCompletion } from './useCompletion'
import { useDictation } from './useDictation'
import { useGrow } from './useGrow'
import { useImageDrop } from './useImageDrop'

const noImages: Staged[] = []
const nothing: readonly string[] = []

interface Props {
  /** Chat has postures, own turns and built-in commands; launch has not. */
  variant: 'launch' | 'chat'
  /** Whose draft it writes: a conversation's id, or that of the launch. */
  draftKey: string
  label: string
  placeholder: string
  rows: number
  /** The folder behind `@`; undefined where files cannot be named. */
  project: string | undefined
  /** The commands behind `/`; undefined without any. */
  listCommands: (() => Promise<SlashCommand[]>) | undefined
  imagesAllowed: boolean
  /** Own turns for ArrowUp, oldest first. */
  own?: readonly string[]
  field: RefObject<HTMLTextAreaElement | null>
  onSend: () => void
  onPosture?: () => void
  onBuiltin?: (id: BuiltinId) => void
  /** The row under the text; the mic is given to be placed. */
  tools: (mic: ReactNode) => ReactNode
  /** What opens inside the card. */
  children?: ReactNode
}

/** The one composer of launch and chat: text, images, `@`, `/`, and its keys. */
export function ComposerBox(props: Props) {
  const { draftKey, field } = props
  const draft = useBench((s) => s.drafts[draftKey])
  const text = draft ?? readDraft(draftKey)
  const images = useBench((s) => s.staged[draftKey]) ?? noImages
  const actions = useActions()
  const listId = useId()
  const own = props.own ?? nothing
  // 0: not browsing; n: the n-th newest own turn.
  const [back, setBack] = useState(0)
  const composing = useRef(false)
  useGrow(field, text)

  const setText = (next: string): void => {
    if (back !== 0) setBack(0)
    actions.setDraft(draftKey, next)
  }
  const { project } = props
  const { findFiles } = actions
  const search = useMemo(
    () =>
      project === undefined || project === ''
        ? undefined
        : (query: string) => findFiles(project, query),
    [project, findFiles],
  )
  const completion = useCompletion({
    field,
    text,
    setText,
    findFiles: search,
    listCommands: props.listCommands,
    firstCommands: props.variant === 'chat' ? builtins : [],
    onBuiltin: (id) => props.onBuiltin?.(id),
  })
  const drop = useImageDrop(props.imagesAllowed, (added) => actions.stage(draftKey, added))
  const dictation = useDictation(
    (words) => setText(text === '' || /\s$/.test(text) ? text + words : `${text} ${words}`),
    (reason) => actions.say(reason, 'error'),
  )
  const show = (n: number): void => {
    setBack(n)
    actions.setDraft(draftKey, n === 0 ? '' : (own.at(-n) ?? ''))
  }
  const open = completion.kind !== undefined

  return (
    <>
      {back > 0 && <p className="micro ink-3 num history">{`${back}/${own.length}`}</p>}
      <form
        className={drop.over ? 'composer drop' : 'composer'}
        aria-label={props.variant === 'launch' ? 'New agent' : 'Message'}
        onSubmit={(e) => {
          e.preventDefault()
          setBack(0)
          props.onSend()
        }}
        {...drop.handlers}
      >
        <ImageChips images={images} onRemove={(image) => actions.unstage(draftKey, image)} />
        <div className="composer-text">
          <textarea
            ref={field}
            rows={props.rows}
            aria-label={props.label}
            aria-autocomplete={search || props.listCommands ? 'list' : undefined}
            aria-controls={open ? listId : undefined}
            aria-activedescendant={
              open && completion.choices.length > 0
                ? `${listId}-${completion.highlight}`
                : undefined
            }
            placeholder={props.placeholder}
            value={text}
            onChange={(e) => {
              setText(e.target.value)
              completion.look()
            }}
            onSelect={completion.look}
            onCompositionStart={() => (composing.current = true)}
            onCompositionEnd={() => (composing.current = false)}
            onBlur={() => {
              composing.current = false
              completion.blur()
            }}
            onKeyDown={(e) => {
              if (!composing.current && completion.key(e)) {
                e.preventDefault()
                e.stopPropagation()
                return
              }
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
                  chat: props.variant === 'chat',
                  touch: isTouch(),
                  empty: text === '',
                  caretAtStart: el.selectionStart === 0 && el.selectionEnd === 0,
                  browsing: back > 0,
                },
              )
              if (key === 'none') return
              e.preventDefault()
              if (key === 'send') {
                setBack(0)
                props.onSend()
              } else if (key === 'older') show(Math.min(own.length, back + 1))
              else if (key === 'newer') show(back - 1)
              else if (key === 'clear') show(0)
              else props.onPosture?.()
            }}
          />
          <CompletionList id={listId} completion={completion} />
        </div>
        <div className="tools">
          {props.tools(
            dictation.offered && (
              <button
                type="button"
                className="ico"
                aria-label="Dictate"
                aria-pressed={dictation.on}
                title={dictation.on ? 'Stop dictating' : 'Dictate'}
                onClick={dictation.toggle}
              >
                <Icon name="mic" />
              </button>
            ),
          )}
        </div>
        {props.children}
      </form>
    </>
  )
}
