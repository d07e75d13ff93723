import { useState } from 'react'
import type { KeyInfo, KeyTest } from '../../contract/gen'
import { Icon } from '../Icon'
import { useActions } from '../bench'
import type { KeyAccount } from './ProvidersGroup'

const testHue: Record<KeyTest['status'], string> = {
  accepted: 'green',
  rejected: 'red',
  missing: 'amber',
  rate_limited: 'amber',
  unreachable: 'red',
  unclear: 'amber',
}

/** One provider's key: whether there is one, a field for another, a test. */
export function KeyRow({ info, account }: { info: KeyInfo; account: KeyAccount }) {
  const { name, provider } = account
  const { setKey, deleteKey, testKey } = useActions()
  const [test, setTest] = useState<KeyTest | 'asking'>()
  const [text, setText] = useState('')
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  // A key of the environment is not ours to remove.
  const removable = info.present && !info.source?.startsWith('environment')

  const run = async (work: Promise<string>): Promise<void> => {
    setBusy(true)
    setTest(undefined)
    const reason = await work
    setBusy(false)
    setFailure(reason)
    setAsking(false)
  }
  return (
    <div className="key" role="group" aria-label={name}>
      <span className="mid">{name}</span>
      <form
        className="row grow"
        onSubmit={(e) => {
          e.preventDefault()
          const value = text.trim()
          if (value === '' || busy) return
          // It leaves the page with the request.
          setText('')
          void run(setKey(info.account, value))
        }}
      >
        <label className="field grow">
          <Icon name="key" className="i-s" />
          <input
            type="password"
            autoComplete="off"
            spellCheck={false}
            aria-label={`${name} API key`}
            placeholder={info.present ? 'Replace the key' : 'Paste a key'}
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
        </label>
        <button type="submit" className="btn" aria-disabled={text.trim() === '' || busy}>
          Save
        </button>
        {info.present && !asking && (
          <button
            type="button"
            className="btn"
            aria-disabled={test === 'asking'}
            title="Asks the provider with one small request"
            onClick={() => {
              if (test === 'asking') return
              setTest('asking')
              void testKey(provider).then(setTest)
            }}
          >
            Test
          </button>
        )}
        {removable && !asking && (
          <button type="button" className="btn quiet" onClick={() => setAsking(true)}>
            Remove
          </button>
        )}
        {removable && asking && (
          <>
            <button
              type="button"
              className="btn danger"
              onClick={() => void run(deleteKey(info.account))}
            >
              Remove the key
            </button>
            <button type="button" className="btn quiet" onClick={() => setAsking(false)}>
              Cancel
            </button>
          </>
        )}
      </form>
      <p className="state micro ink-3">
        {info.present
          ? `Stored (${info.source ?? 'credential store'}), ${endOf(info)}`
          : 'No key is stored.'}
      </p>
      {test !== undefined && (
        <p
          className={`state micro ${test === 'asking' ? 'ink-3' : testHue[test.status]}`}
          role="status"
        >
          {test === 'asking'
            ? 'Asking the provider…'
            : test.status === 'accepted'
              ? `${test.message} (${test.latency_ms} ms)`
              : test.message}
        </p>
      )}
      {failure !== '' && (
        <p className="state note red" role="alert">
          <Icon name="warn" className="i-s" />
          <span>{failure}</span>
        </p>
      )}
    </div>
  )
}

const endOf = (info: KeyInfo): string =>
  info.last4 === undefined ? 'too short to show its end.' : `ends in ${info.last4}.`
