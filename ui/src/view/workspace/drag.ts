// Dragging a tile by its grip: over another tile it takes a side of it, or its
// place. A pointer does it; the menu of a tile does the same by keyboard.

import type { PointerEvent as ReactPointerEvent } from 'react'
import { useCallback } from 'react'
import type { Side } from '../../store/layout'
import { useWorkActions } from '../bench'

/** Where in a tile a point lies; the middle third is its place. */
export function sideAt(
  x: number,
  y: number,
  box: { left: number; top: number; width: number; height: number },
): Side {
  const dx = (x - box.left) / Math.max(1, box.width) - 0.5
  const dy = (y - box.top) / Math.max(1, box.height) - 0.5
  if (Math.abs(dx) < 1 / 6 && Math.abs(dy) < 1 / 6) return 'middle'
  if (Math.abs(dx) > Math.abs(dy)) return dx < 0 ? 'left' : 'right'
  return dy < 0 ? 'top' : 'bottom'
}

// A click is not a drag. In CSS pixels.
const slack = 5

/** The handler for the grip of a tile. */
export function useTileDrag(workspace: string, pane: string) {
  const { movePane } = useWorkActions()
  return useCallback(
    (down: ReactPointerEvent<HTMLElement>): void => {
      if (down.button !== 0) return
      down.preventDefault()
      const grip = down.currentTarget
      const mosaic = grip.closest<HTMLElement>('.mosaic')
      if (!mosaic) return
      grip.setPointerCapture(down.pointerId)
      let over: { el: HTMLElement; pane: string; side: Side } | undefined
      const clear = (): void => {
        if (over) delete over.el.dataset.drop
        over = undefined
      }
      const onMove = (e: PointerEvent): void => {
        if (Math.hypot(e.clientX - down.clientX, e.clientY - down.clientY) < slack) return
        mosaic.dataset.dragging = ''
        clear()
        const el = document
          .elementsFromPoint(e.clientX, e.clientY)
          .map((x) => x.closest<HTMLElement>('[data-pane]'))
          .find((x) => x !== null && mosaic.contains(x))
        const target = el?.dataset.pane
        if (!el || target === undefined || target === pane) return
        const side = sideAt(e.clientX, e.clientY, el.getBoundingClientRect())
        over = { el, pane: target, side }
        el.dataset.drop = side
      }
      const end = (drop: boolean): void => {
        const to = over
        clear()
        delete mosaic.dataset.dragging
        grip.removeEventListener('pointermove', onMove)
        grip.removeEventListener('pointerup', onUp)
        grip.removeEventListener('pointercancel', onCancel)
        document.removeEventListener('keydown', onKey, true)
        if (drop && to) movePane(workspace, pane, to.pane, to.side)
      }
      const onUp = (): void => end(true)
      const onCancel = (): void => end(false)
      const onKey = (e: KeyboardEvent): void => {
        if (e.key !== 'Escape') return
        e.preventDefault()
        e.stopPropagation()
        end(false)
      }
      grip.addEventListener('pointermove', onMove)
      grip.addEventListener('pointerup', onUp)
      grip.addEventListener('pointercancel', onCancel)
      document.addEventListener('keydown', onKey, true)
    },
    [workspace, pane, movePane],
  )
}
