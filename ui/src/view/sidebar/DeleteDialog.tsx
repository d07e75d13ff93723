import { Dialog } from 'radix-ui'
import { useEffect, useState } from 'react'
import type { Confirm, Worktree } from '../../contract/gen'
import type { Summary } from '../../contract/model'
import { Icon } from '../Icon'
import { useActions } from '../bench'

interface Props {
  summary: Summary
  onClose: () => void
  onDeleted: () => void
}

/** Asks before a conversation, and the worktree it works in, is lost. */
export function DeleteDialog({ summary, onClose, onDeleted }: Props) {
  const { remove, confirmDelete } = useActions()
  const id = summary.session_id
  const [answer, setAnswer] = useState<Confirm | 'asking' | undefined>('asking')
  const [busy, setBusy] = useState(false)
  const worktree = summary.worktree?.state === 'active' ? summary.worktree : undefined
  useEffect(() => {
    let stale = false
    void confirmDelete(id).then((confirm) => {
      if (!stale) setAnswer(confirm)
    })
    return () => {
      stale = true
    }
  }, [id, confirmDelete])
  const confirm = worktree && answer === 'asking' ? checking : confirmOf(answer, worktree)
  const run = async (): Promise<void> => {
    setBusy(true)
    const gone = await remove(id)
    setBusy(false)
    onClose()
    if (gone) onDeleted()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-scrim" />
        <Dialog.Content className="dialog">
          <Dialog.Title>Delete conversation?</Dialog.Title>
          <Dialog.Description className="ink-2">
            “{summary.title || 'Untitled'}” and its transcript are removed for good. A running turn
            is stopped first.
          </Dialog.Description>
          {confirm.callout !== undefined && (
            <div className="note red">
              <Icon name="warn" className="i-s" />
              <div>
                <p className="mid">{confirm.callout}</p>
                {confirm.lines.map((line) => (
                  <p key={line} className="break">
                    {line}
                  </p>
                ))}
              </div>
            </div>
          )}
          <div className="acts">
            <Dialog.Close className="btn quiet">Cancel</Dialog.Close>
            <button type="button" className="btn danger" disabled={busy} onClick={() => void run()}>
              {confirm.button}
            </button>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

const callout = "Deleting also discards this conversation's worktree"

const checking: Confirm = {
  title: '',
  callout,
  lines: ["Checking this conversation's worktree for uncommitted changes…"],
  button: 'Delete and discard worktree',
}

/** What the service says is lost; without an answer the worst is assumed. */
function confirmOf(
  answer: Confirm | 'asking' | undefined,
  worktree: Worktree | undefined,
): Confirm {
  if (answer !== undefined && answer !== 'asking' && answer.button !== '') return answer
  if (!worktree) return { title: '', lines: [], button: 'Delete' }
  return {
    title: '',
    callout,
    lines: [
      'Could not check for uncommitted changes — assume unsaved work in this worktree will be lost.',
      worktree.worktree_path,
      worktree.branch,
    ],
    button: 'Delete and discard worktree',
  }
}
