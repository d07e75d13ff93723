import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import type { Side } from '../../store/layout'
import type { MarkKind } from '../../store/sections'
import { Icon } from '../Icon'
import { useWork, useWorkActions } from '../bench'
import { StatusMark } from '../status/StatusMark'
import { useTileDrag } from './drag'

interface Props {
  workspace: string
  pane: string
  mark: MarkKind
  /** The mark in words. */
  words: string
  name: string
  /** Beside the name: what the program calls itself. */
  title: string
  badges?: ReactNode
  /** What this kind of tile has in its menu. */
  items?: ReactNode
  /** The words for taking the tile away. */
  closing: string
  onClose: () => void
}

const sides: readonly [Exclude<Side, 'middle'>, string][] = [
  ['left', 'Move to the left'],
  ['right', 'Move to the right'],
  ['top', 'Move up'],
  ['bottom', 'Move down'],
]

/** The bar of a tile: what it is, how it stands, and what can be done with it. */
export function TileBar(p: Props) {
  const { zoom, movePane } = useWorkActions()
  const zoomed = useWork((s) => s.zoomed[p.workspace] === p.pane)
  const panes = useWork((s) => s.workspaces?.find((w) => w.id === p.workspace)?.panes)
  const drag = useTileDrag(p.workspace, p.pane)
  const others = (panes ?? []).filter((x) => x.id !== p.pane)
  const target = others[0]
  return (
    <header
      className="bar"
      onDoubleClick={(e) => {
        if (e.target instanceof Element && e.target.closest('button')) return
        zoom(p.workspace, zoomed ? undefined : p.pane)
      }}
    >
      <span className="grip" title="Drag to move" onPointerDown={drag}>
        <Icon name="grip" className="i-s" />
      </span>
      <StatusMark kind={p.mark} words={p.words} />
      <h2 className="mid cut tile-name">{p.name}</h2>
      <span className="micro ink-3 cut" title={p.title}>
        {p.title}
      </span>
      <span className="grow" />
      {p.badges}
      <button
        type="button"
        className="ico"
        aria-label={zoomed ? 'Back to all tiles' : 'Zoom tile'}
        title={zoomed ? 'Back to all tiles (Alt+Z)' : 'Zoom (Alt+Z)'}
        aria-pressed={zoomed}
        onClick={() => zoom(p.workspace, zoomed ? undefined : p.pane)}
      >
        <Icon name="max" className="i-s" />
      </button>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <button type="button" className="ico" aria-label="Tile menu">
            <Icon name="dots" className="i-s" />
          </button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            {p.items}
            {target && (
              <>
                {sides.map(([side, words]) => (
                  <DropdownMenu.Item
                    key={side}
                    className="mi"
                    onSelect={() => movePane(p.workspace, p.pane, outermost(others, side), side)}
                  >
                    <Icon name={side === 'top' ? 'up' : side === 'bottom' ? 'down' : side} />
                    <span className="grow">{words}</span>
                  </DropdownMenu.Item>
                ))}
                <hr />
              </>
            )}
            <DropdownMenu.Item className="mi" onSelect={p.onClose}>
              <Icon name="x" />
              <span className="grow">{p.closing}</span>
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
    </header>
  )
}

/** Moved that way, a tile goes beside the one that is farthest there. */
function outermost(others: readonly { id: string }[], side: Side): string {
  const first = others[0]?.id ?? ''
  return side === 'left' || side === 'top' ? first : (others.at(-1)?.id ?? first)
}
