import type { CSSProperties, KeyboardEvent, PointerEvent as ReactPointerEvent } from 'react'
import { useRef } from 'react'
import type { Divider, LayoutNode, Rect } from '../../store/layout'
import { dividersOf, rectsOf, resize } from '../../store/layout'
import type { Pane, Workspace } from '../../store/workspace'
import { useWork, useWorkActions } from '../bench'
import { ErrorBoundary } from '../ErrorBoundary'
import { ConversationTile } from './ConversationTile'
import { TerminalTile } from './TerminalTile'

const percent = (n: number): string => `${(n * 100).toFixed(4)}%`

const place = (r: Rect): CSSProperties => ({
  left: percent(r.left),
  top: percent(r.top),
  width: percent(r.width),
  height: percent(r.height),
})

/**
 * The tiles of a workspace: one flat list at the places that the layout gives
 * them, so that no tile is ever made anew by a change of the layout.
 */
export function Mosaic({ workspace, visible }: { workspace: Workspace; visible: boolean }) {
  const { focus } = useWorkActions()
  const focused = useWork((s) => s.focused[workspace.id]) ?? workspace.panes[0]?.id
  const zoomed = useWork((s) => s.zoomed[workspace.id])
  const rects = rectsOf(workspace.layout)
  const room = useRef<HTMLDivElement>(null)
  return (
    <div className="mosaic free" ref={room} data-zoomed={zoomed !== undefined}>
      {workspace.panes.map((pane) => {
        const rect = rects.get(pane.id)
        if (!rect) return null
        const own = zoomed === pane.id
        return (
          <section
            key={pane.id}
            className={pane.id === focused ? 'tile focus' : 'tile'}
            data-pane={pane.id}
            data-hidden={zoomed !== undefined && !own}
            style={own ? undefined : place(rect)}
            aria-label={labelOf(pane)}
            onFocus={() => focus(workspace.id, pane.id)}
            onPointerDown={() => focus(workspace.id, pane.id)}
          >
            <ErrorBoundary sentence="This tile encountered an error.">
              <Tile
                workspace={workspace}
                pane={pane}
                visible={visible && (zoomed === undefined || own)}
                focused={visible && pane.id === focused}
              />
            </ErrorBoundary>
          </section>
        )
      })}
      {zoomed === undefined &&
        dividersOf(workspace.layout).map((d) => (
          <DividerBar
            key={`${d.path.join('.')}:${d.index}`}
            divider={d}
            workspace={workspace.id}
            layout={workspace.layout}
            room={room}
          />
        ))}
    </div>
  )
}

const kinds = { terminal: 'Terminal', conversation: 'Conversation', file: 'File' }
const labelOf = (p: Pane): string => `${kinds[p.kind]}: ${p.name || p.command || p.ref}`

interface TileProps {
  workspace: Workspace
  pane: Pane
  visible: boolean
  focused: boolean
}

function Tile({ workspace, pane, visible, focused }: TileProps) {
  switch (pane.kind) {
    case 'terminal':
      return (
        <TerminalTile
          workspace={workspace.id}
          cwd={workspace.projectPath}
          {...{ pane, visible, focused }}
        />
      )
    case 'conversation':
      return <ConversationTile workspace={workspace.id} {...{ pane, focused }} />
    case 'file':
      return null
  }
}

// By key a divider moves so much.
const keyStep = 0.02

interface DividerProps {
  divider: Divider
  workspace: string
  layout: LayoutNode | undefined
  room: React.RefObject<HTMLDivElement | null>
}

/** A line between tiles, by pointer and by arrow keys. */
function DividerBar({ divider: d, workspace, layout, room }: DividerProps) {
  const { setLayout } = useWorkActions()
  const flat = d.direction === 'row'
  const share = (next: number, save: boolean): void => {
    if (layout) setLayout(workspace, resize(layout, d.path, d.index, next), save)
  }
  const onPointerDown = (down: ReactPointerEvent<HTMLDivElement>): void => {
    const box = room.current?.getBoundingClientRect()
    if (down.button !== 0 || !box || !layout) return
    down.preventDefault()
    const bar = down.currentTarget
    bar.setPointerCapture(down.pointerId)
    // The whole that the shares are of: this split, not the room.
    const length = splitLength(d, layout, flat ? box.width : box.height)
    const start = flat ? down.clientX : down.clientY
    let last = d.share
    const onMove = (e: PointerEvent): void => {
      last = d.share + ((flat ? e.clientX : e.clientY) - start) / length
      share(last, false)
    }
    const onEnd = (): void => {
      bar.removeEventListener('pointermove', onMove)
      bar.removeEventListener('pointerup', onEnd)
      bar.removeEventListener('pointercancel', onEnd)
      // Only a real drag is kept.
      if (last !== d.share) share(last, true)
    }
    bar.addEventListener('pointermove', onMove)
    bar.addEventListener('pointerup', onEnd)
    bar.addEventListener('pointercancel', onEnd)
  }
  const onKeyDown = (e: KeyboardEvent): void => {
    const less = flat ? 'ArrowLeft' : 'ArrowUp'
    const more = flat ? 'ArrowRight' : 'ArrowDown'
    if (e.key !== less && e.key !== more) return
    e.preventDefault()
    share(d.share + (e.key === more ? keyStep : -keyStep), true)
  }
  return (
    <div
      className={flat ? 'divider row-way' : 'divider column-way'}
      role="separator"
      aria-label="Between two tiles"
      aria-orientation={flat ? 'vertical' : 'horizontal'}
      aria-valuenow={Math.round((d.share / d.both) * 100)}
      tabIndex={0}
      style={place(d.rect)}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  )
}

/** How long the split of a divider is on the screen. */
function splitLength(d: Divider, layout: LayoutNode, room: number): number {
  let node = layout
  let length = 1
  for (const i of d.path) {
    if ('pane' in node) break
    if (node.split === d.direction) length *= node.shares[i] ?? 1
    const next = node.parts[i]
    if (!next) break
    node = next
  }
  return Math.max(1, length * room)
}
