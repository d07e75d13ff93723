import { useMemo, useRef, useState } from 'react'
import type { ProjectDiff } from '../../contract/gen'
import { ProfileReviewer } from '../../contract/gen'
import type { BuiltinId } from '../../store/completion'
import { placeholder } from '../../store/completion'
import { readDraft } from '../../store/drafts'
import type { ConversationState } from '../../store/reduce'
import { usageLine } from '../../store/format'
import { nextPosture, offered, postureOf, postures } from '../../store/posture'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { newConversationId } from '../../contract/subjects'
import { useNavigation } from '../navigate'
import { CheatSheet } from './CheatSheet'
import { ComposerBox } from './ComposerBox'
import { ModelMenu } from './ModelMenu'
import { PostureChip } from './PostureChip'
import { useCommands } from './useCommands'

/** How many messages `/compact` leaves in view. Source: ui.md 5.3. */
const compactKeep = 4

/** What the Reviewer is asked: it cannot run git, so the diff comes with it. */
export function reviewTask(diff: ProjectDiff): string {
  return [
    `Review ${diff.staged ? 'the staged diff' : 'the changes that are not staged yet'} below. Report findings by priority, with file and line; change nothing.`,
    ...(diff.truncated ? ['The diff was cut; read the files for the rest.'] : []),
    '',
    // Longer than any fence inside, so that none of them ends it.
    ...fenced(diff.diff),
  ].join('\n')
}

function fenced(text: string): string[] {
  const longest = Math.max(0, ...(text.match(/`{3,}/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(Math.max(3, longest + 1))
  return [`${fence}diff`, text.trimEnd(), fence]
}

interface Props {
  state: ConversationState
  /** Why nothing can be sent, in words; empty when it can. */
  blocked: string
}

/** Writes to one conversation. What it can do follows from the service. */
export function Composer({ state, blocked }: Props) {
  const c = state.conversation
  const id = c.session_id
  const text = useBench((s) => s.drafts[id]) ?? readDraft(id)
  const staged = useBench((s) => s.staged[id]?.some((x) => x.attachment) ?? false)
  const error = useBench((s) => s.composerErrors[id]) ?? ''
  const link = useBench((s) => s.link.phase)
  const actions = useActions()
  const { go } = useNavigation()
  const field = useRef<HTMLTextAreaElement>(null)
  const [choosing, setChoosing] = useState<'posture' | 'model'>()
  const [help, setHelp] = useState(false)

  const own = useMemo(
    () => c.messages.filter((m) => m.role === 'user' && !m.queued).map((m) => m.content),
    [c.messages],
  )
  const can = {
    files: c.capabilities.fileMentions && c.project_path !== '',
    commands: c.capabilities.slashCommands,
  }
  const listCommands = useCommands(true, c.project_path)
  const modes = offered(c.capabilities.permissionModes, c.capabilities.canPlanMode)
  const active = c.status === 'active'
  const parked = c.pending_permissions.length + c.pending_edits.length
  const remarks = c.diff_comments.length > 0
  const empty = text.trim() === '' && !staged && !remarks
  const why = empty ? 'Write something first.' : blocked
  const usage = usageLine(c.context?.used ?? 0, c.messages)

  /** Starts a sibling of this conversation and goes there. */
  const sibling = async (change: {
    profile: string
    message: string
    planMode: boolean
  }): Promise<void> => {
    const next = newConversationId()
    const started = await actions.start(
      {
        session_id: next,
        provider: c.provider,
        row: c.row,
        model: c.model,
        project_path: c.project_path,
        initial_message: change.message,
        plan_mode: change.planMode,
        permission_mode: c.posture.permission_mode,
        approve_writes: c.posture.approve_writes,
        ...(change.profile !== '' && { profile: change.profile }),
      },
      next,
    )
    if (started.ok) go({ view: 'agents', screen: 'conversation', id: next })
    else if (started.project !== '') actions.say(started.project, 'error')
  }

  const review = async (): Promise<void> => {
    const diff = await actions.projectDiff(c.project_path)
    if (typeof diff === 'string') actions.say(diff, 'error')
    else if (diff.diff === '') {
      actions.say('There is nothing to review: nothing is staged or changed in this project.')
    } else {
      await sibling({ profile: ProfileReviewer, message: reviewTask(diff), planMode: true })
    }
  }

  const runBuiltin = (command: BuiltinId): void => {
    switch (command) {
      case 'plan': {
        const now = postureOf(c.posture)
        const wanted = c.posture.plan_mode
          ? postures.find((p) => !p.planMode && p.permissionMode === c.posture.permission_mode)
          : postures.find((p) => p.planMode)
        if (wanted && wanted.id !== now.id) actions.setPosture(id, wanted)
        return
      }
      case 'permissions':
        setChoosing('posture')
        return
      case 'model':
        setChoosing('model')
        return
      case 'compact':
        if (c.messages.length <= compactKeep) actions.say('There is nothing to trim yet.')
        else actions.trim(id, c.messages, compactKeep)
        return
      case 'clear':
        actions.trim(id, c.messages, 0)
        return
      case 'review':
        void review()
        return
      case 'history':
        go({ view: 'history' })
        return
      case 'new':
        void sibling({ profile: c.profile, message: '', planMode: c.posture.plan_mode })
        return
      case 'help':
        setHelp(true)
        return
    }
  }

  return (
    <>
      {help && <CheatSheet onClose={() => setHelp(false)} />}
      {error !== '' && (
        <p className="note red composer-error" role="alert">
          <Icon name="warn" className="i-s" />
          <span className="grow">{error}</span>
        </p>
      )}
      <ComposerBox
        variant="chat"
        draftKey={id}
        label="Message"
        placeholder={placeholder(can)}
        rows={1}
        project={can.files ? c.project_path : undefined}
        listCommands={can.commands ? listCommands : undefined}
        imagesAllowed={c.capabilities.imageAttachments}
        own={own}
        field={field}
        onSend={() => {
          if (why === '') actions.send(id)
        }}
        onPosture={() => {
          const next = nextPosture(postureOf(c.posture), modes)
          if (next) actions.setPosture(id, next)
        }}
        onBuiltin={runBuiltin}
        tools={(mic) => (
          <>
            <PostureChip
              posture={c.posture}
              engine={c.engine_mode}
              offered={modes}
              canGateWrites={c.capabilities.canGateWrites}
              onPosture={(p) => actions.setPosture(id, p)}
              onApproveWrites={(on) => actions.setApproveWrites(id, on)}
              field={field}
              open={choosing === 'posture'}
              onOpen={(open) => setChoosing(open ? 'posture' : undefined)}
            />
            {active && <StopButton id={id} stopping={c.stopping} />}
            {parked > 0 && (
              <button
                type="button"
                className="btn sm quiet"
                title="Denies what is parked; the turn goes on"
                onClick={() => actions.cancelPending(id)}
              >
                Cancel {parked}
              </button>
            )}
            <span className="push" />
            {!empty && blocked !== '' && <span className="micro ink-3 cut">{blocked}</span>}
            {link !== 'open' && blocked === '' && (
              <span className="micro ink-3 cut">You can write; it goes out on reconnect.</span>
            )}
            {mic}
            <ModelMenu
              model={c.model}
              models={c.capabilities.models}
              authoritative={c.capabilities.modelsAreAuthoritative}
              onChange={(model) => actions.changeModel(id, model)}
              onRefresh={() => actions.reload(id)}
              field={field}
              open={choosing === 'model'}
              onOpen={(open) => setChoosing(open ? 'model' : undefined)}
            />
            <button
              type="submit"
              className="send"
              aria-label="Send"
              title={why === '' ? 'Send (Enter)' : why}
              aria-disabled={why !== ''}
            >
              <Icon name="send" />
            </button>
          </>
        )}
      />
      <div className="statusline">
        <span>{usage}</span>
        {c.pending_permissions.length > 0 ? (
          <AnswerKeys yes="allow" no="deny" />
        ) : (
          c.pending_edits.length > 0 && <AnswerKeys yes="keep" no="undo" />
        )}
      </div>
    </>
  )
}

function AnswerKeys({ yes, no }: { yes: string; no: string }) {
  return (
    <span className="end answer-keys">
      <span>
        <kbd className="kbd">Y</kbd> {yes}
      </span>
      <span>
        <kbd className="kbd">N</kbd> {no}
      </span>
    </span>
  )
}

// A second press asks for more after this long. Source: ui.md 5.6. In ms.
const patienceMs = 3000

/** Stop is a state of the service; pressing it again later asks again. */
function StopButton({ id, stopping }: { id: string; stopping: boolean }) {
  const pressed = useBench((s) => s.stopPressed[id])
  const { stop } = useActions()
  const [impatient, setImpatient] = useState(false)
  const waiting = stopping || pressed !== undefined
  const disabled = waiting && !impatient
  return (
    <button
      type="button"
      className="halt"
      aria-label={disabled ? 'Waiting for Stop acknowledgement' : 'Stop turn'}
      title={disabled ? 'Waiting for Stop acknowledgement' : 'Stop turn'}
      aria-disabled={disabled}
      onClick={() => {
        if (disabled) return
        setImpatient(false)
        stop(id)
        setTimeout(() => setImpatient(true), patienceMs)
      }}
    >
      <i />
    </button>
  )
}
