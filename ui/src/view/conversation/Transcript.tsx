import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { CacheSnapshot, VirtualizerHandle } from 'virtua'
import { Virtualizer } from 'virtua'
import type { OutboxItem } from '../../store/outbox'
import type { ConversationState } from '../../store/reduce'
import type { Row } from '../../store/transcript'
import { deriveRows, findRows } from '../../store/transcript'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { StatusMark } from '../status/StatusMark'
import { Bubble, OutboxBubble } from './Bubble'
import { FindBar } from './FindBar'
import { ResolvedLine } from './ResolvedLine'
import { SystemLine } from './SystemLine'
import type { TurnContext } from './Turn'
import { Turn, TurnStep } from './Turn'

const noItems: OutboxItem[] = []

// Within this distance of the end the transcript is followed. CSS pixels.
const nearEnd = 40

interface Place {
  offset: number
  pinned: boolean
  cache: CacheSnapshot
  rows: number
}

// Where one was in each conversation; a window remembers, the service does not.
const places = new Map<string, Place>()

interface Props {
  state: ConversationState
  readOnly: boolean
  /** Short transcripts sit at the end, next to the composer; or at the top. */
  top?: boolean
  /** Whether the search is open; absent where there is none. */
  finding?: boolean
  onFound?: () => void
}

/** The rows of a conversation, of which only those near the view exist. */
export function Transcript({ state, readOnly, top = false, finding = false, onFound }: Props) {
  const c = state.conversation
  const id = c.session_id
  const all = useBench((s) => s.outbox)
  const outbox = useMemo(() => {
    const mine = all.filter((x) => x.conversationId === id && x.state !== 'sending')
    return mine.length === 0 ? noItems : mine
  }, [all, id])
  const density = useBench((s) => s.prefs.transcript)
  const rows = useMemo(() => deriveRows(state, outbox), [state, outbox])
  const { answerAll } = useActions()

  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<VirtualizerHandle>(null)
  const [place] = useState(() => {
    const known = places.get(id)
    return known && known.rows === rows.length ? known : undefined
  })
  const pinned = useRef(place?.pinned ?? true)
  const lastOffset = useRef(place?.offset ?? 0)
  // Steps that were there when the reader left the end; -1 while following.
  const [leftAt, setLeftAt] = useState(place && !place.pinned ? 0 : -1)
  const steps = rows.reduce((n, r) => n + (r.type === 'turn' ? Math.max(1, r.steps.length) : 1), 0)
  const stepsNow = useRef(steps)
  useEffect(() => {
    stepsNow.current = steps
  }, [steps])

  const toEnd = useCallback((): void => {
    const el = scroller.current
    if (el) el.scrollTop = el.scrollHeight
  }, [])

  const follow = useCallback((): void => {
    if (pinned.current) toEnd()
  }, [toEnd])

  // Rows that changed may have grown: the end moves, and with it a reader who
  // is at it. Nobody else is moved.
  useLayoutEffect(follow, [rows, follow])

  useLayoutEffect(() => {
    if (place && !place.pinned) list.current?.scrollTo(place.offset)
    else toEnd()
  }, [place, toEnd])

  useEffect(() => {
    const el = scroller.current
    if (!el) return
    const observer = new ResizeObserver(follow)
    observer.observe(el)
    for (const child of Array.from(el.children)) observer.observe(child)
    return () => observer.disconnect()
  }, [follow])

  const count = rows.length
  useEffect(() => {
    const handle = list
    return () => {
      const now = handle.current
      if (now) {
        places.set(id, {
          offset: lastOffset.current,
          pinned: pinned.current,
          cache: now.cache,
          rows: count,
        })
      }
    }
  }, [id, count])

  const onScroll = useCallback((): void => {
    const el = scroller.current
    if (!el) return
    const offset = el.scrollTop
    const atEnd = el.scrollHeight - el.clientHeight - offset < nearEnd
    const up = offset < lastOffset.current - 1
    lastOffset.current = offset
    if (atEnd) {
      pinned.current = true
      setLeftAt(-1)
    } else if (up && pinned.current) {
      pinned.current = false
      setLeftAt(stepsNow.current)
    }
  }, [])

  const prompts = c.pending_permissions.length
  const parked = prompts + c.pending_edits.length
  const armed = c.pending_permissions[0]?.id ?? c.pending_edits[0]?.id ?? ''
  const hidden = usePromptHidden(scroller, armed, rows)
  const context: TurnContext = useMemo(
    () => ({
      conversationId: id,
      project: c.project_path,
      patterns: c.allow_patterns,
      baselines: state.baselines,
      readOnly,
      density,
      canFork: c.capabilities.canFork && c.retired_notice === '',
      active: c.status === 'active',
      armed,
    }),
    [
      id,
      c.project_path,
      c.allow_patterns,
      c.capabilities.canFork,
      c.retired_notice,
      c.status,
      state.baselines,
      readOnly,
      density,
      armed,
    ],
  )
  const keep = useMemo(() => {
    const wanted = rows.flatMap((r, i) =>
      r.type === 'prompts' ||
      (r.type === 'turn' &&
        (r.last || r.steps.some((s) => s.type === 'permission' || s.type === 'edit')))
        ? [i]
        : [],
    )
    return [...new Set([...wanted, rows.length - 1])].filter((i) => i >= 0)
  }, [rows])
  const firstPrompt = rows.findIndex(
    (r) =>
      r.type === 'prompts' || (r.type === 'turn' && r.steps.some((s) => s.type === 'permission')),
  )
  const batch = c.pending_permissions.reduce((n, p) => Math.max(n, p.batch_size ?? 0), prompts)
  const fresh = leftAt < 0 ? 0 : steps - leftAt

  const find = useFind(rows, finding, (row) => {
    pinned.current = false
    setLeftAt((before) => (before < 0 ? stepsNow.current : before))
    list.current?.scrollToIndex(row, { align: 'center' })
  })

  const showFirstPrompt = (): void => {
    const el = scroller.current?.querySelector(`[data-prompt="${CSS.escape(armed)}"]`)
    if (el) el.scrollIntoView({ block: 'center' })
    else if (firstPrompt >= 0) list.current?.scrollToIndex(firstPrompt, { align: 'center' })
  }

  const draw = (row: Row, i: number) => (
    <div
      className={`log-row ${i === 0 ? 'first' : ''} ${i === find.row ? 'found' : ''}`}
      key={row.key}
    >
      {i === firstPrompt && prompts >= 2 && (
        <div className="rollup mb-2" role="group" aria-label="Pending tool permissions">
          <StatusMark kind="need" />
          <span className="mid">
            {batch > prompts
              ? `${prompts} of ${batch} pending tool permissions`
              : `${prompts} pending tool permissions`}
          </span>
          <span className="grow" />
          {!readOnly && (
            <>
              <button
                type="button"
                className="btn sm quiet"
                title="Allow every pending tool call once"
                onClick={() => answerAll(id, 'allow_once')}
              >
                Allow all
              </button>
              <button
                type="button"
                className="btn sm quiet"
                title="Deny every pending tool call"
                onClick={() => answerAll(id, 'deny')}
              >
                Deny all
              </button>
            </>
          )}
        </div>
      )}
      <RowView row={row} context={context} />
    </div>
  )

  return (
    <>
      {finding && onFound && (
        <FindBar
          text={find.text}
          found={find.found}
          at={find.at}
          onText={find.setText}
          onStep={find.step}
          onClose={onFound}
        />
      )}
      <div
        className="log pinned"
        ref={scroller}
        onScroll={onScroll}
        role="log"
        aria-label="Transcript"
        aria-live="off"
        tabIndex={0}
      >
        {!top && <div className="lift" />}
        <div>
          <Virtualizer
            ref={list}
            scrollRef={scroller}
            keepMounted={keep}
            bufferSize={600}
            onResize={follow}
            data={rows}
            {...(place && { cache: place.cache })}
          >
            {draw}
          </Virtualizer>
          {state.resolved.length > 0 && (
            <div className="log-row">
              {state.resolved.map((entry) => (
                <ResolvedLine key={entry.id} conversationId={id} entry={entry} />
              ))}
            </div>
          )}
        </div>
      </div>
      <div className="relative">
        {(leftAt >= 0 || (hidden && parked > 0)) && (
          <div className="float">
            {hidden && parked > 0 && (
              <button type="button" className="pill" onClick={showFirstPrompt}>
                <StatusMark kind="need" />
                <span className="num">{parked} pending</span>
                {!readOnly && (
                  <span className="ink-3 keep answer-keys">
                    <kbd className="kbd">Y</kbd> allow · <kbd className="kbd">N</kbd> deny
                  </span>
                )}
              </button>
            )}
            {leftAt >= 0 && (
              <button
                type="button"
                className="pill"
                onClick={() => {
                  pinned.current = true
                  setLeftAt(-1)
                  toEnd()
                }}
              >
                <Icon name="down" className="i-s" />
                <span className="num keep">{fresh > 0 ? `${fresh} new` : 'Latest'}</span>
              </button>
            )}
          </div>
        )}
      </div>
    </>
  )
}

const RowView = memo(function RowView({ row, context }: { row: Row; context: TurnContext }) {
  switch (row.type) {
    case 'user':
      return <Bubble message={row.message} context={context} />
    case 'system':
      return <SystemLine message={row.message} />
    case 'outbox':
      return <OutboxBubble item={row.item} />
    case 'turn':
      return (
        <Turn
          message={row.message}
          steps={row.steps}
          number={row.number}
          last={row.last}
          fate={row.fate}
          context={context}
        />
      )
    case 'prompts':
      return (
        <section className="turn" aria-label="Waiting for your answer">
          {row.steps.map((step) => (
            <TurnStep
              key={step.key}
              step={step}
              messageId=""
              context={context}
              lost={false}
              caret={false}
              failed={false}
            />
          ))}
        </section>
      )
  }
})

interface Find {
  text: string
  found: number
  at: number
  /** The row that is shown, -1 for none. */
  row: number
  setText: (text: string) => void
  step: (by: 1 | -1) => void
}

/** The search in the rows; begins with the newest place and goes up from there. */
function useFind(rows: Row[], finding: boolean, reveal: (row: number) => void): Find {
  const [text, setText] = useState('')
  // The key of the row: rows before it may come and go.
  const [key, setKey] = useState('')
  const hits = useMemo(() => (finding ? findRows(rows, text) : []), [rows, finding, text])
  const known = hits.findIndex((i) => rows[i]?.key === key)
  const at = known >= 0 ? known : hits.length - 1
  const show = (hit: number | undefined): void => {
    if (hit === undefined) return
    setKey(rows[hit]?.key ?? '')
    reveal(hit)
  }
  return {
    text,
    found: hits.length,
    at: at + 1,
    row: hits[at] ?? -1,
    setText: (next) => {
      setText(next)
      show(findRows(rows, next).at(-1))
    },
    step: (by) => show(hits.at((at + by) % hits.length)),
  }
}

/** Whether the card of the prompt that is next is out of the view. */
function usePromptHidden(
  scroller: React.RefObject<HTMLDivElement | null>,
  id: string,
  rows: Row[],
): boolean {
  const [hidden, setHidden] = useState(false)
  useEffect(() => {
    const root = scroller.current
    if (!root || id === '') return
    const card = root.querySelector(`[data-prompt="${CSS.escape(id)}"]`)
    if (!card) return
    const observer = new IntersectionObserver(
      ([entry]) => setHidden(entry ? !entry.isIntersecting : false),
      { root },
    )
    observer.observe(card)
    return () => {
      observer.disconnect()
      setHidden(false)
    }
  }, [scroller, id, rows.length])
  return hidden
}
