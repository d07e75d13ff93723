import { useEffect, useState } from 'react'
import type { Confirm, WorktreeStatus } from '../../contract/gen'
import type { Conversation } from '../../contract/model'
import type { WorktreeEnding } from '../../store/desk'
import { Icon } from '../Icon'
import { useActions } from '../bench'

const kept = 'Worktree kept — resume it any time from the fleet.'
// What a pull request goes to when nobody recorded where it came from.
const usualBase = 'main'

/** The four endings of a worktree, or how it ended. Source: ui.md 12. */
export function WorktreeBar({ conversation: c }: { conversation: Conversation }) {
  const worktree = c.worktree
  const id = c.session_id
  const { getWorktree, endWorktree } = useActions()
  const [status, setStatus] = useState<WorktreeStatus>()
  const [base, setBase] = useState(usualBase)
  const [busy, setBusy] = useState('')
  const [said, setSaid] = useState<{ text: string; bad: boolean }>()
  const [confirm, setConfirm] = useState<Confirm>()
  const active = c.status === 'active'
  const state = worktree?.state ?? ''
  useEffect(() => {
    if (state !== 'active' || active) return
    let stale = false
    void getWorktree(id).then((next) => {
      if (!stale) setStatus(next)
    })
    return () => {
      stale = true
    }
  }, [id, state, active, getWorktree])
  if (!worktree) return null

  const end = async (name: string, ending: WorktreeEnding): Promise<void> => {
    setBusy(name)
    setConfirm(undefined)
    const outcome = await endWorktree(id, ending)
    setBusy('')
    if (typeof outcome === 'string') {
      setSaid({ text: outcome, bad: true })
      return
    }
    setConfirm(outcome.confirm)
    setSaid(outcome.confirm ? undefined : { text: outcome.message, bad: false })
  }
  const why = active
    ? 'Wait for the turn to end, or stop it.'
    : busy !== ''
      ? 'Another ending is running.'
      : ''
  const wanted = status?.legacy ? base.trim() : ''
  const over = state !== 'active'

  return (
    <section className="wt-bar" aria-label="Worktree">
      <div className="wt-head">
        <Icon name="branch" className="i-s" />
        {!over && <span className="tag">worktree pending</span>}
        <span className="code-s cut" title={worktree.worktree_path}>
          {worktree.branch}
          {status?.legacy && ' · legacy (base ≈)'}
        </span>
        {worktree.pr_url !== undefined && (
          <a className="micro" href={worktree.pr_url} target="_blank" rel="noreferrer noopener">
            PR #{worktree.pr_number}
          </a>
        )}
        {over ? (
          <span className="ink-2 micro">{state === 'landed' ? 'Landed' : 'Discarded'}</span>
        ) : (
          <span className="wt-acts">
            {status?.legacy && (
              <label className="field">
                <span className="ink-3 keep">PR base</span>
                <input
                  aria-label="PR base"
                  value={base}
                  spellCheck={false}
                  onChange={(e) => setBase(e.target.value)}
                />
              </label>
            )}
            <Act
              label={busy === 'merge' ? 'Merging…' : 'Merge back'}
              why={why}
              run={() => void end('merge', { kind: 'merge', base: wanted })}
            />
            <Act
              label={busy === 'pr' ? 'Opening…' : 'Create PR'}
              why={why}
              run={() => void end('pr', { kind: 'pr', base: wanted })}
            />
            <Act label="Keep for later" why={why} run={() => setSaid({ text: kept, bad: false })} />
            <Act
              label={busy === 'discard' ? 'Discarding…' : 'Discard'}
              why={why}
              run={() => void end('discard', { kind: 'discard', confirmed: false })}
            />
          </span>
        )}
      </div>
      {confirm && (
        <div className="note red" role="alertdialog" aria-label={confirm.title || 'Discard?'}>
          <Icon name="warn" className="i-s" />
          <div className="grow">
            {[confirm.callout ?? '', ...confirm.lines].filter(Boolean).map((line) => (
              <p key={line} className="break">
                {line}
              </p>
            ))}
          </div>
          <span className="row keep">
            <button
              type="button"
              className="btn danger"
              onClick={() => void end('discard', { kind: 'discard', confirmed: true })}
            >
              {confirm.button}
            </button>
            <button type="button" className="btn quiet" onClick={() => setConfirm(undefined)}>
              Cancel
            </button>
          </span>
        </div>
      )}
      {said && (
        <p className={said.bad ? 'code-s red wt-said' : 'micro ink-2 wt-said'} role="status">
          {said.text}
        </p>
      )}
    </section>
  )
}

function Act(props: { label: string; why: string; run: () => void }) {
  return (
    <button
      type="button"
      className="btn sm"
      aria-disabled={props.why !== ''}
      title={props.why === '' ? undefined : props.why}
      onClick={() => props.why === '' && props.run()}
    >
      {props.label}
    </button>
  )
}
