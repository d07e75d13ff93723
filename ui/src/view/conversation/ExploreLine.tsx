import type { ToolCall } from '../../contract/model'
import type { TranscriptDensity } from '../../store/prefs'
import type { ToolFamily } from '../../store/tools'
import { familyOf, projectRelative, targetOf } from '../../store/tools'
import { exploreLine } from '../../store/transcript'
import { Fold } from './Fold'

interface Props {
  calls: ToolCall[]
  live: boolean
  project: string
  density: TranscriptDensity
}

const headings: [ToolFamily, string][] = [
  ['read', 'Read'],
  ['search', 'Searched'],
  ['list', 'Listed'],
]

/** All looking around of one message, live and settled, as one line. */
export function ExploreLine({ calls, live, project, density }: Props) {
  const { text, failed } = exploreLine(calls, live)
  const head = (
    <>
      <span>{text}</span>
      {failed > 0 && <span className="red">· {failed} failed</span>}
    </>
  )
  return (
    <Fold density={density} bare head={head}>
      <dl className="look">
        {headings.map(([family, heading]) => {
          const mine = calls.filter((c) => familyOf(c.name) === family)
          return mine.map((c, i) => (
            <Entry key={c.id} heading={i === 0 ? heading : ''} call={c} project={project} />
          ))
        })}
      </dl>
    </Fold>
  )
}

function Entry(props: { heading: string; call: ToolCall; project: string }) {
  const { call } = props
  const target = projectRelative(targetOf(call.name, call.input), props.project)
  return (
    <>
      <dt>{props.heading}</dt>
      <dd className={call.status === 'error' ? 'bad code-s' : 'code-s'}>
        {target}
        {call.status === 'error' && ` — ${call.content.split('\n')[0] ?? 'failed'}`}
        {call.status === 'running' && ' …'}
      </dd>
    </>
  )
}
