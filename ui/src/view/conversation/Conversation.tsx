import { Suspense, lazy, useEffect, useMemo, useState } from 'react'
import type { ConversationState } from '../../store/reduce'
import type { PlanChoice } from '../../contract/model'
import { changedFiles, headOf, reviewCount } from '../../store/review'
import { isPlanReady, lastWords } from '../../store/transcript'
import { ErrorBoundary } from '../ErrorBoundary'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { installAnswerKeys, isTyping } from '../answerKeys'
import { useActions, useBench, useReviewActions, useReviews } from '../bench'
import { Composer } from '../composer/Composer'
import { CommentChips } from '../review/CommentChips'
import { ReviewBar } from '../review/ReviewBar'
import { useEditAnswer } from '../review/useEditAnswer'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { WorktreeBar } from '../worktree/WorktreeBar'
import { Header } from './Header'
import { FailedNote, SidecarNote } from './Notes'
import { PlanApproval } from './PlanApproval'
import { PlanPanel } from './PlanPanel'
import { Strip } from './Strip'
import { Transcript } from './Transcript'
import { TrimBar, useTrimmed } from './TrimBar'

// The diff view is a chunk of its own: most conversations never open it.
const Review = lazy(() => import('../review/Review').then((m) => ({ default: m.Review })))

/** The pane of one conversation. Keyed by its id where it is drawn. */
export function ConversationPane({ id }: { id: string }) {
  const opened = useBench((s) => s.conversations[id])
  const { open, reload } = useActions()
  useEffect(() => open(id), [id, open])
  return (
    <main className="pane">
      <ConnectionBanner />
      <ErrorBoundary sentence="This conversation encountered an error.">
        {opened?.phase === 'ready' ? (
          <Ready state={opened.state} />
        ) : opened?.phase === 'missing' ? (
          <div className="center">
            <div>
              <p className="strong">Conversation not found</p>
              <p className="ink-2">It may have been deleted.</p>
            </div>
            <Link className="btn no-underline" to={{ view: 'agents', screen: 'new' }}>
              New agent
            </Link>
          </div>
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
    </main>
  )
}

function Ready({ state }: { state: ConversationState }) {
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
  useFindKey(() => {
    close(id)
    setFinding(true)
  })
  const behindSidecar = row?.transport === 'sidecar'
  const planReady = isPlanReady(c)
  const shown = useTrimmed(state)
  const approve = (choice: PlanChoice): void => {
    void approvePlan(id, choice).then((reason) => reason !== '' && say(reason, 'error'))
  }
  const stopping = c.status === 'active' && (c.stopping || stopPressed)

  const { pending_permissions, pending_edits, project_path } = c
  useReviewKey(() => (openPath === undefined ? show(id) : close(id)))
  const head = useMemo(
    () => headOf({ pending_permissions, pending_edits, project_path }, openPath),
    [pending_permissions, pending_edits, project_path, openPath],
  )
  const edited = useMemo(() => changedFiles(c.messages, project_path), [c.messages, project_path])
  const count = useMemo(
    () => reviewCount(edited, pending_edits, project_path),
    [edited, pending_edits, project_path],
  )

  useEffect(
    () =>
      installAnswerKeys(
        document,
        // In the review the card is out of sight: a letter meant for a hunk must
        // not answer it.
        () => (openPath !== undefined && head?.kind === 'permission' ? undefined : head),
        (h, yes) => {
          if (h.kind === 'permission') {
            answer(id, h.id, yes ? 'allow_once' : 'deny')
            return
          }
          const edit = pending_edits.find((e) => e.id === h.id)
          if (edit) answerEdit(edit, yes)
        },
      ),
    [head, id, openPath, pending_edits, answer, answerEdit],
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
      <Header
        conversation={c}
        provider={row?.label ?? c.row}
        stopping={stopping}
        sidecar={behindSidecar}
        count={count}
        onFind={() => {
          close(id)
          setFinding(true)
        }}
      />
      {openPath === undefined ? (
        <>
          <PlanPanel items={c.plan} onApprove={planReady ? () => approve('execute') : undefined} />
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
      <LiveStatus state={state} stopping={stopping} />
      <footer className="stack">
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
          <ReviewBar conversationId={id} count={count} behind={pending_permissions.length > 0} />
        )}
        <WorktreeBar conversation={c} />
        <CommentChips conversationId={id} comments={c.diff_comments} />
        <Strip conversation={c} />
        <Composer key={id} state={state} blocked={blocked} />
      </footer>
    </>
  )
}

/** Alt+R opens the review and closes it again; the physical key counts. */
function useReviewKey(toggle: () => void): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || !e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return
      if (e.code !== 'KeyR' || isTyping(e.target)) return
      e.preventDefault()
      toggle()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
}

/** The browser's own search sees only what is near the view. */
function useFindKey(open: () => void): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || e.altKey || e.shiftKey || !(e.ctrlKey || e.metaKey)) return
      if (e.code !== 'KeyF') return
      e.preventDefault()
      open()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
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
