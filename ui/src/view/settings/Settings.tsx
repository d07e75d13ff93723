import { useEffect } from 'react'
import { useActions, useBench } from '../bench'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { KeyRow } from './KeyRow'

// Names of the accounts that belong to providers. Source: contract.md 10.
const names: Record<string, string> = {
  'api-key-anthropic': 'Anthropic',
  'api-key-openai': 'OpenAI',
  'api-key-openrouter': 'OpenRouter',
  'api-key-minimax': 'MiniMax',
  'api-key-custom': 'Custom endpoint',
}

/** What holds for every conversation. */
export function Settings() {
  const keys = useBench((s) => s.keys)
  const open = useBench((s) => s.link.phase === 'open')
  const { reloadKeys } = useActions()
  useEffect(() => {
    if (open) reloadKeys()
  }, [open, reloadKeys])
  return (
    <main className="pane">
      <ConnectionBanner />
      <header className="bar">
        <h2>Settings</h2>
      </header>
      <div className="scroll grow">
        <div className="set-body">
          <header>
            <h1>API keys</h1>
            <p>
              A key is kept in the credential store of this machine. It is used to call its provider
              and is never shown again, here or in a log.
            </p>
          </header>
          <div className="panel">
            {(keys ?? [])
              .filter((k) => k.account in names)
              .map((k) => (
                <KeyRow key={k.account} info={k} name={names[k.account] ?? k.account} />
              ))}
            {keys === undefined && <p className="none">The keys are being looked up…</p>}
          </div>
        </div>
      </div>
    </main>
  )
}
