import { useState } from 'react'
import type { DecidedBy } from '../../contract/gen'
import { TextInterrupted } from '../../contract/gen'
import type { ToolCall } from '../../contract/model'
import type { TranscriptDensity } from '../../store/prefs'
import {
  commandOf,
  exitCodeOf,
  familyOf,
  prettyInput,
  projectRelative,
  targetOf,
  titleOf,
} from '../../store/tools'
import type { IconName } from '../Icon'
import { Icon } from '../Icon'
import { CopyButton } from './CopyButton'
import { Elapsed } from './Elapsed'
import { Fold } from './Fold'

// What a card shows before it is asked for the rest. Lines.
const shownLines = 12

const deniedBy: Record<DecidedBy, string> = {
  user: 'denied by you',
  policy: 'denied by policy',
  timeout: 'expired unanswered',
  cancel: 'cancelled',
  restart: 'lost in a restart',
}

const icons: Record<string, IconName> = {
  shell: 'term',
  edit: 'pencil',
  read: 'file',
  web: 'external',
  mcp: 'plug',
}

interface Props {
  call: ToolCall
  project: string
  conversationId: string
  density: TranscriptDensity
}

/** One call: what it is, how it ended, its input and output on demand. */
export function ToolCard({ call, project, conversationId, density }: Props) {
  const family = familyOf(call.name)
  const command = commandOf(call.name, call.input)
  const target = projectRelative(targetOf(call.name, call.input), project)
  const name = family === 'shell' ? command.split('\n')[0] || call.name : titleOf(call.name)
  const head = (
    <>
      <Icon name={call.denied_by ? 'shield' : (icons[family] ?? 'bot')} />
      <span className="code cut ink-2" title={family === 'shell' ? command || name : name}>
        {name}
      </span>
      {family !== 'shell' && target !== '' && (
        <span className="code-s cut ink-3" title={target}>
          {target}
        </span>
      )}
      <span className="grow" />
      <Ending call={call} />
      <Elapsed conversationId={conversationId} id={call.id} running={call.status === 'running'} />
    </>
  )
  return (
    <div className="tool">
      <Fold density={density} head={head}>
        {family === 'shell' && command !== '' && (
          <Block words={`$ ${command}`} copy={command} copies="Copy command" />
        )}
        {(family !== 'shell' || density === 'verbose') && /[^{}\s]/.test(call.input) && (
          <>
            <p className="what micro">Input</p>
            <Block words={prettyInput(call.input)} />
          </>
        )}
        <Output call={call} labelled={family !== 'shell'} />
        {call.modified_paths && call.modified_paths.length > 0 && (
          <>
            <p className="what micro">Changed</p>
            <pre>{call.modified_paths.map((p) => projectRelative(p, project)).join('\n')}</pre>
          </>
        )}
      </Fold>
    </div>
  )
}

/** How a call ended, in a word. */
function Ending({ call }: { call: ToolCall }) {
  const interrupted = call.content === TextInterrupted || call.denied_by === 'restart'
  if (interrupted) return <span className="tag">interrupted</span>
  if (call.denied_by) return <span className="tag">{deniedBy[call.denied_by]}</span>
  if (call.status === 'running') return <span className="micro ink-3 keep">running</span>
  const exit = familyOf(call.name) === 'shell' ? exitCodeOf(call) : undefined
  if (exit !== undefined) {
    return <span className={exit === 0 ? 'exit keep' : 'exit bad keep'}>exit {exit}</span>
  }
  return call.status === 'error' ? <span className="exit bad keep">failed</span> : null
}

/** What came out: both streams where they were told apart, else the result. */
function Output({ call, labelled }: { call: ToolCall; labelled: boolean }) {
  const { stdout = '', stderr = '' } = call
  const apart = stdout !== '' || stderr !== ''
  if (call.status === 'running' && !apart) return null
  if (!apart) {
    if (call.content.trim() === '') return <pre>(no output)</pre>
    return (
      <>
        {labelled && <p className="what micro">Output</p>}
        <Block words={call.content} copy={call.content} copies="Copy output" />
      </>
    )
  }
  return (
    <>
      {stdout !== '' && <Block words={stdout} copy={stdout} copies="Copy output" />}
      {stderr !== '' && (
        <>
          <p className="what micro red">stderr</p>
          <Block words={stderr} copy={stderr} copies="Copy errors" />
        </>
      )}
    </>
  )
}

/** A text of which the first lines are shown until the rest is asked for. */
function Block(props: { words: string; copy?: string; copies?: string }) {
  const [all, setAll] = useState(false)
  const lines = props.words.replace(/\n$/, '').split('\n')
  const cut = !all && lines.length > shownLines
  return (
    <div className="block">
      <pre>{cut ? lines.slice(0, shownLines).join('\n') : props.words.replace(/\n$/, '')}</pre>
      {props.copy !== undefined && props.copies !== undefined && (
        <CopyButton text={props.copy} name={props.copies} />
      )}
      {cut && (
        <button type="button" className="more" onClick={() => setAll(true)}>
          Show all {lines.length} lines
          <Icon name="down" className="i-s" />
        </button>
      )}
    </div>
  )
}
