import { Segments } from '../Segments'
import { useActions, useBench } from '../bench'
import { SetRow } from './SetRow'

/** Theme and densities of this browser. */
export function AppearanceGroup() {
  const prefs = useBench((s) => s.prefs)
  const { setPrefs } = useActions()
  return (
    <div className="panel">
      <SetRow label="Theme" scope="This browser" hint="System follows the computer.">
        <Segments
          name="Theme"
          value={prefs.theme}
          choices={[
            { id: 'system', label: 'System' },
            { id: 'dark', label: 'Dark' },
            { id: 'light', label: 'Light' },
          ]}
          onChange={(theme) => setPrefs({ theme })}
        />
      </SetRow>
      <SetRow
        label="Rows"
        scope="This browser"
        hint="Compact shows more; cozy is easier to hit. Touch has large rows by itself."
      >
        <Segments
          name="Rows"
          value={prefs.density}
          choices={[
            { id: 'compact', label: 'Compact' },
            { id: 'cozy', label: 'Cozy' },
          ]}
          onChange={(density) => setPrefs({ density })}
        />
      </SetRow>
      <SetRow
        label="Transcript"
        scope="This browser"
        hint="Summary hides thinking and details, Verbose opens every card."
      >
        <Segments
          name="Transcript"
          value={prefs.transcript}
          choices={[
            { id: 'summary', label: 'Summary' },
            { id: 'normal', label: 'Normal' },
            { id: 'verbose', label: 'Verbose' },
          ]}
          onChange={(transcript) => setPrefs({ transcript })}
        />
      </SetRow>
    </div>
  )
}
