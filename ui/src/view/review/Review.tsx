import { useEffect, useMemo, useRef, useState } from 'react'
import type { DiffComment } from '../../contract/gen'
import type { Hunk } from '../../store/hunks'
import type { ConversationState } from '../../store/reduce'
import type { ReviewItem, Stop } from '../../store/review'
import {
  appliedHunks,
  headOf,
  pendingHunks,
  reviewCount,
  changedFiles,
  stopsOf,
} from '../../store/review'
import { fileKey } from '../../store/reviews'
import { projectRelative } from '../../store/tools'
import { useActions, useReviewActions, useReviews } from '../bench'
import { StatusMark } from '../status/StatusMark'
import { AppliedFile } from './AppliedFile'
import { FileList } from './FileList'
import type { Place } from './HunkRows'
import { placeOf } from './HunkRows'
import { PendingFile } from './PendingFile'
import { useReviewKeys } from './useReviewKeys'

/** A stop of the keys, and the line of it that they are on. */
export interface Cursor extends Stop {
  line: number | undefined
}

interface Props {
  state: ConversationState
  /** The file to begin with; '' for the first. */
  openPath: string
}

const noViewed: Record<string, string> = {}

/** Everything that was changed or waits to be, in one place over the transcript. */
export function Review({ state, openPath }: Props) {
  const c = state.conversation
  const id = c.session_id
  const { loadFiles, close, show, tick, view, setComments } = useReviewActions()
  const { say } = useActions()
  const read = useReviews((s) => s.files[id])
  const texts = useReviews((s) => s.texts)
  const viewed = useReviews((s) => s.viewed[id]) ?? noViewed
  useFreshFiles(id, state.edits, loadFiles)

  const items = useMemo((): ReviewItem[] => {
    const pending = c.pending_edits.map((edit): ReviewItem => ({
      section: 'pending',
      key: edit.id,
      path: projectRelative(edit.path, c.project_path),
      edit,
      hunks: pendingHunks(edit),
    }))
    const applied = (read?.value ?? []).map((file): ReviewItem => {
      const text = texts[fileKey(id, file.path)]?.value
      return {
        section: 'applied',
        key: file.path,
        path: file.path,
        file,
        text,
        hunks: text ? appliedHunks(text) : [],
        viewed: file.hash !== '' && viewed[file.path] === file.hash,
      }
    })
    return [...pending, ...applied]
  }, [c.pending_edits, c.project_path, read, texts, viewed, id])
  const stops = useMemo(() => stopsOf(items), [items])

  const [wanted, setCursor] = useState<Cursor>({ item: 0, hunk: 0, line: undefined })
  const cursor = useMemo(() => nearest(wanted, stops), [wanted, stops])
  const [writing, setWriting] = useState<Place>()
  const root = useRef<HTMLElement>(null)
  const reached = useArrival(root, items, openPath, (item) => {
    setCursor({ item, hunk: stops.find((s) => s.item === item)?.hunk ?? -1, line: undefined })
  })

  const go = (to: Cursor): void => {
    setWriting(undefined)
    setCursor(to)
    const item = items[to.item]
    if (item && item.path !== openPath) {
      reached(item.path)
      show(id, item.path)
    }
    const place = root.current?.querySelector<HTMLElement>(`[data-stop="${to.item}/${to.hunk}"]`)
    place?.focus({ preventScroll: true })
    place?.scrollIntoView({ block: 'nearest' })
  }

  const remark = (place: Place, text: string): void => {
    const path = items[cursor.item]?.path ?? ''
    const fresh: DiffComment = {
      id: crypto.randomUUID(),
      path,
      line: place.line,
      side: place.side,
      text: text.replace(/\s*\n\s*/g, ' '),
      created_at: Date.now(),
    }
    void setComments(id, [...c.diff_comments, fresh]).then((reason) => {
      if (reason !== '') say(reason, 'error')
      else setWriting(undefined)
    })
  }

  useEffect(() => {
    if (cursor.line === undefined) return
    root.current?.querySelector('.dl.at')?.scrollIntoView({ block: 'nearest' })
  }, [cursor])

  const here = items[cursor.item]
  const hunk = here?.hunks[cursor.hunk]
  useReviewKeys({
    step: (by) => {
      const at = stops.findIndex((s) => s.item === cursor.item && s.hunk === cursor.hunk)
      const next = stops[Math.min(Math.max(at + by, 0), stops.length - 1)]
      if (next) go({ ...next, line: undefined })
    },
    line: (by) => {
      if (!hunk) return
      const next = cursor.line === undefined ? firstLine(hunk) : cursor.line + by
      const line = Math.min(Math.max(next, 0), hunk.lines.length - 1)
      setCursor({ ...cursor, line })
    },
    toggle: () => {
      if (here?.section === 'pending' && hunk && here.edit.before !== undefined)
        tick(here.edit, cursor.hunk)
    },
    comment: () => {
      if (!hunk) return
      const line = hunk.lines[cursor.line ?? firstLine(hunk)]
      if (line) setWriting(placeOf(line))
    },
    viewed: () => {
      if (here?.section !== 'applied' || here.file.hash === '') return
      view(id, here.path, here.viewed ? '' : here.file.hash)
      setCursor({ ...cursor, hunk: here.viewed ? 0 : -1, line: undefined })
    },
    close: () => close(id),
  })

  const count = read?.value
    ? countOf(items)
    : reviewCount(changedFiles(c.messages, c.project_path), c.pending_edits, c.project_path)
  const applied = items.filter((it) => it.section === 'applied')
  const seen = applied.filter((it) => it.section === 'applied' && it.viewed).length
  const head = headOf(c, openPath)
  const comments = (path: string): DiffComment[] => c.diff_comments.filter((x) => x.path === path)
  const draw = (it: ReviewItem, i: number) => {
    const shared = {
      conversationId: id,
      item: i,
      comments: comments(it.path),
      cursor,
      writing,
      onWrite: (n: number, place: Place | undefined) => {
        setCursor({ item: i, hunk: n, line: undefined })
        setWriting(place)
      },
      onComment: remark,
    }
    return it.section === 'pending' ? (
      <PendingFile
        key={it.key}
        {...shared}
        path={it.path}
        edit={it.edit}
        hunks={it.hunks}
        armed={head?.kind === 'edit' && head.id === it.edit.id}
      />
    ) : (
      <AppliedFile
        key={it.key}
        {...shared}
        file={it.file}
        text={it.text}
        hunks={it.hunks}
        viewed={it.viewed}
      />
    )
  }
  return (
    <>
      <div className="bar review-bar">
        <h2>Review</h2>
        <span className="ink-2 num keep">
          {count.files} {count.files === 1 ? 'file' : 'files'}
        </span>
        <span className="num keep">
          <span className="plus">+{count.added}</span>{' '}
          <span className="minus">−{count.removed}</span>
        </span>
        {applied.length > 0 && (
          <>
            <span className="sep" />
            <span className="micro ink-3 num keep">
              {seen} of {applied.length} viewed
            </span>
          </>
        )}
        <span className="grow" />
        <Tips />
        <button type="button" className="btn quiet sm" onClick={() => close(id)}>
          Close <kbd className="kbd">Esc</kbd>
        </button>
      </div>
      {c.pending_permissions.length > 0 && (
        <div className="rollup review-wait" role="note">
          <StatusMark kind="need" />
          <span className="mid grow">
            {c.pending_permissions.length === 1
              ? '1 permission waits in the transcript; it is answered first.'
              : `${c.pending_permissions.length} permissions wait in the transcript; they are answered first.`}
          </span>
          <button type="button" className="btn sm" onClick={() => close(id)}>
            Show
          </button>
        </div>
      )}
      <section className="review" aria-label="Review" ref={root} tabIndex={-1}>
        <FileList
          items={items}
          current={cursor.item}
          onPick={(item) => {
            const stop = stops.find((s) => s.item === item)
            if (stop) go({ ...stop, line: undefined })
          }}
        />
        <div className="scroll review-body" tabIndex={-1}>
          {c.pending_edits.length > 0 && (
            <h3 className="sect wait">
              <StatusMark kind="need" />
              Awaiting your review — the agent is parked until you answer
            </h3>
          )}
          {items.map((it, i) => (it.section === 'pending' ? draw(it, i) : null))}
          {applied.length > 0 && <h3 className="sect">Applied — on disk already</h3>}
          {items.map((it, i) => (it.section === 'applied' ? draw(it, i) : null))}
          {read && read.reason !== '' && (
            <div className="center" role="alert">
              <p>{read.reason}</p>
              <button type="button" className="btn" onClick={() => void loadFiles(id)}>
                Retry
              </button>
            </div>
          )}
          {items.length === 0 && (!read || read.loading) && (
            <p className="nothing" role="status">
              Loading the edits…
            </p>
          )}
          {items.length === 0 && read && !read.loading && read.reason === '' && (
            <p className="nothing">No file edits in this conversation yet.</p>
          )}
        </div>
      </section>
    </>
  )
}

/** The line to begin with: of the new text if there is one. */
function firstLine(hunk: Hunk): number {
  const added = hunk.lines.findIndex((l) => l.type === 'add')
  return added >= 0 ? added : hunk.lines.findIndex((l) => l.type === 'del')
}

/** What the files themselves say, once they were read. */
function countOf(items: ReviewItem[]): { files: number; added: number; removed: number } {
  const sum = (f: (it: ReviewItem) => number): number => items.reduce((n, it) => n + f(it), 0)
  const hunks = (it: ReviewItem, f: (h: Hunk) => number): number =>
    it.hunks.reduce((n, h) => n + f(h), 0)
  return {
    files: new Set(items.map((it) => it.path)).size,
    added: sum((it) =>
      it.section === 'applied' ? it.file.lines_added : hunks(it, (h) => h.added),
    ),
    removed: sum((it) =>
      it.section === 'applied' ? it.file.lines_removed : hunks(it, (h) => h.removed),
    ),
  }
}

/** Where the keys are when what they stood on has changed under them. */
function nearest(wanted: Cursor, stops: Stop[]): Cursor {
  const mine = stops.filter((s) => s.item === wanted.item)
  if (mine.some((s) => s.hunk === wanted.hunk)) return wanted
  const stop = (wanted.hunk < 0 ? mine[0] : mine.at(-1)) ?? stops.at(-1)
  return stop ? { ...stop, line: undefined } : { item: 0, hunk: -1, line: undefined }
}

function Tips() {
  const keys: [string[], string][] = [
    [['J', 'K'], 'hunk'],
    [['X'], 'keep or not'],
    [['C'], 'comment'],
    [['V'], 'viewed'],
  ]
  return (
    <>
      {keys.map(([names, does]) => (
        <span key={does} className="micro ink-3 hide-tight keep">
          {names.map((k) => (
            <kbd key={k} className="kbd">
              {k}
            </kbd>
          ))}{' '}
          {does}
        </span>
      ))}
      <span className="sep hide-tight" />
    </>
  )
}

/** Reads the list when the conversation wrote something, and on coming back. */
function useFreshFiles(id: string, edits: number, load: (id: string) => Promise<void>): void {
  useEffect(() => {
    void load(id)
  }, [id, edits, load])
  useEffect(() => {
    const again = (): void => {
      if (document.visibilityState === 'visible') void load(id)
    }
    addEventListener('focus', again)
    return () => removeEventListener('focus', again)
  }, [id, load])
}

/** Brings the file in view that the review was opened at, once it is there. */
function useArrival(
  root: React.RefObject<HTMLElement | null>,
  items: ReviewItem[],
  path: string,
  arrive: (item: number) => void,
): (path: string) => void {
  const arrived = useRef<string>(undefined)
  const item = path === '' ? 0 : items.findIndex((it) => it.path === path)
  const there = items[item] !== undefined
  useEffect(() => {
    if (arrived.current === path || !there) return
    const first = arrived.current === undefined
    arrived.current = path
    arrive(item)
    const place = root.current?.querySelector<HTMLElement>(`[data-stop^="${item}/"]`)
    if (first) root.current?.focus({ preventScroll: true })
    if (path !== '') place?.scrollIntoView({ block: 'start' })
  })
  return (at) => {
    arrived.current = at
  }
}
