import { useEffect, useMemo, useRef, useState } from 'react'
import { ProfileDefault } from '../../contract/gen'
import { newConversationId } from '../../contract/subjects'
import { readDraft } from '../../store/drafts'
import type { Segment } from '../../store/posture'
import { segments } from '../../store/posture'
import { demoNotice, demoOnly, pickRow } from '../../store/providers'
import { homeOf } from '../../store/sections'
import { readStored, writeStored } from '../../store/storage'
import type { Staged } from '../../store/stores'
import { launchDraft } from '../../store/stores'
import { GitChip } from '../GitChip'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { ComposerBox } from '../composer/ComposerBox'
import { ModelMenu } from '../composer/ModelMenu'
import { useCommands } from '../composer/useCommands'
import { useNavigation } from '../navigate'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { Link } from '../Link'
import type { Place } from './Advanced'
import { Advanced } from './Advanced'
import { Onboarding } from './Onboarding'
import { ProjectPicker } from './ProjectPicker'
import { Badge, ProviderShelf } from './ProviderShelf'
import { TrustNote } from './TrustNote'

const noImages: Staged[] = []

// A path that is being typed is looked at when the typing rests. In ms.
const typingMs = 250

// One launch per this time, however often it is pressed. Source: ui.md 4.4.
const singleFlightMs = 500

// The help line. Source: ui.md 4.
const hints = [
  ['Enter', 'to send'],
  ['Shift+Enter', 'for newline'],
  ['Alt+N', 'for new agent'],
  ['@', 'to mention a file'],
  ['/', 'to expand a prompt template'],
] as const

function storedSegment(): Segment {
  const found = segments.find((s) => s.id === readStored('mode')) ?? segments[0]
  if (!found) throw new Error('There are no mode segments.')
  return found
}

/** Starts a conversation: project, words, provider, model, posture. */
export function Launch() {
  const providers = useBench((s) => s.providers)
  const providersError = useBench((s) => s.providersError)
  const summaries = useBench((s) => s.summaries)
  const session = useBench((s) => s.session)
  const link = useBench((s) => s.link.phase)
  const draft = useBench((s) => s.drafts[launchDraft])
  const images = useBench((s) => s.staged[launchDraft]) ?? noImages
  const actions = useActions()
  const { go } = useNavigation()
  const field = useRef<HTMLTextAreaElement>(null)
  const provider = useRef<HTMLButtonElement>(null)
  const projectField = useRef<HTMLInputElement>(null)
  const [picked, setPicked] = useState('')
  const [typedModel, setModel] = useState('')
  const [typedProject, setProject] = useState<string>()
  const [projectError, setProjectError] = useState('')
  const [mode, setMode] = useState(storedSegment)
  const [shelf, setShelf] = useState(false)
  const [probing, setProbing] = useState(false)
  const [busy, setBusy] = useState(false)
  const lastTry = useRef(0)

  const profileList = useBench((s) => s.profiles)
  const appSettings = useBench((s) => s.appSettings)
  const [pickedProfile, setPickedProfile] = useState('')
  const [pickedPlace, setPickedPlace] = useState<Place>()

  const text = draft ?? readDraft(launchDraft)
  // Probed once: a later badge does not change a choice under one's hands.
  const [auto, setAuto] = useState('')
  if (auto === '' && providers && providers.length > 0) setAuto(pickRow(providers)?.row ?? '')
  const row = providers?.find((p) => p.row === (picked || auto))
  const chosenModel = typedModel || (row?.models[0]?.value ?? '')
  const profiles = profileList?.profiles ?? []
  const profile =
    profiles.find((p) => p.id === (pickedProfile || profileList?.default)) ??
    profiles.find((p) => p.id === ProfileDefault)
  const model = profile?.pinned_model ?? chosenModel
  const place = pickedPlace ?? appSettings?.launchLocation ?? 'project'

  const project =
    typedProject ??
    (readStored('project') || appSettings?.defaultProject || (session?.project_path ?? ''))
  const folder = project.trim()
  const known = useMemo(() => {
    const newest = [...(summaries ?? [])].sort((a, b) => b.updated_at.localeCompare(a.updated_at))
    const all = [...newest.map(homeOf), session?.project_path ?? '']
    return [...new Set(all.filter(Boolean))]
  }, [summaries, session?.project_path])
  const facts = useBench((s) => s.projects[folder])
  const listCommands = useCommands(false, folder)

  const { reloadProject, reloadProfiles, reloadAppSettings } = actions
  useEffect(() => {
    if (link !== 'open') return
    reloadProfiles()
    reloadAppSettings()
  }, [link, reloadProfiles, reloadAppSettings])
  useEffect(() => {
    if (link !== 'open') return
    const timer = setTimeout(() => reloadProject(folder), typingMs)
    return () => clearTimeout(timer)
  }, [link, folder, reloadProject])

  useEffect(() => {
    field.current?.focus()
  }, [])

  // A new list answers the probe that opening the shelf asked for.
  const [probed, setProbed] = useState(providers)
  if (providers !== probed) {
    setProbed(providers)
    setProbing(false)
  }

  const why = (() => {
    if (link !== 'open') return 'Wait for the connection.'
    if (!row) return 'The providers are being read.'
    if (row.badge.status === 'coming_soon') return row.badge.hint || 'Coming soon'
    if (row.badge.status !== 'ready') return row.badge.hint || 'Launch'
    if (folder === '') return 'Name a project folder first.'
    if (text.trim() === '') return 'Write what you want done first.'
    return ''
  })()
  const label = row?.badge.status === 'coming_soon' ? 'Coming soon' : 'Launch'

  const launch = async (): Promise<void> => {
    const now = Date.now()
    if (why !== '' || !row || busy || now - lastTry.current < singleFlightMs) return
    lastTry.current = now
    setBusy(true)
    const id = newConversationId()
    const attachments = images.flatMap((x) => (x.attachment ? [x.attachment] : []))
    const started = await actions.start(
      {
        session_id: id,
        provider: row.provider,
        row: row.row,
        model,
        project_path: folder,
        initial_message: text.trim(),
        plan_mode: mode.planMode,
        permission_mode: mode.permissionMode,
        ...(profile && { profile: profile.id }),
        ...(place === 'worktree' && { worktree: true }),
        ...(attachments.length > 0 && { attachments }),
      },
      launchDraft,
    )
    setBusy(false)
    if (!started.ok) {
      setProjectError(started.project)
      if (started.project !== '') projectField.current?.focus()
      return
    }
    writeStored(folder, 'project')
    go({ view: 'agents', screen: 'conversation', id })
  }

  const openShelf = (): void => {
    setShelf(!shelf)
    if (shelf) return
    // Badges are asked for again each time the shelf opens.
    setProbing(true)
    actions.reloadProviders()
  }

  return (
    <main className="pane">
      <ConnectionBanner />
      <header className="bar only-narrow">
        <Link className="ico" to={{ view: 'agents', screen: 'list' }} aria-label="Back to the list">
          <Icon name="left" />
        </Link>
        <h2>New agent</h2>
      </header>
      <div className="scroll grow">
        <div className="launch">
          <div className="launch-h">
            <h1>New agent</h1>
            <p>Choose a project, provider, model, and execution posture.</p>
          </div>
          <div className="strip project">
            <ProjectPicker
              field={projectField}
              value={project}
              known={known}
              error={projectError}
              onChange={(path) => {
                setProject(path)
                setProjectError('')
                // Another folder is another launch.
                lastTry.current = 0
              }}
            />
            {facts && <GitChip git={facts.git} />}
            <span className="end micro ink-3 hide-narrow">
              <kbd className="kbd">Alt+P</kbd> project
            </span>
          </div>
          {projectError !== '' && (
            <p id="project-error" className="micro red project-error" role="alert">
              {projectError}
            </p>
          )}
          {providers && demoOnly(providers) && (
            <p className="note blue mb-2" role="note">
              <Icon name="info" className="i-s" />
              <span className="grow">{demoNotice}</span>
              <Link className="btn sm no-underline" to={{ view: 'settings', group: 'providers' }}>
                Settings
              </Link>
            </p>
          )}
          {providersError !== '' && (
            <p className="note red mb-2" role="alert">
              <Icon name="warn" className="i-s" />
              <span className="grow">{providersError}</span>
              <button type="button" className="btn sm" onClick={actions.reloadProviders}>
                Retry
              </button>
            </p>
          )}
          <ComposerBox
            variant="launch"
            draftKey={launchDraft}
            label="What would you like to work on?"
            placeholder="What would you like to work on?"
            rows={4}
            project={row?.capabilities.fileMentions === false ? undefined : folder}
            listCommands={row?.capabilities.slashCommands === false ? undefined : listCommands}
            imagesAllowed={row?.capabilities.imageAttachments ?? false}
            field={field}
            onSend={() => void launch()}
            tools={(mic) => (
              <>
                <button
                  ref={provider}
                  type="button"
                  className="btn"
                  aria-haspopup="listbox"
                  aria-expanded={shelf}
                  aria-controls="shelf"
                  onClick={openShelf}
                >
                  <span className="sr">Provider </span>
                  <span className="cut">{row?.label ?? 'not chosen'}</span>
                  {row && <Badge row={row} checking={false} />}
                  <Icon name={shelf ? 'up' : 'down'} className="i-s" />
                </button>
                {row && profile?.pinned_model === undefined && (
                  <ModelMenu
                    className="btn quiet"
                    model={chosenModel}
                    models={row.models}
                    authoritative={row.capabilities.modelsAreAuthoritative}
                    onChange={setModel}
                    onRefresh={actions.reloadProviders}
                  />
                )}
                {profile?.pinned_model !== undefined && (
                  <span className="chip" title={`Pinned by the profile ${profile.name}`}>
                    <Icon name="pin" />
                    <span className="cut">{profile.pinned_model}</span>
                  </span>
                )}
                <span className="push" />
                {mic}
                <button
                  type="submit"
                  className="btn primary"
                  title={why === '' ? 'Launch (Enter)' : why}
                  aria-disabled={why !== '' || busy}
                >
                  {label} <kbd className="kbd hide-narrow">Enter</kbd>
                </button>
              </>
            )}
          >
            {shelf && providers && (
              <ProviderShelf
                id="shelf"
                rows={providers}
                selected={row?.row ?? ''}
                checking={probing}
                onSelect={(chosen) => {
                  setPicked(chosen)
                  setModel('')
                  setShelf(false)
                  provider.current?.focus()
                }}
                onClose={() => {
                  setShelf(false)
                  provider.current?.focus()
                }}
              />
            )}
          </ComposerBox>
          {row && row.badge.status !== 'ready' && row.badge.hint !== '' && (
            <p className="micro ink-3 mt-2">{row.badge.hint}</p>
          )}
          {facts && !facts.trust_asked && !facts.trusted && (
            <TrustNote
              project={folder}
              onAnswer={(trusted) => actions.trustProject(folder, trusted)}
            />
          )}
          <Advanced
            mode={mode}
            onMode={(s) => {
              setMode(s)
              writeStored(s.id, 'mode')
            }}
            profiles={profiles}
            profile={profile}
            onProfile={(id) => {
              setPickedProfile(id)
              // A pick is the default from now on. Source: ui.md 4.2.
              actions.setDefaultProfile(id)
            }}
            place={row?.capabilities.remote ? undefined : place}
            onPlace={(next) => {
              setPickedPlace(next)
              void actions.setAppSetting('launch_location', next).then((reason) => {
                if (reason !== '') actions.say(reason, 'error')
              })
            }}
            placeNote={
              facts && !facts.git.is_git_repo
                ? 'This folder is no git repository, and a worktree needs one.'
                : ''
            }
          />
          <p className="help">
            {hints.map(([key, does]) => (
              <span key={key}>
                <kbd className="kbd">{key}</kbd>
                {does}
              </span>
            ))}
            <span>drag/paste images</span>
          </p>
          <Onboarding />
        </div>
      </div>
    </main>
  )
}
