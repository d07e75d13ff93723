import { DropdownMenu } from 'radix-ui'
import { useState } from 'react'
import type { PendingPermission } from '../../contract/model'
import { diffLines } from '../../store/diff'
import {
  commandOf,
  prettyInput,
  projectRelative,
  replacementsOf,
  targetOf,
  titleOf,
} from '../../store/tools'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { DiffText } from './DiffText'
import { Waiting } from './Waiting'

interface Props {
  conversationId: string
  prompt: PendingPermission
  project: string
  patterns: string[]
  readOnly: boolean
  /** Whether Y and N are this card's. */
  armed: boolean
}

/** A call that waits for an answer. Allow and Deny look the same on purpose. */
export function PermissionCard(props: Props) {
  const { conversationId, prompt, project } = props
  const { answer } = useActions()
  const busy = useBench((s) => s.answering[prompt.id] === true)
  const [steering, setSteering] = useState(false)
  const [raw, setRaw] = useState(false)
  const [evidence, setEvidence] = useState(false)
  const command = commandOf(prompt.name, prompt.arguments)
  const target = projectRelative(targetOf(prompt.name, prompt.arguments), project)
  const changes = replacementsOf(prompt.name, prompt.arguments)
  const readable = command !== '' || changes.length > 0
  const give = (decision: 'allow_once' | 'allow_always' | 'deny'): void =>
    answer(conversationId, prompt.id, decision)
  return (
    <section
      className={`perm ${prompt.destructive ? 'danger' : ''} ${props.readOnly ? 'watched' : ''}`}
      aria-label={`Permission required: ${prompt.name}`}
      data-prompt={prompt.id}
    >
      <div className="perm-h">
        <Icon name="shield" className="i-s" />
        <span className="micro ink-2 mid keep">Permission required</span>
        {prompt.destructive && <span className="tag red">Destructive</span>}
        <span className="micro ink-3 cut" title={prompt.name}>
          {titleOf(prompt.name)}
        </span>
        <span className="grow" />
        <Waiting since={prompt.opened_at} />
      </div>
      {command === '' && target !== '' && (
        <div className="perm-t">
          <span className="code">{target}</span>
        </div>
      )}
      {command !== '' ? (
        <pre tabIndex={0} aria-label="Command">
          <span className="p">$ </span>
          {command}
        </pre>
      ) : changes.length > 0 ? (
        changes.map((c, i) => (
          <DiffText
            key={i}
            lines={diffLines(c.before, c.after)}
            name={changes.length > 1 ? `Change ${i + 1} of ${changes.length}` : 'Change'}
            empty="Nothing would change."
          />
        ))
      ) : (
        <pre tabIndex={0} aria-label="Arguments">
          {prettyInput(prompt.arguments)}
        </pre>
      )}
      {prompt.destructive && (
        <p className="note red warn">
          <Icon name="warn" className="i-s" />
          <span>This command can delete or overwrite files that git is not tracking.</span>
        </p>
      )}
      {readable && (
        <div className="raw">
          <button type="button" className="chip" aria-expanded={raw} onClick={() => setRaw(!raw)}>
            <Icon name={raw ? 'down' : 'right'} />
            Raw arguments
          </button>
          {raw && <pre>{prettyInput(prompt.arguments)}</pre>}
        </div>
      )}
      {prompt.sources.length > 0 && (
        <div className="evidence">
          <span className="row">
            <span className="tag blue">Evidence boundary · ask after outside content</span>
            <button
              type="button"
              className="chip"
              aria-expanded={evidence}
              onClick={() => setEvidence(!evidence)}
            >
              {prompt.sources.length} source(s)
              <Icon name={evidence ? 'down' : 'right'} />
            </button>
          </span>
          {evidence && (
            <ul>
              {prompt.sources.map((s, i) => (
                <li key={i}>
                  {s.origin}: {s.label}
                  {s.locator ? ` (${s.locator})` : ''}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      {!props.readOnly && (
        <>
          <div className="perm-a">
            <span className="split">
              <button
                type="button"
                className="btn answer"
                aria-disabled={busy}
                onClick={() => give('allow_once')}
              >
                Allow {props.armed && <kbd className="kbd">Y</kbd>}
              </button>
              <Scopes {...props} />
            </span>
            <button
              type="button"
              className="btn answer"
              aria-disabled={busy}
              onClick={() => give('deny')}
            >
              Deny {props.armed && <kbd className="kbd">N</kbd>}
            </button>
            <button
              type="button"
              className="btn quiet push"
              title="Deny and tell the agent what to do instead — the turn continues"
              aria-expanded={steering}
              onClick={() => setSteering(!steering)}
            >
              with reason…
            </button>
          </div>
          {steering && (
            <Reason
              onDeny={(reason) =>
                answer(conversationId, prompt.id, 'deny', reason === '' ? {} : { reason })
              }
            />
          )}
        </>
      )}
    </section>
  )
}

function Scopes({ conversationId, prompt, patterns }: Props) {
  const { answer } = useActions()
  const pattern = prompt.allow_pattern
  const there = pattern !== undefined && patterns.includes(pattern)
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <button
          type="button"
          className="btn answer"
          aria-label="Allow with a wider scope"
          title="Allow with a wider scope"
        >
          <Icon name="down" className="i-s" />
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="start" side="bottom" sideOffset={6}>
          <DropdownMenu.Item
            className="mi"
            onSelect={() => answer(conversationId, prompt.id, 'allow_once')}
          >
            <span className="grow">Allow once</span>
            <kbd className="kbd">Y</kbd>
          </DropdownMenu.Item>
          <DropdownMenu.Item
            className="mi"
            onSelect={() => answer(conversationId, prompt.id, 'allow_always')}
          >
            <span className="grow">Allow for this session</span>
            <span className="micro ink-3">(no rule saved)</span>
          </DropdownMenu.Item>
          {pattern !== undefined && (
            <DropdownMenu.Item
              className="mi"
              disabled={there}
              title={there ? "Pattern already in this conversation's allowlist" : undefined}
              onSelect={() =>
                answer(conversationId, prompt.id, 'allow_once', { allow_pattern: pattern })
              }
            >
              <span className="grow">
                Always allow <span className="code">{pattern}</span>
              </span>
              {there && <span className="micro ink-3">already in</span>}
            </DropdownMenu.Item>
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function Reason({ onDeny }: { onDeny: (reason: string) => void }) {
  const [text, setText] = useState('')
  return (
    <form
      className="reason"
      onSubmit={(e) => {
        e.preventDefault()
        onDeny(text.trim())
      }}
    >
      <label className="field">
        <input
          autoFocus
          aria-label="Reason"
          placeholder="Why not / what to do instead — sent to the agent"
          value={text}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            // An input method's Enter chooses a word, it does not send.
            if (e.key === 'Enter' && (e.nativeEvent.isComposing || e.keyCode === 229)) {
              e.preventDefault()
            }
          }}
        />
      </label>
      <button type="submit" className="btn answer">
        Deny &amp; steer
      </button>
    </form>
  )
}
