import { Dialog } from 'radix-ui'
import { useState } from 'react'

interface Props {
  name: string
  onClose: () => void
  onName: (name: string) => void
}

export function NameDialog({ name, onClose, onName }: Props) {
  const [text, setText] = useState(name)
  const next = text.trim()
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-scrim" />
        <Dialog.Content className="dialog" aria-describedby={undefined}>
          <Dialog.Title>Rename workspace</Dialog.Title>
          <form
            className="form"
            onSubmit={(e) => {
              e.preventDefault()
              if (next === '') return
              onClose()
              if (next !== name) onName(next)
            }}
          >
            <label className="field">
              <input aria-label="Name" value={text} onChange={(e) => setText(e.target.value)} />
            </label>
            <div className="acts">
              <Dialog.Close className="btn quiet">Cancel</Dialog.Close>
              <button type="submit" className="btn primary" aria-disabled={next === ''}>
                Rename
              </button>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
