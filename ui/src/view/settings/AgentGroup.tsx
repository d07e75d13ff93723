import { useEffect, useState } from 'react'
import { writeStored } from '../../store/storage'
import { Segments } from '../Segments'
import { Switch } from '../Switch'
import { useActions, useBench } from '../bench'
import { SetRow } from './SetRow'

/** What a new agent starts with, and what becomes of finished ones. */
export function AgentGroup() {
  const settings = useBench((s) => s.appSettings)
  const open = useBench((s) => s.link.phase === 'open')
  const { reloadAppSettings, setAppSetting, say } = useActions()
  const [failures, setFailures] = useState<Record<string, string>>({})
  useEffect(() => {
    if (open) reloadAppSettings()
  }, [open, reloadAppSettings])
  if (!settings) return <p className="panel none">The settings are being read…</p>
  const save = async (key: string, value: unknown): Promise<void> => {
    const reason = await setAppSetting(key, value)
    setFailures((f) => ({ ...f, [key]: reason }))
  }
  return (
    <div className="panel">
      <SetRow
        label="Edits land in"
        scope="New conversations"
        hint="Local is the project tree; a worktree is a fresh branch in .pkt-worktrees/."
        failure={failures.launch_location ?? ''}
      >
        <Segments
          name="Edits land in"
          value={settings.launchLocation}
          choices={[
            { id: 'project', label: 'Local' },
            { id: 'worktree', label: 'Worktree' },
          ]}
          onChange={(place) => void save('launch_location', place)}
        />
      </SetRow>
      <SetRow
        label="Switch to a fallback model when a provider is overloaded"
        scope="App"
        hint="Once per turn, same provider, with a line in the transcript that names both models."
        failure={failures.auto_failover ?? ''}
      >
        <Switch
          name="Switch to a fallback model when a provider is overloaded"
          on={settings.autoFailover}
          onChange={(on) => void save('auto_failover', on)}
        />
      </SetRow>
      <SetRow
        label="Archive what is done"
        scope="App"
        hint="Conversations that are done and idle for some days leave the list. Worktrees are never touched."
        failure={failures.auto_archive_done ?? ''}
      >
        <Switch
          name="Archive what is done"
          on={settings.autoArchive}
          onChange={(on) => void save('auto_archive_done', on)}
        />
      </SetRow>
      <SetRow
        label="Archive after"
        scope="App"
        hint="From 1 to 365 days."
        failure={failures.auto_archive_days ?? ''}
      >
        <DaysField
          name="Archive after, in days"
          days={settings.autoArchiveDays}
          onSave={(days) => void save('auto_archive_days', days)}
        />
      </SetRow>
      <SetRow
        label="Keep the audit of decisions for"
        scope="App"
        hint="Who allowed and denied what."
        failure={failures.audit_retention_days ?? ''}
      >
        <Segments
          name="Keep the audit of decisions for"
          value={settings.auditDays === 30 ? '30' : '7'}
          choices={[
            { id: '7', label: '7 days' },
            { id: '30', label: '30 days' },
          ]}
          onChange={(days) => void save('audit_retention_days', Number(days))}
        />
      </SetRow>
      <SetRow label="First steps" scope="This browser" hint="The cards of the first visit.">
        <button
          type="button"
          className="btn sm"
          onClick={() => {
            writeStored('', 'onboarding')
            say('The first steps are shown with the next new agent.')
          }}
        >
          Show them again
        </button>
      </SetRow>
    </div>
  )
}

/** A number that is saved when it is left or entered. */
function DaysField(props: { name: string; days: number; onSave: (days: number) => void }) {
  const [typed, setTyped] = useState<string>()
  const commit = (): void => {
    if (typed === undefined) return
    setTyped(undefined)
    const days = Number(typed)
    if (typed.trim() !== '' && days !== props.days) props.onSave(days)
  }
  return (
    <label className="field num days">
      <input
        aria-label={props.name}
        inputMode="numeric"
        value={typed ?? String(props.days)}
        onChange={(e) => setTyped(e.target.value)}
        onBlur={commit}
        onKeyDown={(e) => e.key === 'Enter' && commit()}
      />
      <span className="ink-3">days</span>
    </label>
  )
}
