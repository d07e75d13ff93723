import { useId, useState } from 'react'
import type { ProviderSettings } from '../../contract/model'
import type { SettingRow } from '../../store/settings'
import { Icon } from '../Icon'
import { useActions } from '../bench'

// A list shows this many lines before it scrolls.
const longRows = 3

/** One setting: its field, a tick that saves, an arrow back to the default. */
export function SettingField({ row, settings }: { row: SettingRow; settings: ProviderSettings }) {
  const { setProviderSetting } = useActions()
  const id = useId()
  const stored = row.text(settings)
  // undefined: what is stored is shown, also when another window changes it.
  const [typed, setTyped] = useState<string>()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const [said, setSaid] = useState('')
  const text = typed ?? stored
  const changed = text.trim() !== stored.trim()
  const canSave = changed && !busy
  const canReset = (stored !== '' || changed) && !busy

  const save = async (value: unknown, words: string): Promise<void> => {
    setBusy(true)
    setSaid('')
    const reason = await setProviderSetting(row.key, value)
    setBusy(false)
    setFailure(reason)
    if (reason !== '') return
    setTyped(undefined)
    setSaid(words)
  }
  const submit = (): void => {
    if (!canSave) return
    const value = text.trim()
    void save(
      value === '' ? null : row.value(value),
      value === '' ? 'Back to the default.' : 'Saved.',
    )
  }
  const reset = (): void => {
    if (!canReset) return
    if (stored !== '') {
      void save(null, 'Back to the default.')
      return
    }
    setTyped(undefined)
    setFailure('')
  }
  const field = {
    id,
    value: text,
    spellCheck: false,
    autoCapitalize: 'off',
    autoComplete: 'off',
    placeholder: row.fallback === '' ? 'Not set' : row.fallback,
    'aria-invalid': failure !== '',
    'aria-describedby': `${id}-hint`,
    onChange: (e: { target: { value: string } }) => {
      setTyped(e.target.value)
      setFailure('')
      setSaid('')
    },
  }
  return (
    <div className="key">
      <label className="mid" htmlFor={id}>
        {row.label}
      </label>
      <form
        className="row grow"
        onSubmit={(e) => {
          e.preventDefault()
          submit()
        }}
      >
        <span className={`field grow ${row.long ? 'long' : ''} ${failure === '' ? '' : 'bad'}`}>
          {row.long ? <textarea rows={longRows} {...field} /> : <input {...field} />}
        </span>
        <button
          type="submit"
          className="ico"
          aria-label={`Save ${row.label}`}
          title={changed ? 'Save' : 'Nothing to save'}
          aria-disabled={!canSave}
        >
          <Icon name="check" />
        </button>
        <button
          type="button"
          className="ico"
          aria-label={`Reset ${row.label}`}
          title={canReset ? 'Back to the default' : 'This is the default'}
          aria-disabled={!canReset}
          onClick={reset}
        >
          <Icon name="undo" />
        </button>
      </form>
      <p className="state micro ink-3" id={`${id}-hint`}>
        {row.hint}{' '}
        <span className="green" role="status">
          {said}
        </span>
      </p>
      {failure !== '' && (
        <p className="state note red" role="alert">
          <Icon name="warn" className="i-s" />
          <span>{failure}</span>
        </p>
      )}
    </div>
  )
}
