import { useEffect, useState } from 'react'
import type { PlanChoice } from '../../contract/model'
import { Icon } from '../Icon'
import { useActions } from '../bench'
import { useActivePane } from '../activePane'
import { isTyping, overlayOpen } from '../answerKeys'

const choices: { choice: PlanChoice; label: string; hint: string }[] = [
  { choice: 'execute', label: 'Approve and execute', hint: 'Auto-run safe tools' },
  {
    choice: 'accept_edits',
    label: 'Approve and accept edits',
    hint: 'Edits without asking; ask on shell',
  },
  { choice: 'review_each', label: 'Approve, review each edit', hint: 'Step-by-step approval' },
  { choice: 'keep_planning', label: 'Keep planning', hint: 'Refine before committing' },
]

/** The four ways on from a plan; the service runs the steps of each. */
export function PlanApproval({ conversationId }: { conversationId: string }) {
  const { approvePlan } = useActions()
  const active = useActivePane()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const choose = (choice: PlanChoice): void => {
    if (busy) return
    setBusy(true)
    void approvePlan(conversationId, choice).then((reason) => {
      setFailure(reason)
      setBusy(false)
    })
  }
  useEffect(() => {
    if (!active) return
    const onKey = (e: KeyboardEvent): void => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || isTyping(e.target)) return
      if (e.defaultPrevented || e.repeat || overlayOpen(document)) return
      const chosen = choices[Number(e.key) - 1]
      if (!chosen || !/^[1-4]$/.test(e.key)) return
      e.preventDefault()
      choose(chosen.choice)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
  const title = 'Approve and proceed with this plan?'
  return (
    <div className="menu plan-menu mb-2" role="group" aria-label={title}>
      <h4>{title}</h4>
      {choices.map((c, i) => (
        <button
          key={c.choice}
          type="button"
          className="mi"
          aria-disabled={busy}
          onClick={() => choose(c.choice)}
        >
          <span className="grow">
            <span className="mid">{c.label}</span>
            <small>{c.hint}</small>
          </span>
          <kbd className="kbd hide-narrow">{i + 1}</kbd>
        </button>
      ))}
      {failure !== '' && (
        <p className="note red" role="alert">
          <Icon name="warn" className="i-s" />
          <span>{failure}</span>
        </p>
      )}
    </div>
  )
}
