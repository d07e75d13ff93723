import { Dialog } from 'radix-ui'
import { useRef, useState } from 'react'
import { baseName } from '../../store/format'
import { templateFor, templatesOf } from '../../store/workspace'
import { useBench, useWork, useWorkActions } from '../bench'
import { ProjectPicker } from '../launch/ProjectPicker'

interface Props {
  onClose: () => void
  onMade: (id: string) => void
}

/** A project folder, and what is opened in it to begin with. */
export function NewWorkspace({ onClose, onMade }: Props) {
  const { create } = useWorkActions()
  const presets = useWork((s) => s.presets)
  const settings = useWork((s) => s.settings)
  const workspaces = useWork((s) => s.workspaces)
  const summaries = useBench((s) => s.summaries)
  const field = useRef<HTMLInputElement>(null)
  const known = [
    ...new Set([
      ...(workspaces ?? []).map((w) => w.projectPath),
      ...(summaries ?? []).map((s) => s.worktree?.base_path ?? s.project_path),
    ]),
  ].filter((p) => p !== '')
  const [path, setPath] = useState('')
  const [chosen, setChosen] = useState('')
  const [busy, setBusy] = useState(false)
  const templates = templatesOf(presets ?? [])
  const project = path.trim()
  // What this project was given last, else the first that there is.
  const usual = templateFor(settings, project)
  const template =
    templates.find((t) => t.id === chosen) ?? templates.find((t) => t.id === usual) ?? templates[0]
  const absolute = project === '' || /^(\/|[A-Za-z]:[\\/])/.test(project)
  const submit = async (): Promise<void> => {
    if (busy || !absolute) return
    setBusy(true)
    const name = project === '' ? 'Scratch' : baseName(project)
    const id = await create(name, project, template)
    setBusy(false)
    if (id !== '') onMade(id)
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-scrim" />
        <Dialog.Content className="dialog new-work">
          <Dialog.Title>New workspace</Dialog.Title>
          <Dialog.Description className="ink-2">
            Without a folder it works in a scratch folder of the service.
          </Dialog.Description>
          <form
            className="form"
            onSubmit={(e) => {
              e.preventDefault()
              void submit()
            }}
          >
            <ProjectPicker
              field={field}
              value={path}
              known={known}
              error={absolute ? '' : 'Write the whole path, beginning at the root.'}
              onChange={setPath}
            />
            {!absolute && (
              <p className="red micro" id="project-error">
                Write the whole path, beginning at the root.
              </p>
            )}
            <fieldset className="templates">
              <legend className="micro ink-3">Opens with</legend>
              {templates.map((t) => (
                <label key={t.id} className="item">
                  <input
                    type="radio"
                    name="template"
                    checked={t === template}
                    onChange={() => setChosen(t.id)}
                  />
                  <span className="mid keep">{t.label}</span>
                  <span className="ink-3 cut">{t.holds}</span>
                </label>
              ))}
              {presets === undefined && <p className="ink-3">Looking for programs…</p>}
              {presets !== undefined && templates.length === 0 && (
                <p className="ink-3">
                  No shell or agent was found on PATH; tiles can be added later.
                </p>
              )}
            </fieldset>
            <div className="acts">
              <Dialog.Close className="btn quiet">Cancel</Dialog.Close>
              <button
                type="submit"
                className="btn primary"
                disabled={busy || presets === undefined}
              >
                Create workspace
              </button>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
