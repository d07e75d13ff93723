import type { ReactNode } from 'react'
import { Suspense, lazy, memo, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { calmlySame } from '../../store/calm'
import type { ConversationState } from '../../store/reduce'
import type { PlanChoice } from '../../contract/model'
import type { ReviewCount } from '../../store/review'
import { changedFiles, headOf, reviewCount } from '../../store/review'
import { isPlanReady, lastWords } from '../../store/transcript'
import { ErrorBoundary } from '../ErrorBoundary'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { ActivePaneProvider, useActivePane } from '../activePane'
import { installAnswerKeys, isTyping, overlayOpen } from '../answerKeys'
import { useActions, useBench, useReviewActions, useReviews } from '../bench'
import { Composer } from '../composer/Composer'
import { CommentChips } from '../review/CommentChips'
import { ReviewBar } from '../review/ReviewBar'
import { useEditAnswer } from '../review/useEditAnswer'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { WorktreeBar } from '../worktree/WorktreeBar'
import { GapBar } from './GapBar'
import { Header } from './Header'
import { FailedNote, SidecarNote } from './Notes'
import { PlanApproval } from './PlanApproval'
import { PlanPanel } from './PlanPanel'
import { Strip } from './Strip'
import { Transcript } from './Transcript'
import { TrimBar, useTrimmed } from './TrimBar'
import { useKept } from './useKept'

// The diff view is a chunk of its own: most conversations never open it.
const Review = lazy(() => import('../review/Review').then((m) => ({ default: m.Review })))

/** The pane of one conversation. Keyed by its id where it is drawn. */
export function ConversationPane({ id }: { id: string }) {
  return (
    <main className="pane">
      <Opened
        id={id}
        missing={
          <div className="center">
            <div>
              <p className="strong">Conversation not found</p>
              <p className="ink-2">It may have been deleted.</p>
            </div>
            <Link className="btn no-underline" to={{ view: 'agents', screen: 'new' }}>
              New agent
            </Link>
          </div>
        }
      />
    </main>
  )
}

interface TileProps {
  id: string
  /** Whether the tile has the focus: the keys of a conversation go to one only. */
  active: boolean
  missing: ReactNode
}

/** The same in a tile of a workspace, which has a bar of its own. */
export function ConversationInTile({ id, active, missing }: TileProps) {
  return (
    <div className="pane grow">
      <ActivePaneProvider value={active}>
        <Opened id={id} missing={missing} tile />
      </ActivePaneProvider>
    </div>
  )
}

interface OpenedProps {
  id: string
  missing: ReactNode
  tile?: boolean
}

function Opened({ id, missing, tile = false }: OpenedProps) {
  const opened = useBench((s) => s.conversations[id])
  const { open, reload } = useActions()
  useEffect(() => open(id), [id, open])
  return (
    <>
      {!tile && <ConnectionBanner />}
      <ErrorBoundary sentence="This conversation encountered an error.">
        {opened?.phase === 'ready' ? (
          <Ready state={opened.state} tile={tile} />
        ) : opened?.phase === 'missing' ? (
          missing
        ) : opened?.phase === 'failed' ? (
          <div className="center" role="alert">
            <Icon name="warn" />
            <p>{opened.reason}</p>
            <button type="button" className="btn" onClick={() => reload(id)}>
              Retry
            </button>
          </div>
        ) : (
          <div className="center" role="status">
            <p className="ink-3">Opening…</p>
          </div>
        )}
      </ErrorBoundary>
    </>
  )
}

// What shows no transcript is not drawn again for every word of an answer.
const CalmHeader = memo(Header)
const CalmPlan = memo(PlanPanel)
const CalmStrip = memo(Strip)
const CalmComposer = memo(Composer)
const CalmBar = memo(ReviewBar)
const CalmWorktree = memo(WorktreeBar)

const sameCount = (a: ReviewCount, b: ReviewCount): boolean =>
  a.files === b.files && a.added === b.added && a.removed === b.removed && a.waiting === b.waiting

function Ready({ state, tile }: { state: ConversationState; tile: boolean }) {
  const active = useActivePane()
  const c = state.conversation
  const id = c.session_id
  const row = useBench((s) => s.providers?.find((p) => p.row === c.row))
  const sidecar = useBench((s) => s.sidecar)
  const stopPressed = useBench((s) => s.stopPressed[id] !== undefined)
  const { answer, approvePlan, say } = useActions()
  const { show, close } = useReviewActions()
  const answerEdit = useEditAnswer(id)
  const openPath = useReviews((s) => s.open[id])
  const [finding, setFinding] = useState(false)
  const openFind = useCallback(() => {
    close(id)
    setFinding(true)
  }, [close, id])
  useChord('KeyF', 'mod', openFind)
  const calm = useKept(state, calmlySame)
  const behindSidecar = row?.transport === 'sidecar'
  const planReady = isPlanReady(c)
  const shown = useTrimmed(state)
  const execute = useCallback(() => {
    const choice: PlanChoice = 'execute'
    void approvePlan(id, choice).then((reason) => reason !== '' && say(reason, 'error'))
  }, [approvePlan, id, say])
  const stopping = c.status === 'active' && (c.stopping || stopPressed)

  const { pending_permissions, pending_edits, project_path } = c
  useChord('KeyR', 'alt', () => (openPath === undefined ? show(id) : close(id)))
  const head = useMemo(
    () => headOf({ pending_permissions, pending_edits, project_path }, openPath),
    [pending_permissions, pending_edits, project_path, openPath],
  )
  // In the review the card is out of sight: a letter meant for a hunk must not
  // answer it.
  const passive = openPath !== undefined && head?.kind === 'permission'
  const edited = useMemo(() => changedFiles(c.messages, project_path), [c.messages, project_path])
  const counted = useMemo(
    () => reviewCount(edited, pending_edits, project_path),
    [edited, pending_edits, project_path],
  )
  const count = useKept(counted, sameCount)

  useEffect(
    () =>
      installAnswerKeys(
        document,
        () => (passive || !active ? undefined : head),
        (h, yes) => {
          if (h.kind === 'permission') {
            answer(id, h.id, yes ? 'allow_once' : 'deny')
            return
          }
          const edit = pending_edits.find((e) => e.id === h.id)
          if (edit) answerEdit(edit, yes)
        },
      ),
    [head, id, active, passive, pending_edits, answer, answerEdit],
  )

  const blocked = (() => {
    if (c.retired_notice !== '') return 'This provider is no longer offered.'
    if (!behindSidecar) return ''
    switch (sidecar?.state) {
      case 'restarting':
        return 'Back in about half a second. You can write already.'
      case 'down':
        return 'The sidecar is down. Reset it to send.'
      case 'incompatible':
        return 'The sidecar is too old. Rebuild it, then reset it.'
      case 'not_started':
      case 'starting':
      case 'ready':
      case undefined:
        return ''
    }
  })()

  return (
    <>
      {!tile && (
        <CalmHeader
          conversation={calm.conversation}
          provider={row?.label ?? c.row}
          stopping={stopping}
          sidecar={behindSidecar}
          count={count}
          onFind={openFind}
        />
      )}
      {openPath === undefined ? (
        <>
          <CalmPlan items={c.plan} onApprove={planReady ? execute : undefined} />
          <GapBar id={id} />
          <TrimBar id={id} hidden={shown.hidden} />
          <Transcript
            key={id}
            state={shown.state}
            readOnly={false}
            finding={finding}
            onFound={() => setFinding(false)}
          />
        </>
      ) : (
        <ErrorBoundary sentence="The review encountered an error.">
          <Suspense fallback={<div className="center" role="status" />}>
            <Review state={state} openPath={openPath} />
          </Suspense>
        </ErrorBoundary>
      )}
      {active && <LiveStatus state={state} stopping={stopping} />}
      <footer className={passive ? 'stack passive' : 'stack'}>
        {c.retired_notice !== '' && (
          <p className="note amber mb-2" role="note">
            <Icon name="info" className="i-s" />
            <span className="grow">{c.retired_notice}</span>
          </p>
        )}
        {behindSidecar && sidecar && <SidecarNote sidecar={sidecar} />}
        <FailedNote conversation={c} />
        {planReady && <PlanApproval conversationId={id} />}
        {openPath === undefined && (
          <CalmBar conversationId={id} count={count} behind={pending_permissions.length > 0} />
        )}
        <CalmWorktree conversation={calm.conversation} />
        <CommentChips conversationId={id} comments={c.diff_comments} />
        <CalmStrip conversation={calm.conversation} />
        <CalmComposer key={id} state={calm} blocked={blocked} />
      </footer>
    </>
  )
}

/**
 * A chord of this pane, by the physical key. Ctrl+F because the browser's own
 * search sees only what is near the view; an Alt chord is left to a field.
 */
function useChord(code: string, held: 'alt' | 'mod', act: () => void): void {
  const active = useActivePane()
  const newest = useRef(act)
  useEffect(() => {
    newest.current = act
  })
  useEffect(() => {
    if (!active) return
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || e.shiftKey || e.code !== code || overlayOpen(document)) return
      // On a Mac, Ctrl+F moves the caret of a field; Command is the chord there.
      const mac = /mac/i.test(navigator.platform)
      const mod = mac ? e.metaKey && !e.ctrlKey : e.ctrlKey || e.metaKey
      if (held === 'alt' ? !e.altKey || mod || isTyping(e.target) : e.altKey || !mod) return
      e.preventDefault()
      newest.current()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [active, code, held])
}

/** One polite sentence for those who listen instead of look. */
function LiveStatus({ state, stopping }: { state: ConversationState; stopping: boolean }) {
  const c = state.conversation
  const prompt = c.pending_permissions[0]
  const edit = c.pending_edits[0]
  const names = { active: 'Active', idle: 'Idle', done: 'Done', failed: 'Failed' }
  const last = c.messages.findLast((m) => m.role === 'assistant')
  const settled = last && !last.is_streaming ? lastWords(last.content) : ''
  const words = prompt
    ? `${names[c.status]}. Waiting for your answer: ${prompt.name}.`
    : edit
      ? `${names[c.status]}. Waiting for your answer: edit of ${edit.path}.`
      : stopping
        ? 'Stopping…'
        : `${names[c.status]}. ${settled}`
  return (
    <p className="sr" role="status" aria-live="polite">
      {words}
    </p>
  )
}
