import { useEffect } from 'react'
import { settingRows } from '../../store/settings'
import { useActions, useBench } from '../bench'
import { KeyRow } from './KeyRow'
import { SettingField } from './SettingField'

/** An account that belongs to a provider. Source: contract.md 10. */
export interface KeyAccount {
  name: string
  provider: string
}

const accounts: Record<string, KeyAccount> = {
  'api-key-anthropic': { name: 'Anthropic', provider: 'anthropic' },
  'api-key-openai': { name: 'OpenAI', provider: 'openai' },
  'api-key-openrouter': { name: 'OpenRouter', provider: 'openrouter' },
  'api-key-minimax': { name: 'MiniMax', provider: 'minimax' },
  'api-key-custom': { name: 'Custom endpoint', provider: 'custom' },
}

/** Keys, and where each provider is called. */
export function ProvidersGroup() {
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
    <>
      <h2>API keys</h2>
      <div className="panel">
        {(keys ?? []).flatMap((k) => {
          const account = accounts[k.account]
          return account ? [<KeyRow key={k.account} info={k} account={account} />] : []
        })}
        {keys === undefined && <p className="none">The keys are being looked up…</p>}
      </div>
      <h2>Providers</h2>
      <p className="ink-2 mb-2">
        Where each provider is called, and what may be asked of it. An empty field means the
        default. A change holds from the next turn on.
      </p>
      <div className="panel">
        {settings &&
          settingRows.map((row) => <SettingField key={row.key} row={row} settings={settings} />)}
        {settings === undefined && <p className="none">The settings are being read…</p>}
      </div>
    </>
  )
}
