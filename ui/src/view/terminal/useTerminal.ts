// The terminal of a pane, for the time that the pane shows it.

import { useEffect, useState, useSyncExternalStore } from 'react'
import { openTerminalSocket } from '../../net/terminal'
import { readStored } from '../../store/storage'
import { useBench } from '../bench'
import type { Face, Mounted } from './mount'
import { mountTerminal } from './mount'

const none = (): (() => void) => () => undefined

export interface PaneTerminal {
  mounted: Mounted | undefined
  face: Face | undefined
}

/** Whether terminals are written beside their pictures, for screen readers. */
export const readerWanted = (): boolean => readStored('terminal', 'reader') === 'on'

/**
 * Mounts the terminal into host. A readOnly one is a Monitor's; visible says
 * whether anybody can see it.
 */
export function useTerminal(
  id: string,
  host: HTMLElement | null,
  readOnly: boolean,
  visible: boolean,
): PaneTerminal {
  const [mounted, setMounted] = useState<Mounted>()
  const open = useBench((s) => s.link.phase === 'open')
  useEffect(() => {
    if (!host) return
    const m = mountTerminal({
      host,
      open: () => openTerminalSocket(id, readOnly),
      readOnly,
      reader: readerWanted(),
    })
    setMounted(m)
    return () => {
      setMounted(undefined)
      m.dispose()
    }
  }, [id, host, readOnly])
  useEffect(() => mounted?.setVisible(visible), [mounted, visible])
  useEffect(() => {
    // The service is back: no reason to wait for the next try.
    if (open) mounted?.nudge()
  }, [mounted, open])
  const face = useSyncExternalStore(mounted?.onFace ?? none, () => mounted?.face())
  return { mounted, face }
}
