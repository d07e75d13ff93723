import { useEffect, useMemo, useState } from 'react'
import type { SearchHit, SearchResult } from '../../contract/gen'
import type { Filter } from '../../store/sections'
import { counts, filters, homeOf, markOf, passes } from '../../store/sections'
import { age, baseName } from '../../store/format'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { useActions, useBench, useNow } from '../bench'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { StatusMark } from '../status/StatusMark'

// A search begins when the typing rests. In ms.
const restMs = 250

/** Every conversation, by date, and a search that reads what was said. */
export function History() {
  const summaries = useBench((s) => s.summaries)
  const [filter, setFilter] = useState<Filter>('all')
  const [query, setQuery] = useState('')
  const now = useNow(30_000)
  const words = query.trim()
  const found = useSearch(words)
  const rows = useMemo(
    () =>
      (summaries ?? [])
        .filter((s) => passes(s, filter))
        .sort((a, b) => b.updated_at.localeCompare(a.updated_at)),
    [summaries, filter],
  )
  const count = useMemo(() => counts(summaries ?? []), [summaries])
  return (
    <main className="pane">
      <ConnectionBanner />
      <header className="bar">
        <h1>History</h1>
        <span className="grow" />
        <label className="field soft set-search">
          <Icon name="search" className="i-s" />
          <input
            id="history-search"
            aria-label="Search everything that was said"
            placeholder="Search titles, paths and messages"
            value={query}
            onChange={(e) => setQuery(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Escape') return
              setQuery('')
              e.currentTarget.blur()
            }}
          />
          <kbd className="kbd hide-narrow">/</kbd>
        </label>
      </header>
      <div className="scroll grow">
        <div className="set-body history-list">
          {words === '' ? (
            <>
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
              <ul className="panel" aria-label="Conversations">
                {rows.map((s) => (
                  <li key={s.session_id}>
                    <Link
                      className="item past"
                      to={{ view: 'agents', screen: 'conversation', id: s.session_id }}
                    >
                      <StatusMark {...markOf(s)} />
                      <span className="cut">{s.title || 'Untitled'}</span>
                      <span className="cut micro ink-3" title={homeOf(s)}>
                        {baseName(homeOf(s))}
                      </span>
                      <span className="cut micro ink-3">{s.model}</span>
                      <span className="t">{age(s.updated_at, now)}</span>
                    </Link>
                  </li>
                ))}
                {summaries && rows.length === 0 && <li className="none">Nothing here.</li>}
              </ul>
            </>
          ) : (
            <Found words={words} found={found} />
          )}
        </div>
      </div>
    </main>
  )
}

type Answer = SearchResult | string | undefined

function useSearch(words: string): Answer {
  const { search } = useActions()
  const [answer, setAnswer] = useState<{ words: string; result: SearchResult | string }>()
  useEffect(() => {
    if (words === '') return
    let stale = false
    const timer = setTimeout(() => {
      void search(words).then((result) => {
        if (!stale) setAnswer({ words, result })
      })
    }, restMs)
    return () => {
      stale = true
      clearTimeout(timer)
    }
  }, [words, search])
  return answer?.words === words ? answer.result : undefined
}

function Found({ words, found }: { words: string; found: Answer }) {
  if (found === undefined) return <p role="status">Searching…</p>
  if (typeof found === 'string') {
    return (
      <p className="note red" role="alert">
        <Icon name="warn" className="i-s" />
        <span>{found}</span>
      </p>
    )
  }
  return (
    <>
      <p className="ink-2 mb-2" role="status">
        {found.hits.length === 0
          ? `Nothing says “${words}”.`
          : `${found.hits.length} ${found.hits.length === 1 ? 'conversation' : 'conversations'}`}
        {!found.complete && ' The search was cut short; more words find more.'}
      </p>
      {found.hits.length > 0 && (
        <ul className="panel" aria-label="Found">
          {found.hits.map((hit) => (
            <li key={hit.session_id}>
              <Link
                className="item hit"
                to={{ view: 'agents', screen: 'conversation', id: hit.session_id }}
              >
                <span className="cut mid">{hit.title || 'Untitled'}</span>
                <span className="micro ink-2 cut">
                  <Snippet hit={hit} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Snippet({ hit }: { hit: SearchHit }) {
  const end = hit.start + hit.length
  return (
    <>
      {hit.snippet.slice(0, hit.start)}
      <mark>{hit.snippet.slice(hit.start, end)}</mark>
      {hit.snippet.slice(end)}
    </>
  )
}
