import { useEffect, useMemo, useRef, useState } from 'react'
import { newConversationId } from '../../contract/subjects'
import type { Segment } from '../../store/posture'
import { segments } from '../../store/posture'
import { demoNotice, demoOnly, pickRow } from '../../store/providers'
import { readStored, writeStored } from '../../store/storage'
import type { Staged } from '../../store/stores'
import { launchDraft } from '../../store/stores'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { ImageChips } from '../composer/ImageChips'
import { ModelMenu } from '../composer/ModelMenu'
import { composerKey, isTouch } from '../composer/keys'
import { useImageDrop } from '../composer/useImageDrop'
import { useNavigation } from '../navigate'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { Link } from '../Link'
import { ModeSegments } from './ModeSegments'
import { Badge, ProviderShelf } from './ProviderShelf'

const noImages: Staged[] = []

// One launch per this time, however often it is pressed. Source: ui.md 4.4.
const singleFlightMs = 500

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
  const [model, setModel] = useState('')
  const [typedProject, setProject] = useState<string>()
  const [projectError, setProjectError] = useState('')
  const [mode, setMode] = useState(storedSegment)
  const [advanced, setAdvanced] = useState(() => storedSegment().id !== 'agent')
  const [shelf, setShelf] = useState(false)
  const [probing, setProbing] = useState(false)
  const [busy, setBusy] = useState(false)
  const composing = useRef(false)
  const lastTry = useRef(0)

  const text = draft ?? readStored('draft', launchDraft)
  // Probed once: a later badge does not change a choice under one's hands.
  const [auto, setAuto] = useState('')
  if (auto === '' && providers && providers.length > 0) setAuto(pickRow(providers)?.row ?? '')
  const row = providers?.find((p) => p.row === (picked || auto))
  const chosenModel = model || (row?.models[0]?.value ?? '')
  const projects = useMemo(
    () => [...new Set((summaries ?? []).map((s) => s.project_path).filter(Boolean))],
    [summaries],
  )
  const project = typedProject ?? (readStored('project') || (session?.project_path ?? ''))
  const drop = useImageDrop(row?.capabilities.imageAttachments ?? false, (added) =>
    actions.stage(launchDraft, added),
  )

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
    if (project.trim() === '') return 'Name a project folder first.'
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
        model: chosenModel,
        project_path: project.trim(),
        initial_message: text.trim(),
        plan_mode: mode.planMode,
        permission_mode: mode.permissionMode,
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
    writeStored(project.trim(), 'project')
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
          <div className="project">
            <label className={projectError === '' ? 'field soft' : 'field bad'}>
              <Icon name="folder" className="i-s" />
              <input
                ref={projectField}
                aria-label="Project folder"
                aria-invalid={projectError !== ''}
                aria-describedby={projectError === '' ? undefined : 'project-error'}
                placeholder="/path/to/project"
                list="known-projects"
                value={project}
                spellCheck={false}
                autoCapitalize="off"
                onChange={(e) => {
                  setProject(e.target.value)
                  setProjectError('')
                  // Another folder is another launch.
                  lastTry.current = 0
                }}
              />
              <datalist id="known-projects">
                {projects.map((p) => (
                  <option key={p} value={p} />
                ))}
              </datalist>
            </label>
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
              <Link className="btn sm no-underline" to={{ view: 'settings' }}>
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
          <form
            className={drop.over ? 'composer drop' : 'composer'}
            aria-label="New agent"
            onSubmit={(e) => {
              e.preventDefault()
              void launch()
            }}
            {...drop.handlers}
          >
            <ImageChips images={images} onRemove={(id) => actions.unstage(launchDraft, id)} />
            <textarea
              ref={field}
              rows={4}
              aria-label="What would you like to work on?"
              placeholder="What would you like to work on?"
              value={text}
              onChange={(e) => actions.setDraft(launchDraft, e.target.value)}
              onCompositionStart={() => (composing.current = true)}
              onCompositionEnd={() => (composing.current = false)}
              onBlur={() => (composing.current = false)}
              onKeyDown={(e) => {
                const key = composerKey(
                  {
                    key: e.key,
                    shiftKey: e.shiftKey,
                    ctrlKey: e.ctrlKey,
                    metaKey: e.metaKey,
                    altKey: e.altKey,
                    isComposing: e.nativeEvent.isComposing || composing.current,
                    keyCode: e.keyCode,
                  },
                  {
                    chat: false,
                    touch: isTouch(),
                    empty: text === '',
                    caretAtStart: false,
                    browsing: false,
                  },
                )
                if (key !== 'send') return
                e.preventDefault()
                void launch()
              }}
            />
            <div className="tools">
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
              {row && (
                <ModelMenu
                  className="btn quiet"
                  model={chosenModel}
                  models={row.models}
                  authoritative={row.capabilities.modelsAreAuthoritative}
                  onChange={setModel}
                />
              )}
              <span className="push" />
              <button
                type="submit"
                className="btn primary"
                title={why === '' ? 'Launch (Enter)' : why}
                aria-disabled={why !== '' || busy}
              >
                {label} <kbd className="kbd hide-narrow">Enter</kbd>
              </button>
            </div>
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
          </form>
          {row && row.badge.status !== 'ready' && row.badge.hint !== '' && (
            <p className="micro ink-3 mt-2">{row.badge.hint}</p>
          )}
          <section className="adv">
            <button
              type="button"
              className="line"
              aria-expanded={advanced}
              onClick={() => setAdvanced(!advanced)}
            >
              <Icon name={advanced ? 'down' : 'right'} />
              <span className="mid text-ink">Advanced</span>
              {mode.id !== 'agent' && <span className="ink-3 cut">{mode.label}</span>}
            </button>
            {advanced && (
              <dl>
                <dt>Mode</dt>
                <dd>
                  <ModeSegments
                    value={mode.id}
                    onChange={(s) => {
                      setMode(s)
                      writeStored(s.id, 'mode')
                    }}
                  />
                  <span className="ink-3">{mode.description}</span>
                </dd>
              </dl>
            )}
          </section>
          <p className="help">
            <span>
              <kbd className="kbd">Enter</kbd>to send
            </span>
            <span>
              <kbd className="kbd">Shift+Enter</kbd>for newline
            </span>
            <span>
              <kbd className="kbd">Alt+N</kbd>for new agent
            </span>
            <span>drag/paste images</span>
          </p>
        </div>
      </div>
    </main>
  )
}
