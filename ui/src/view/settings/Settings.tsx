import { useEffect } from 'react'
import { settingRows } from '../../store/settings'
import { useActions, useBench } from '../bench'
import { ConnectionBanner } from '../status/ConnectionBanner'
import { KeyRow } from './KeyRow'
import { SettingField } from './SettingField'

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
  const settings = useBench((s) => s.providerSettings)
  const { reloadKeys, reloadProviderSettings } = useActions()
  useEffect(() => {
    if (!open) return
    reloadKeys()
    reloadProviderSettings()
  }, [open, reloadKeys, reloadProviderSettings])
  return (
    <main className="pane">
      <ConnectionBanner />
      <header className="bar">
        <h1>Settings</h1>
      </header>
      <div className="scroll grow">
        <div className="set-body">
          <header>
            <h2>API keys</h2>
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
          <header>
            <h2>Providers</h2>
            <p>
              Where each provider is called, and what may be asked of it. An empty field means the
              default. A change holds from the next turn on.
            </p>
          </header>
          <div className="panel">
            {settings &&
              settingRows.map((row) => (
                <SettingField key={row.key} row={row} settings={settings} />
              ))}
            {settings === undefined && <p className="none">The settings are being read…</p>}
          </div>
        </div>
      </div>
    </main>
  )
}
