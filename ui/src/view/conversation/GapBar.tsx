import { clockTime } from '../../store/format'
import { useBench } from '../bench'

/** Says that what the log had lost was read again, whole. */
export function GapBar({ id }: { id: string }) {
  const at = useBench((s) => s.gaps[id])
  if (at === undefined) return null
  return (
    <div className="trim-bar" role="status">
      Too much was missed to replay. Read again at {clockTime(at)}.
    </div>
  )
}
