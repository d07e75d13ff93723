import { DropdownMenu } from 'radix-ui'
import type { RefObject } from 'react'
import { useState } from 'react'
import type { Model } from '../../contract/model'
import { price, tokens } from '../../store/format'
import { Icon } from '../Icon'

interface Props {
  model: string
  models: Model[]
  /** Whether an empty list is an answer, or only not known. */
  authoritative: boolean
  onChange: (model: string) => void
  /** Asks the provider again; offered where the list may not be whole. */
  onRefresh?: () => void
  className?: string
  /** Whether the list is open, where somebody else opens it too. */
  open?: boolean
  onOpen?: (open: boolean) => void
  /** Where the focus goes when the list closes, if not to its button. */
  field?: RefObject<HTMLTextAreaElement | null>
}

/** Chooses a model from the row's list, or by name where it may not be whole. */
export function ModelMenu(props: Props) {
  const [typed, setTyped] = useState('')
  const [opened, setOpened] = useState(false)
  const open = props.open ?? opened
  const setOpen = props.onOpen ?? setOpened
  const known = props.models.find((m) => m.value === props.model)
  const label = known?.label || props.model || 'No model'
  const free = !props.authoritative || props.models.length === 0
  return (
    <DropdownMenu.Root modal={false} open={open} onOpenChange={setOpen}>
      <DropdownMenu.Trigger asChild>
        <button
          type="button"
          className={props.className ?? 'chip'}
          title={`Model: ${props.model || 'none'}`}
        >
          <span className="sr">Model </span>
          <span className="cut">{label}</span>
          {known && known.contextWindow > 0 && (
            <span className="ink-3 num micro">{tokens(known.contextWindow)}</span>
          )}
          <Icon name="down" className="i-s" />
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className="menu model-list"
          align="end"
          sideOffset={6}
          aria-label="Model"
          onCloseAutoFocus={(e) => {
            if (!props.field?.current) return
            e.preventDefault()
            props.field.current.focus()
          }}
        >
          <DropdownMenu.RadioGroup value={props.model} onValueChange={props.onChange}>
            {props.models.map((m) => (
              <DropdownMenu.RadioItem key={m.value} value={m.value} className="mi">
                <span
                  className={m.value === props.model ? 'radio on' : 'radio'}
                  aria-hidden="true"
                />
                <span className="grow cut">{m.label}</span>
                <span className="micro ink-3 num keep">
                  {[m.contextWindow > 0 ? tokens(m.contextWindow) : '', price(m.price)]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          {props.models.length === 0 && props.authoritative && (
            <p className="micro ink-3 p-2">This provider offers no models.</p>
          )}
          {free && props.onRefresh && (
            <DropdownMenu.Item
              className="mi"
              onSelect={(e) => {
                // The list stays open and fills itself.
                e.preventDefault()
                props.onRefresh?.()
              }}
            >
              <Icon name="restart" />
              <span className="grow">Ask the provider for its models</span>
            </DropdownMenu.Item>
          )}
          {free && (
            <form
              className="row p-2"
              onSubmit={(e) => {
                e.preventDefault()
                if (typed.trim() === '') return
                props.onChange(typed.trim())
                setTyped('')
                setOpen(false)
              }}
            >
              <label className="field grow">
                <input
                  aria-label="Model id"
                  placeholder="Another model id"
                  value={typed}
                  onChange={(e) => setTyped(e.target.value)}
                  // The menu would take letters as a search among its items.
                  onKeyDown={(e) => e.key !== 'Escape' && e.stopPropagation()}
                />
              </label>
              <button type="submit" className="btn">
                Use
              </button>
            </form>
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
