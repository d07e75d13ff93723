import { useState } from 'react'
import type { DecidedBy } from '../../contract/gen'
import { TextInterrupted } from '../../contract/gen'
import type { ToolCall } from '../../contract/model'
import {
  commandOf,
  exitCodeOf,
  familyOf,
  prettyInput,
  projectRelative,
  targetOf,
} from '../../store/tools'
import type { IconName } from '../Icon'
import { Icon } from '../Icon'

// What a card shows before it is asked for the rest. Lines.
const shownLines = 12

const deniedBy: Record<DecidedBy, string> = {
  user: 'denied by you',
  policy: 'denied by policy',
  timeout: 'expired unanswered',
  cancel: 'cancelled',
  restart: 'lost in a restart',
}

const icons: Record<string, IconName> = { shell: 'term', edit: 'pencil', read: 'file' }

/** One call: what it is, how it ended, its input and output on demand. */
export function ToolCard({ call, project }: { call: ToolCall; project: string }) {
  const [open, setOpen] = useState(false)
  const [all, setAll] = useState(false)
  const family = familyOf(call.name)
  const command = commandOf(call.name, call.input)
  const target = projectRelative(targetOf(call.name, call.input), project)
  const interrupted = call.content === TextInterrupted || call.denied_by === 'restart'
  const exit = family === 'shell' && !interrupted ? exitCodeOf(call) : undefined
  const failed = call.status === 'error' && !interrupted
  const output =
    call.content !== '' ? call.content : [call.stdout, call.stderr].filter(Boolean).join('\n')
  const lines = output.split('\n')
  const cut = !all && lines.length > shownLines
  const name = family === 'shell' ? command || call.name : call.name
  return (
    <div className="tool">
      <button type="button" className="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={call.denied_by ? 'shield' : (icons[family] ?? 'bot')} />
        <span className="code cut ink-2" title={name}>
          {name}
        </span>
        {family !== 'shell' && target !== '' && (
          <span className="code-s cut ink-3" title={target}>
            {target}
          </span>
        )}
        <span className="grow" />
        {interrupted ? (
          <span className="tag">interrupted</span>
        ) : (
          call.denied_by && <span className="tag">{deniedBy[call.denied_by]}</span>
        )}
        {call.status === 'running' && <span className="micro ink-3 keep">running</span>}
        {exit !== undefined && !call.denied_by && (
          <span className={exit === 0 ? 'exit keep' : 'exit bad keep'}>exit {exit}</span>
        )}
        {failed && exit === undefined && !call.denied_by && (
          <span className="exit bad keep">failed</span>
        )}
        <Icon name={open ? 'down' : 'right'} />
      </button>
      {open && (
        <>
          {family !== 'shell' && call.input !== '' && call.input !== '{}' && (
            <>
              <p className="what micro">Input</p>
              <pre>{prettyInput(call.input)}</pre>
            </>
          )}
          {family === 'shell' && command !== '' && <pre>$ {command}</pre>}
          {output !== '' && (
            <>
              {family !== 'shell' && <p className="what micro">Output</p>}
              <pre>{cut ? lines.slice(0, shownLines).join('\n') : output}</pre>
            </>
          )}
          {cut && (
            <button type="button" className="more" onClick={() => setAll(true)}>
              Show all {lines.length} lines
              <Icon name="down" className="i-s" />
            </button>
          )}
          {output === '' && call.status !== 'running' && <pre>(no output)</pre>}
        </>
      )}
    </div>
  )
}
