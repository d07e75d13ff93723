import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Envelope } from '../../contract/model'
import { grouped, rateWords, upWords, validPattern } from '../../store/treeRows'
import { parseSubject } from '../../contract/subjects'
import type { LogFilter } from '../../store/ops'
import { Icon } from '../Icon'
import { useOps, useOpsActions } from '../bench'

export type TailTab = 'events' | 'log' | 'windows'

interface Props {
  tab: TailTab
  onTab: (tab: TailTab) => void
  readOnly: boolean
}

const tabs: readonly { id: TailTab; label: string }[] = [
  { id: 'events', label: 'Events' },
  { id: 'log', label: 'Log' },
  { id: 'windows', label: 'Windows' },
]

/** What streams by: events of chosen subjects, the text log, and who looks on. */
export function Tail({ tab, onTab, readOnly }: Props) {
  const [follow, setFollow] = useState(true)
  const shown = readOnly ? tabs.filter((t) => t.id !== 'log') : tabs
  return (
    <section className="tail" aria-label={tabs.find((t) => t.id === tab)?.label}>
      <header className="bar tail-bar">
        <div className="tabs" role="tablist" aria-label="Below the tree">
          {shown.map((t) => (
            <button
              key={t.id}
              type="button"
              role="tab"
              className="tab"
              aria-selected={t.id === tab}
              onClick={() => onTab(t.id)}
            >
              {t.label}
            </button>
          ))}
        </div>
        {tab === 'events' && <Patterns />}
        {tab === 'log' && <LogFilters />}
        <span className="grow" />
        {tab !== 'windows' && (
          <button
            type="button"
            className="btn sm quiet"
            aria-pressed={follow}
            onClick={() => setFollow(!follow)}
          >
            {follow && <Icon name="check" className="i-s" />}
            Follow
          </button>
        )}
      </header>
      {tab === 'events' ? (
        <Events follow={follow} onFollow={setFollow} />
      ) : tab === 'log' ? (
        <Log follow={follow} onFollow={setFollow} />
      ) : (
        <Windows />
      )}
    </section>
  )
}

/** The subjects of the tail as chips, and a field for one more. */
function Patterns() {
  const patterns = useOps((s) => s.patterns)
  const rate = useOps((s) => s.tailRate)
  const { setPatterns } = useOpsActions()
  const [adding, setAdding] = useState(false)
  const [text, setText] = useState('')
  const wrong = text !== '' && !validPattern(text)
  return (
    <>
      {patterns.map((p) => (
        <span key={p} className="chip edge code-s hide-narrow">
          {p}
          <button
            type="button"
            className="chip-x"
            aria-label={`Leave out ${p}`}
            onClick={() => setPatterns(patterns.filter((x) => x !== p))}
          >
            <Icon name="x" />
          </button>
        </span>
      ))}
      {adding ? (
        <form
          className="row"
          onSubmit={(e) => {
            e.preventDefault()
            if (!validPattern(text)) return
            if (!patterns.includes(text)) setPatterns([...patterns, text])
            setText('')
            setAdding(false)
          }}
        >
          <label className={wrong ? 'field bad small' : 'field soft small'}>
            <input
              autoFocus
              aria-label="Subject"
              aria-invalid={wrong}
              placeholder="conversation.>"
              title={wrong ? 'Words with dots between; * for one, > for all that follow' : ''}
              value={text}
              spellCheck={false}
              onChange={(e) => setText(e.target.value.trim())}
              onBlur={() => text === '' && setAdding(false)}
              onKeyDown={(e) => {
                if (e.key !== 'Escape') return
                e.stopPropagation()
                setAdding(false)
              }}
            />
          </label>
        </form>
      ) : (
        <button
          type="button"
          className="ico"
          aria-label="Add a subject"
          onClick={() => setAdding(true)}
        >
          <Icon name="plus" className="i-s" />
        </button>
      )}
      <span className="micro ink-3 num keep">{rateWords(rate)}/s</span>
    </>
  )
}

/** Keeps the end in view while it is wanted; scrolling up lets go of it. */
function useFollow(
  count: unknown,
  follow: boolean,
  onFollow: (on: boolean) => void,
): {
  ref: React.RefObject<HTMLDivElement | null>
  onScroll: () => void
} {
  const ref = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const el = ref.current
    if (el && follow) el.scrollTop = el.scrollHeight
  }, [count, follow])
  const onScroll = (): void => {
    const el = ref.current
    if (!el) return
    const atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 4
    if (follow !== atEnd) onFollow(atEnd)
  }
  return { ref, onScroll }
}

function isTrouble(e: Envelope): boolean {
  const { family, what } = parseSubject(e.subject)
  if (family === 'agent') return what === 'error'
  return (
    /^ops\.(limit-reached|overflow)$/.test(e.subject) ||
    /"state":"(down|incompatible)"/.test(short(e.data))
  )
}

const short = (data: unknown): string => JSON.stringify(data)?.slice(0, 400) ?? ''
const clockOf = (iso: string): string => {
  const at = new Date(iso)
  return Number.isNaN(at.getTime()) ? '' : at.toLocaleTimeString([], { hour12: false })
}

interface ListProps {
  follow: boolean
  onFollow: (on: boolean) => void
}

function Events({ follow, onFollow }: ListProps) {
  const { watchTail } = useOpsActions()
  const tail = useOps((s) => s.tail)
  const error = useOps((s) => s.tailError)
  const patterns = useOps((s) => s.patterns)
  useEffect(() => watchTail(), [watchTail])
  const { ref, onScroll } = useFollow(tail, follow, onFollow)
  // Not followed, the list stands still: only the newest few hundred are kept.
  const [held, setHeld] = useState(tail)
  if (follow && held !== tail) setHeld(tail)
  const shown = follow ? tail : held
  return (
    <div
      className="grow scroll tail-list"
      role="log"
      aria-label="Event tail"
      aria-live="off"
      tabIndex={0}
      ref={ref}
      onScroll={onScroll}
    >
      {shown.map((e) => (
        <div key={`${e.seq}`} className={isTrouble(e) ? 'ev bad' : 'ev'}>
          <span>{clockOf(e.time)}</span>
          <span>{grouped(e.seq)}</span>
          <span className="cut" title={e.subject}>
            {e.subject}
          </span>
          <span className="cut mut" title={short(e.data)}>
            {short(e.data)}
          </span>
        </div>
      ))}
      {shown.length === 0 && (
        <p className="none">
          {error !== ''
            ? error
            : patterns.length === 0
              ? 'No subject is followed. Add one to see its events.'
              : 'No event since this page was opened.'}
        </p>
      )}
    </div>
  )
}

const levels: readonly { id: LogFilter['level']; label: string }[] = [
  { id: '', label: 'All levels' },
  { id: 'info', label: 'Info' },
  { id: 'warn', label: 'Warnings' },
  { id: 'error', label: 'Errors' },
]

function LogFilters() {
  const filter = useOps((s) => s.logFilter)
  const { setLogFilter } = useOpsActions()
  const [text, setText] = useState(filter.contains)
  return (
    <form
      className="row"
      onSubmit={(e) => {
        e.preventDefault()
        setLogFilter({ ...filter, contains: text })
      }}
    >
      <select
        className="small"
        aria-label="Least level"
        value={filter.level}
        onChange={(e) => {
          const level = levels.find((l) => l.id === e.target.value)?.id ?? ''
          setLogFilter({ ...filter, level })
        }}
      >
        {levels.map((l) => (
          <option key={l.id} value={l.id}>
            {l.label}
          </option>
        ))}
      </select>
      <label className="field soft small">
        <input
          aria-label="Lines that contain"
          placeholder="Contains"
          value={text}
          spellCheck={false}
          onChange={(e) => setText(e.target.value)}
          onBlur={() => text !== filter.contains && setLogFilter({ ...filter, contains: text })}
        />
      </label>
      {filter.actor !== '' && (
        <span className="chip edge code-s">
          {filter.actor}
          <button
            type="button"
            className="chip-x"
            aria-label={`Lines of all actors, not only ${filter.actor}`}
            onClick={() => setLogFilter({ ...filter, actor: '' })}
          >
            <Icon name="x" />
          </button>
        </span>
      )}
    </form>
  )
}

function Log({ follow, onFollow }: ListProps) {
  const { watchLog } = useOpsActions()
  const log = useOps((s) => s.log)
  useEffect(() => watchLog(), [watchLog])
  const { ref, onScroll } = useFollow(log, follow, onFollow)
  return (
    <div
      className="grow scroll tail-list"
      role="log"
      aria-label="Text log"
      aria-live="off"
      tabIndex={0}
      ref={ref}
      onScroll={onScroll}
    >
      {log?.lines.map((l) => (
        <div key={l.n} className={/^err/i.test(l.level) ? 'ev log bad' : 'ev log'}>
          <span>{clockOf(l.time)}</span>
          <span className={/^warn/i.test(l.level) ? 'amber' : ''}>{l.level}</span>
          <span className="cut" title={l.text}>
            {l.text}
          </span>
          <span className="cut mut" title={fieldsOf(l.fields)}>
            {fieldsOf(l.fields)}
          </span>
        </div>
      ))}
      {log && log.error !== '' && <p className="none red">{log.error}</p>}
      {log && log.error === '' && log.lines.length === 0 && <p className="none">No such line.</p>}
      {log && log.file !== '' && <p className="none micro">All of it is in {log.file}</p>}
    </div>
  )
}

const fieldsOf = (fields: unknown): string =>
  typeof fields === 'object' && fields !== null
    ? Object.entries(fields)
        .map(([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`)
        .join(' ')
    : ''

/** Who is connected, and how far behind the log they are. */
function Windows() {
  const windows = useOps((s) => s.tree?.house?.windows)
  return (
    <div className="grow scroll" tabIndex={0} role="region" aria-label="Connected windows">
      <table className="win-table">
        <thead>
          <tr>
            <th>Window</th>
            <th>Role</th>
            <th>From</th>
            <th className="r">Subscriptions</th>
            <th className="r">Behind</th>
            <th className="r">Since</th>
          </tr>
        </thead>
        <tbody>
          {(windows ?? []).map((w) => (
            <tr key={w.viewer}>
              <td className="code-s">
                {w.viewer} <span className="ink-3">{w.kind}</span>
              </td>
              <td>{w.role === 'monitor' ? 'read-only' : w.role}</td>
              <td className="code-s">{w.remote}</td>
              <td className="r num">{w.subscriptions}</td>
              <td className={w.lag > 0 ? 'r num amber' : 'r num'}>
                {w.lag === 0 ? 'none' : grouped(w.lag)}
              </td>
              <td className="r num">{upWords(w.connected_s)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {windows?.length === 0 && <p className="none">Nobody is connected.</p>}
    </div>
  )
}
