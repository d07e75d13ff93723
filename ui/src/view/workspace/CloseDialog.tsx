import { Dialog } from 'radix-ui'

interface Props {
  title: string
  words: string
  button: string
  onClose: () => void
  onConfirm: () => void
}

/** Asks before something that runs is ended. */
export function CloseDialog({ title, words, button, onClose, onConfirm }: Props) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-scrim" />
        <Dialog.Content className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <Dialog.Description className="ink-2">{words}</Dialog.Description>
          <div className="acts">
            <Dialog.Close className="btn quiet">Cancel</Dialog.Close>
            <button
              type="button"
              className="btn danger"
              onClick={() => {
                onClose()
                onConfirm()
              }}
            >
              {button}
            </button>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
