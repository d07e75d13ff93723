import type { ReactNode } from 'react'
import { useId, useState } from 'react'
import type { PermissionMode, Profile } from '../../contract/gen'
import { Icon } from '../Icon'
import { Segments } from '../Segments'
import { Switch } from '../Switch'
import { useActions } from '../bench'

const modes: readonly { id: PermissionMode; label: string }[] = [
  { id: 'auto', label: 'Auto' },
  { id: 'ask_for_risky', label: 'Ask risky' },
  { id: 'allow_all', label: 'Allow all' },
  { id: 'deny_all', label: 'Deny risky' },
]

/** Names between commas; none of them means every tool. */
export function readTools(text: string): string[] | null {
  const names = text
    .split(',')
    .map((t) => t.trim())
    .filter(Boolean)
  return names.length === 0 ? null : [...new Set(names)]
}

const instructionRows = 5

/** Edits one profile of the person's own. */
export function ProfileEditor({ profile, onClose }: { profile: Profile; onClose: () => void }) {
  const { saveProfile, deleteProfile } = useActions()
  const [p, setP] = useState(profile)
  const [tools, setTools] = useState((profile.allowed_tools ?? []).join(', '))
  const [failure, setFailure] = useState('')
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState(false)
  const change = (part: Partial<Profile>): void => {
    setP({ ...p, ...part })
    setFailure('')
  }
  const finish = async (work: Promise<string>): Promise<void> => {
    setBusy(true)
    const reason = await work
    setBusy(false)
    setFailure(reason)
    if (reason === '') onClose()
  }
  const nameless = p.name.trim() === ''
  const save = (): void => {
    if (busy || nameless) return
    const { pinned_model: pinned, ...rest } = p
    const model = (pinned ?? '').trim()
    void finish(
      saveProfile({
        ...rest,
        name: p.name.trim(),
        allowed_tools: readTools(tools),
        ...(model !== '' && { pinned_model: model }),
      }),
    )
  }
  return (
    <form
      className="profile-form"
      aria-label={`Profile ${profile.name}`}
      onSubmit={(e) => {
        e.preventDefault()
        save()
      }}
      onKeyDown={(e) => {
        if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return
        e.preventDefault()
        save()
      }}
    >
      <Field label="Name">
        {(id) => (
          <span className="field">
            <input id={id} value={p.name} onChange={(e) => change({ name: e.target.value })} />
          </span>
        )}
      </Field>
      <Field label="Description">
        {(id) => (
          <span className="field">
            <input
              id={id}
              value={p.description}
              onChange={(e) => change({ description: e.target.value })}
            />
          </span>
        )}
      </Field>
      <Field label="Instructions">
        {(id) => (
          <span className="field long">
            <textarea
              id={id}
              rows={instructionRows}
              value={p.system_prompt}
              placeholder="Empty leaves PacketBench’s own instructions."
              onChange={(e) => change({ system_prompt: e.target.value })}
            />
          </span>
        )}
      </Field>
      <span className="ink-3">Permission</span>
      <span>
        <Segments
          name="Permission"
          value={p.permission_mode}
          choices={modes}
          onChange={(permission_mode) => change({ permission_mode })}
        />
      </span>
      <span className="ink-3">Plan mode</span>
      <span className="row">
        <Switch name="Plan mode" on={p.plan_mode} onChange={(plan_mode) => change({ plan_mode })} />
        <span className="micro ink-3">Reads only, until a plan is approved</span>
      </span>
      <Field label="Tools">
        {(id) => (
          <span className="field">
            <input
              id={id}
              className="code"
              value={tools}
              placeholder="Names between commas; empty means all"
              spellCheck={false}
              onChange={(e) => setTools(e.target.value)}
            />
          </span>
        )}
      </Field>
      <Field label="Model">
        {(id) => (
          <span className="field">
            <input
              id={id}
              className="code"
              value={p.pinned_model ?? ''}
              placeholder="Empty leaves the launcher’s choice"
              spellCheck={false}
              onChange={(e) => change({ pinned_model: e.target.value })}
            />
          </span>
        )}
      </Field>
      <span className="ink-3">Memory</span>
      <span className="row">
        <Switch
          name="Memory"
          on={p.memory_context_enabled}
          onChange={(memory_context_enabled) => change({ memory_context_enabled })}
        />
        <span className="micro ink-3">Nothing is remembered yet, so the brief is empty.</span>
      </span>
      {failure !== '' && (
        <p className="note red wide" role="alert">
          <Icon name="warn" className="i-s" />
          <span>{failure}</span>
        </p>
      )}
      <span />
      <span className="row">
        <button
          type="submit"
          className="btn primary"
          aria-disabled={busy || nameless}
          title={nameless ? 'A profile needs a name.' : undefined}
        >
          Save <kbd className="kbd hide-narrow">Ctrl+Enter</kbd>
        </button>
        <button type="button" className="btn quiet" onClick={onClose}>
          Discard
        </button>
        <span className="grow" />
        {asking ? (
          <>
            <button
              type="button"
              className="btn danger"
              onClick={() => void finish(deleteProfile(profile.id))}
            >
              Delete {profile.name}
            </button>
            <button type="button" className="btn quiet" onClick={() => setAsking(false)}>
              Cancel
            </button>
          </>
        ) : (
          <button type="button" className="btn quiet" onClick={() => setAsking(true)}>
            Delete…
          </button>
        )}
      </span>
    </form>
  )
}

function Field({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId()
  return (
    <>
      <label className="ink-3" htmlFor={id}>
        {label}
      </label>
      {children(id)}
    </>
  )
}
