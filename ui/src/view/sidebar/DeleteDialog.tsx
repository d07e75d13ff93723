import { Dialog } from 'radix-ui'
import { useState } from 'react'
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
  const { remove } = useActions()
  const [busy, setBusy] = useState(false)
  const worktree = summary.worktree?.state === 'active' ? summary.worktree : undefined
  const run = async (): Promise<void> => {
    setBusy(true)
    const gone = await remove(summary.session_id)
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
          {worktree && (
            <div className="note red">
              <Icon name="warn" className="i-s" />
              <div>
                <p className="mid">Deleting also discards this conversation&apos;s worktree</p>
                <p>
                  Could not check for uncommitted changes — assume unsaved work in this worktree
                  will be lost.
                </p>
                <p className="code-s">{worktree.worktree_path}</p>
                <p className="code-s">{worktree.branch}</p>
              </div>
            </div>
          )}
          <div className="acts">
            <Dialog.Close className="btn quiet">Cancel</Dialog.Close>
            <button type="button" className="btn danger" disabled={busy} onClick={() => void run()}>
              {worktree ? 'Delete and discard worktree' : 'Delete'}
            </button>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
