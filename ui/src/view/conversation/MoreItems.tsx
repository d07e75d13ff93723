import { DropdownMenu } from 'radix-ui'
import type { ExportFormat } from '../../contract/gen'
import { transcriptDensities } from '../../store/prefs'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { pathOf } from '../navigate'

const densityNames = { summary: 'Summary', normal: 'Normal', verbose: 'Verbose' }
// One name, so that a second send goes to the window that is there.
const monitorWindow = 'packetbench-monitor'

/** The rest of a conversation's menu: what is shown of it, and where it goes. */
export function MoreItems({ id, onPrompt }: { id: string; onPrompt: () => void }) {
  const transcript = useBench((s) => s.prefs.transcript)
  const { setPrefs, say, exportTranscript } = useActions()
  const save = async (format: ExportFormat): Promise<void> => {
    const file = await exportTranscript(id, format)
    if (!file) return
    const url = URL.createObjectURL(new Blob([file.content], { type: file.media_type }))
    const link = document.createElement('a')
    link.href = url
    link.download = file.file_name
    link.click()
    URL.revokeObjectURL(url)
    say(`Exported as ${file.file_name}`)
  }
  const monitor = (): void => {
    const opened = window.open(pathOf({ view: 'monitor', id }), monitorWindow)
    say(opened ? 'Sent to Monitor' : 'Monitor could not be opened', opened ? 'info' : 'error')
  }
  return (
    <>
      <DropdownMenu.Item className="mi" onSelect={() => void save('md')}>
        <Icon name="file" />
        <span className="grow">Export as Markdown</span>
      </DropdownMenu.Item>
      <DropdownMenu.Item className="mi" onSelect={() => void save('json')}>
        <Icon name="file" />
        <span className="grow">Export as JSON</span>
      </DropdownMenu.Item>
      <DropdownMenu.Item className="mi" onSelect={monitor}>
        <Icon name="eye" />
        <span className="grow">Send to Monitor</span>
      </DropdownMenu.Item>
      <DropdownMenu.Item className="mi" onSelect={onPrompt}>
        <Icon name="list" />
        <span className="grow">Show the system prompt…</span>
      </DropdownMenu.Item>
      <hr />
      <h4>View mode</h4>
      <DropdownMenu.RadioGroup
        value={transcript}
        onValueChange={(chosen) => {
          const next = transcriptDensities.find((d) => d === chosen)
          if (next) setPrefs({ transcript: next })
        }}
      >
        {transcriptDensities.map((d) => (
          <DropdownMenu.RadioItem key={d} value={d} className="mi">
            <span className={d === transcript ? 'radio on' : 'radio'} aria-hidden="true" />
            <span className="grow">{densityNames[d]}</span>
          </DropdownMenu.RadioItem>
        ))}
      </DropdownMenu.RadioGroup>
    </>
  )
}
