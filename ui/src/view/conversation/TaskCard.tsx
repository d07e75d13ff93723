import type { ToolCall } from '../../contract/model'
import type { TranscriptDensity } from '../../store/prefs'
import { tasksOf } from '../../store/tools'
import { Icon } from '../Icon'
import { StatusMark } from '../status/StatusMark'
import { Fold } from './Fold'

const kinds = { pending: 'idle', in_progress: 'run', completed: 'done' } as const
const words = { pending: 'to do', in_progress: 'in progress', completed: 'done' }

/** The list of tasks as it was last written in one message; it stays open. */
export function TaskCard({ calls, density }: { calls: ToolCall[]; density: TranscriptDensity }) {
  const lists = calls.map(tasksOf)
  const tasks = lists.findLast((list) => list.length > 0) ?? []
  const done = tasks.filter((t) => t.state === 'completed').length
  const head = (
    <>
      <Icon name="list" />
      <span className="mid text-ink">Tasks</span>
      <span className="num ink-3">
        {tasks.length === 0 ? 'none yet' : `${done} of ${tasks.length} done`}
      </span>
      <span className="grow" />
    </>
  )
  return (
    <div className="tool">
      <Fold density={density} head={head} open>
        <ul className="task-list" aria-label="Tasks">
          {tasks.map((task, i) => (
            <li key={i} className={task.state}>
              <StatusMark kind={kinds[task.state]} words={words[task.state]} />
              <span>{task.text}</span>
            </li>
          ))}
        </ul>
      </Fold>
    </div>
  )
}
