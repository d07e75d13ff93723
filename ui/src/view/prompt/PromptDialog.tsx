import { Dialog } from 'radix-ui'
import { useEffect, useState } from 'react'
import type { LayerKind, PromptLayers } from '../../contract/gen'
import { useActions } from '../bench'

const names: Record<LayerKind, string> = {
  built_in: 'Built in',
  cascade: 'Files of the project and of you',
  memory: 'Memory',
  profile: 'Profile',
  override: 'Given by the one who started it',
}

/** The system prompt of a conversation, layer by layer, as it was frozen. */
export function PromptDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { promptLayers } = useActions()
  const [answer, setAnswer] = useState<PromptLayers | string>()
  useEffect(() => {
    let stale = false
    void promptLayers(id).then((next) => {
      if (!stale) setAnswer(next)
    })
    return () => {
      stale = true
    }
  }, [id, promptLayers])
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-scrim" />
        <Dialog.Content className="dialog layers">
          <Dialog.Title>System prompt</Dialog.Title>
          <Dialog.Description className="ink-2">
            Frozen at the launch, lowest layer first; a later one wins. Changed files and profiles
            count for new conversations only.
          </Dialog.Description>
          {answer === undefined && <p role="status">Reading it…</p>}
          {typeof answer === 'string' && (
            <p className="red" role="alert">
              {answer}
            </p>
          )}
          {typeof answer === 'object' &&
            answer.layers.map((layer, i) => (
              <section key={i} aria-label={names[layer.kind]}>
                <h3>
                  <span className="mid">{names[layer.kind]}</span>{' '}
                  <span className="code-s ink-3 break">{layer.source}</span>
                </h3>
                {layer.note !== undefined && <p className="micro amber">{layer.note}</p>}
                <pre className="code-s" tabIndex={0}>
                  {layer.text === '' ? '(empty)' : layer.text}
                </pre>
              </section>
            ))}
          <div className="acts">
            {typeof answer === 'object' && (
              <button
                type="button"
                className="btn"
                onClick={() => void navigator.clipboard?.writeText(answer.system_prompt)}
              >
                Copy what the model gets
              </button>
            )}
            <Dialog.Close className="btn">Close</Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
