import { DropdownMenu } from 'radix-ui'
import { useState } from 'react'
import type { Conversation } from '../../contract/model'
import type { ReviewCount } from '../../store/review'
import { markOf } from '../../store/sections'
import { Icon } from '../Icon'
import { useActions, useCurrent } from '../bench'
import { Link } from '../Link'
import { useNavigation } from '../navigate'
import { DiffstatChip } from '../review/ReviewBar'
import { PromptDialog } from '../prompt/PromptDialog'
import { DeleteDialog } from '../sidebar/DeleteDialog'
import { RenameField } from '../sidebar/RenameField'
import { HealthMark } from '../status/HealthMark'
import { StatusMark } from '../status/StatusMark'
import { MoreItems } from './MoreItems'
import { SidecarChip } from './SidecarChip'

interface Props {
  conversation: Conversation
  provider: string
  stopping: boolean
  sidecar: boolean
  count: ReviewCount
  onFind: () => void
}

const statusWords = { active: 'Active', idle: 'Idle', done: 'Done', failed: 'Failed' }

/** Who this is, how it stands, and everything that is done seldom. */
export function Header({ conversation: c, provider, stopping, sidecar, count, onFind }: Props) {
  const { rename, archive, retry, changeModel, removePattern, say } = useActions()
  const current = useCurrent()
  // A running answer is in the newest state only.
  const whole = (): Conversation => {
    const opened = current().conversations[c.session_id]
    return opened?.phase === 'ready' ? opened.state.conversation : c
  }
  const { go } = useNavigation()
  const [renaming, setRenaming] = useState(false)
  const [deleting, setDeleting] = useState(false)
  const [prompt, setPrompt] = useState(false)
  const id = c.session_id
  const mark = stopping ? { kind: 'stop' as const, words: 'stopping' } : markOf(c)
  const canRename = c.status !== 'active'
  const parked = c.pending_permissions.length + c.pending_edits.length
  const answered = c.messages.some((m) => m.role === 'assistant')
  const models = c.capabilities.models
  return (
    <header className="bar">
      <Link
        className="ico only-narrow"
        to={{ view: 'agents', screen: 'list' }}
        aria-label="Back to the list"
      >
        <Icon name="left" />
      </Link>
      <span className="tag hide-narrow" title={provider}>
        {provider.charAt(0)}
      </span>
      {renaming ? (
        <span className="item grow">
          <RenameField
            title={c.title}
            onDone={(next) => {
              setRenaming(false)
              if (next !== '' && next !== c.title) rename(id, next)
            }}
          />
        </span>
      ) : (
        <h1 className="cut" title={c.title} onDoubleClick={() => canRename && setRenaming(true)}>
          {c.title || 'Untitled'}
        </h1>
      )}
      <span className="row keep gap-1">
        <StatusMark kind={mark.kind} words={mark.words} />
        <span className={stopping ? 'micro amber' : 'ink-2 micro'}>
          {stopping ? 'Stopping…' : statusWords[c.status]}
        </span>
      </span>
      {c.archived && <span className="tag keep">Archived</span>}
      <span className="grow" />
      <HealthMark health={c.health} words />
      {sidecar && <SidecarChip />}
      <DiffstatChip conversationId={id} count={count} />
      {parked > 0 && (
        <span
          className="count"
          role="img"
          aria-label={`${parked} pending`}
          title={`${parked} pending`}
        >
          {parked}
        </span>
      )}
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <button type="button" className="ico" aria-label="Conversation menu">
            <Icon name="dots" />
          </button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            className="menu"
            align="end"
            sideOffset={4}
            // Renaming puts the focus where it belongs itself.
            onCloseAutoFocus={(e) => renaming && e.preventDefault()}
          >
            <DropdownMenu.Item
              className="mi"
              disabled={!canRename}
              onSelect={() => setRenaming(true)}
            >
              <Icon name="pencil" />
              <span className="grow">Rename</span>
              <kbd className="kbd">F2</kbd>
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className="mi"
              disabled={c.status === 'active' || !answered}
              onSelect={() => retry(id)}
            >
              <Icon name="restart" />
              <span className="grow">Retry last turn</span>
            </DropdownMenu.Item>
            {models.length > 1 && (
              <DropdownMenu.Sub>
                <DropdownMenu.SubTrigger className="mi">
                  <Icon name="bot" />
                  <span className="grow">Change model</span>
                  <Icon name="right" />
                </DropdownMenu.SubTrigger>
                <DropdownMenu.Portal>
                  <DropdownMenu.SubContent className="menu">
                    <DropdownMenu.RadioGroup
                      value={c.model}
                      onValueChange={(m) => changeModel(id, m)}
                    >
                      {models.map((m) => (
                        <DropdownMenu.RadioItem key={m.value} value={m.value} className="mi">
                          <span
                            className={m.value === c.model ? 'radio on' : 'radio'}
                            aria-hidden="true"
                          />
                          <span className="grow">{m.label}</span>
                        </DropdownMenu.RadioItem>
                      ))}
                    </DropdownMenu.RadioGroup>
                  </DropdownMenu.SubContent>
                </DropdownMenu.Portal>
              </DropdownMenu.Sub>
            )}
            <DropdownMenu.Item className="mi" onSelect={onFind}>
              <Icon name="search" />
              <span className="grow">Search in conversation</span>
              <kbd className="kbd">Ctrl+F</kbd>
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className="mi"
              onSelect={() => {
                void navigator.clipboard
                  ?.writeText(plainTranscript(whole()))
                  .then(() => say('The transcript was copied.'))
              }}
            >
              <Icon name="copy" />
              <span className="grow">Copy transcript</span>
            </DropdownMenu.Item>
            <MoreItems id={id} onPrompt={() => setPrompt(true)} />
            {c.allow_patterns.length > 0 && (
              <>
                <hr />
                <h4>Always allowed in this conversation</h4>
                {c.allow_patterns.map((p) => (
                  <DropdownMenu.Item
                    key={p}
                    className="mi"
                    aria-label={`Stop allowing ${p}`}
                    title="Stop allowing this without asking"
                    onSelect={() => removePattern(id, p)}
                  >
                    <span className="code-s grow cut">{p}</span>
                    <Icon name="x" />
                  </DropdownMenu.Item>
                ))}
              </>
            )}
            <hr />
            <DropdownMenu.Item className="mi" onSelect={() => archive(id, !c.archived)}>
              <Icon name="history" />
              <span className="grow">{c.archived ? 'Bring back' : 'Archive'}</span>
            </DropdownMenu.Item>
            <DropdownMenu.Item className="mi" onSelect={() => setDeleting(true)}>
              <Icon name="trash" />
              <span className="grow">Delete…</span>
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <Link
        className="ico hide-narrow"
        to={{ view: 'agents', screen: 'new' }}
        aria-label="Close conversation"
        title="Close conversation — returns to the New agent screen. Nothing is stopped or deleted; it stays in the list."
      >
        <Icon name="x" />
      </Link>
      {prompt && <PromptDialog id={id} onClose={() => setPrompt(false)} />}
      {deleting && (
        <DeleteDialog
          summary={c}
          onClose={() => setDeleting(false)}
          onDeleted={() => go({ view: 'agents', screen: 'new' })}
        />
      )}
    </header>
  )
}

/** The transcript as plain text: who said what, tools as one line each. */
export function plainTranscript(c: Conversation): string {
  const names = { user: 'You', assistant: 'Agent', system: 'System' }
  return c.messages
    .map((m) => {
      const tools = m.tool_calls.map((t) => `[${t.name}: ${t.status}]`)
      return [`${names[m.role]}:`, ...tools, m.content].join('\n')
    })
    .join('\n\n')
}
