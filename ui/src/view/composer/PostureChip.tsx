import { DropdownMenu } from 'radix-ui'
import type { RefObject } from 'react'
import type { Posture } from '../../contract/gen'
import type { EngineMode } from '../../contract/model'
import type { PostureInfo } from '../../store/posture'
import { nextPosture, postureOf, postures } from '../../store/posture'
import { Icon } from '../Icon'

interface Props {
  posture: Posture
  /** What an engine does with it; absent where it is done as it is. */
  engine: EngineMode | undefined
  offered: PostureInfo[]
  canGateWrites: boolean
  onPosture: (p: PostureInfo) => void
  onApproveWrites: (on: boolean) => void
  /** Whether the choice is open, and who opens it. */
  open: boolean
  onOpen: (open: boolean) => void
  /** Where the focus goes when the choice closes. */
  field: RefObject<HTMLTextAreaElement | null>
}

/** The posture in force, as the service reports it: next, or choose. */
export function PostureChip(props: Props) {
  const current = postureOf(props.posture)
  const next = nextPosture(current, props.offered)
  const gate = props.posture.approve_writes
  if (props.offered.length === 0) return null
  // The chip shows what will be done, not what was asked for.
  const label = props.engine && !props.engine.honoured ? props.engine.label : current.label
  const title = [
    label === current.label
      ? `${current.label} — ${current.description}.`
      : `${label} — the engine's own mode; ${current.label} was asked for.`,
    gate ? 'Approve writes: on.' : '',
    next ? `Shift+Tab → ${next.label}` : '',
  ]
    .filter(Boolean)
    .join(' ')
  return (
    <span className={`mode ${current.hue}`}>
      <button
        type="button"
        title={title}
        aria-label={`Posture ${label}${gate ? ', approve writes on' : ''}`}
        onClick={() => next && props.onPosture(next)}
      >
        {label}
        {gate && <span className="gate" aria-hidden="true" />}
      </button>
      <DropdownMenu.Root modal={false} open={props.open} onOpenChange={props.onOpen}>
        <DropdownMenu.Trigger asChild>
          <button type="button" aria-label="Choose a posture">
            <Icon name="down" className="i-s" />
          </button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            className="menu"
            side="top"
            align="start"
            sideOffset={6}
            onCloseAutoFocus={(e) => {
              e.preventDefault()
              props.field.current?.focus()
            }}
          >
            <DropdownMenu.RadioGroup
              value={current.id}
              onValueChange={(id) => {
                const chosen = props.offered.find((p) => p.id === id)
                if (chosen && chosen.id !== current.id) props.onPosture(chosen)
              }}
            >
              {props.offered.map((p) => (
                <DropdownMenu.RadioItem key={p.id} value={p.id} className="mi">
                  <span className={p.id === current.id ? 'radio on' : 'radio'} aria-hidden="true" />
                  <span className="grow">
                    <span className={`${p.hue} mid`}>{p.label}</span>
                    <small>{p.description}</small>
                  </span>
                </DropdownMenu.RadioItem>
              ))}
            </DropdownMenu.RadioGroup>
            {props.offered.length < postures.length && (
              <p className="micro ink-3 p-2">
                This provider accepts fewer postures than PacketBench offers — only the ones it will
                honor are listed.
              </p>
            )}
            {props.canGateWrites && (
              <>
                <hr />
                <DropdownMenu.CheckboxItem
                  className="mi"
                  checked={gate}
                  onCheckedChange={props.onApproveWrites}
                >
                  <span className={gate ? 'box on' : 'box'} aria-hidden="true">
                    {gate && <Icon name="check" />}
                  </span>
                  <span className="grow">
                    <span className="mid">Approve writes</span>
                    <small>Confirm each file write before it lands</small>
                  </span>
                </DropdownMenu.CheckboxItem>
              </>
            )}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
    </span>
  )
}
