import type { SidecarStatus } from '../../contract/model'
import { useBench } from '../bench'

/** The words of the chip; empty while there is nothing to say (ui.md 8). */
export function sidecarWords(state: SidecarStatus['state']): string {
  switch (state) {
    case 'restarting':
      return 'Sidecar restarting…'
    case 'down':
      return 'Sidecar down'
    case 'incompatible':
      return 'Sidecar incompatible'
    case 'not_started':
    case 'starting':
    case 'ready':
      return ''
  }
}

/** The state of the host behind a sidecar conversation, when it matters. */
export function SidecarChip() {
  const sidecar = useBench((s) => s.sidecar)
  const words = sidecar ? sidecarWords(sidecar.state) : ''
  if (words === '') return null
  const bad = sidecar?.state !== 'restarting'
  return (
    <span
      className={bad ? 'chip red' : 'chip amber'}
      title={sidecar?.last_error ?? ''}
      role="status"
    >
      <svg className={bad ? 'wave bad' : 'wave warn'} viewBox="0 0 26 10" aria-hidden="true">
        <path d={bad ? 'M0 5h26' : 'M0 5h6l2-3 2 6 2-3h3M19 5h7'} />
      </svg>
      {words}
    </span>
  )
}
