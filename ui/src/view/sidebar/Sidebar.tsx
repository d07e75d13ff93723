import type { KeyboardEvent } from 'react'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Summary } from '../../contract/model'
import type { Filter } from '../../store/sections'
import { counts, filters, sectionsOf } from '../../store/sections'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { useActions, useBench, useNow } from '../bench'
import { useNavigation } from '../navigate'
import { ConnectionChip } from '../status/ConnectionChip'
import { DeleteDialog } from './DeleteDialog'
import { SidebarRow } from './SidebarRow'

/** The list of conversations, those that need somebody first. */
export function Sidebar() {
  const summaries = useBench((s) => s.summaries)
  const listError = useBench((s) => s.listError)
  const providers = useBench((s) => s.providers)
  const unread = useBench((s) => s.unread)
  const { reloadList } = useActions()
  const { route, go } = useNavigation()
  const [filter, setFilter] = useState<Filter>('all')
  const [search, setSearch] = useState('')
  const [deleting, setDeleting] = useState<Summary>()
  const searchField = useRef<HTMLInputElement>(null)
  // Ages are told in minutes.
  const now = useNow(30_000)
  const said = useSaid(search)
  // The list is ordered by facts, not by the clock.
  const sections = useMemo(
    () => sectionsOf(summaries ?? [], filter, search, said),
    [summaries, filter, search, said],
  )
  const count = useMemo(() => counts(summaries ?? []), [summaries])
  const need = (summaries ?? []).filter((s) => s.needs_you > 0 && !s.archived).length
  const current = route.view === 'agents' && route.screen === 'conversation' ? route.id : ''
  const labelOf = (row: string): string => providers?.find((p) => p.row === row)?.label ?? row

  return (
    <aside className="side" aria-label="Conversations">
      <header className="bar">
        <h2>Agents</h2>
        <span className="ink-3 num">{count.all}</span>
        {need > 0 && (
          <span className="count" role="img" aria-label={`${need} need you`}>
            {need}
          </span>
        )}
      </header>
      {summaries && summaries.length > 0 && (
        <>
          <div className="find">
            <label className="field soft">
              <Icon name="search" className="i-s" />
              <input
                ref={searchField}
                id="conversation-search"
                placeholder="Search conversations…"
                aria-label="Search conversations"
                value={search}
                onChange={(e) => setSearch(e.target.value)}
                onKeyDown={(e) => {
                  if (e.key !== 'Escape') return
                  setSearch('')
                  e.currentTarget.blur()
                }}
              />
              {search === '' ? (
                <kbd className="kbd hide-narrow">/</kbd>
              ) : (
                <button
                  type="button"
                  className="ico"
                  aria-label="Clear search"
                  onClick={() => setSearch('')}
                >
                  <Icon name="x" className="i-s" />
                </button>
              )}
            </label>
          </div>
          <div className="filters" role="tablist" aria-label="Filter">
            {filters.map((f) => (
              <button
                key={f.id}
                type="button"
                role="tab"
                aria-selected={filter === f.id}
                onClick={() => setFilter(f.id)}
              >
                {f.label}
                <span className="num">{count[f.id]}</span>
              </button>
            ))}
          </div>
        </>
      )}
      <div className="list scroll" onKeyDown={moveInList}>
        {sections.map((section) => (
          <section key={section.key} aria-label={section.title}>
            <h3 className={section.need ? 'need' : ''}>
              {!section.need && <Icon name="folder" className="i-s" />}
              <span className="cut">{section.title}</span>
            </h3>
            {section.rows.map((s) => (
              <SidebarRow
                key={s.session_id}
                summary={s}
                current={s.session_id === current}
                why={section.need}
                unread={unread.includes(s.session_id)}
                provider={labelOf(s.row)}
                now={now}
                onDelete={() => setDeleting(s)}
              />
            ))}
          </section>
        ))}
        {listError !== '' && (
          <div className="none" role="alert">
            <p>{listError}</p>
            <button type="button" className="btn sm" onClick={reloadList}>
              Retry
            </button>
          </div>
        )}
        {summaries && sections.length === 0 && (
          <div className="none">
            <Nothing
              search={search}
              searching={said === undefined}
              total={summaries.length}
              onClear={() => setSearch('')}
            />
          </div>
        )}
      </div>
      <div className="foot">
        <Link className="btn wide no-underline" to={{ view: 'agents', screen: 'new' }}>
          <Icon name="plus" className="i-s" />
          New agent
          <span className="grow" />
          <kbd className="kbd hide-narrow">Alt+N</kbd>
        </Link>
      </div>
      <ConnectionChip />
      {deleting && (
        <DeleteDialog
          summary={deleting}
          onClose={() => setDeleting(undefined)}
          onDeleted={() => {
            if (deleting.session_id === current) go({ view: 'agents', screen: 'new' })
          }}
        />
      )}
    </aside>
  )
}

/** The arrows move from row to row; Tab leaves the list as ever. */
function moveInList(e: KeyboardEvent<HTMLDivElement>): void {
  const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
  if (step === 0 || e.altKey || e.ctrlKey || e.metaKey || !(e.target instanceof HTMLAnchorElement))
    return
  const rows = Array.from(e.currentTarget.querySelectorAll<HTMLElement>('a.item'))
  const next = rows[rows.indexOf(e.target) + step]
  if (!next) return
  e.preventDefault()
  next.focus()
}

// The service reads the messages when the typing rests. In ms.
const restMs = 250
const nobody: readonly string[] = []

/** Who says the words in a message; undefined while it is being looked up. */
function useSaid(search: string): readonly string[] | undefined {
  const { search: ask } = useActions()
  const words = search.trim()
  const [answer, setAnswer] = useState<{ words: string; ids: readonly string[] }>()
  useEffect(() => {
    if (words === '') return
    let stale = false
    const timer = setTimeout(() => {
      void ask(words).then((found) => {
        const ids = typeof found === 'string' ? nobody : found.hits.map((h) => h.session_id)
        if (!stale) setAnswer({ words, ids })
      })
    }, restMs)
    return () => {
      stale = true
      clearTimeout(timer)
    }
  }, [words, ask])
  if (words === '') return nobody
  return answer?.words === words ? answer.ids : undefined
}

function Nothing(props: {
  search: string
  searching: boolean
  total: number
  onClear: () => void
}) {
  if (props.search.trim() !== '') {
    if (props.searching) return <p className="micro">Searching…</p>
    return (
      <>
        <p className="mid">No conversation says “{props.search.trim()}”</p>
        <p className="micro">Searched titles, paths and messages, archived ones too.</p>
        <button type="button" className="btn sm" onClick={props.onClear}>
          Clear search
        </button>
      </>
    )
  }
  return props.total === 0 ? (
    <>
      <p className="mid">No agents yet</p>
      <p className="micro">Pick a project and say what you want done.</p>
    </>
  ) : (
    <p className="micro">Nothing here.</p>
  )
}
