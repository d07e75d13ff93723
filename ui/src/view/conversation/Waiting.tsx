import { clock } from '../../store/format'
import { useNow } from '../bench'

/** How long a prompt has been waiting. since is in ms; 0 is not known. */
export function Waiting({ since }: { since: number }) {
  const now = useNow()
  return since === 0 ? null : (
    <span className="micro ink-3 num keep">waiting {clock(now - since)}</span>
  )
}
