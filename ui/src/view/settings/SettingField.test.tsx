import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import type { ProviderSettings } from '../../contract/model'
import { settingRows } from '../../store/settings'
import { SettingField } from './SettingField'

const nothing: ProviderSettings = {
  urls: {},
  customModels: [],
  ollamaContextCap: '',
  ollamaKeepAlive: '',
}
const show = (key: string, settings: Partial<ProviderSettings> = {}, reason = '') => {
  const row = settingRows.find((r) => r.key === key)
  if (!row) throw new Error(`There is no row ${key}.`)
  return renderInBench(
    <SettingField row={row} settings={{ ...nothing, ...settings }} />,
    {},
    { setProviderSetting: () => Promise.resolve(reason) },
  )
}
const field = () => screen.getByRole<HTMLInputElement>('textbox')
const type = (value: string) => fireEvent.change(field(), { target: { value } })
const save = () => screen.getByRole('button', { name: /^Save/ })
const reset = () => screen.getByRole('button', { name: /^Reset/ })

describe('SettingField', () => {
  it.each([
    ['ollama_base_url', ' http://box:11434 ', 'http://box:11434'],
    ['ollama_num_ctx_cap', '32768', 32768],
    // The service says what is wrong with it.
    ['ollama_num_ctx_cap', 'much', 'much'],
    ['custom_compat_models', 'one\n\ntwo\n', ['one', 'two']],
    ['named_provider_base_urls.openai', 'http://127.0.0.1:1/v1', 'http://127.0.0.1:1/v1'],
  ])('saves %s of %j as %j', async (key, text, value) => {
    const { noted } = show(key)
    expect(save().getAttribute('aria-disabled')).toBe('true')
    type(text)
    fireEvent.click(save())
    await screen.findByText('Saved.')
    expect(noted).toEqual([{ name: 'setProviderSetting', args: [key, value] }])
  })
  it.each([
    ['the arrow', () => fireEvent.click(reset())],
    [
      'an empty field',
      () => {
        type('')
        fireEvent.click(save())
      },
    ],
  ])('clears with %s', async (_name, act) => {
    const { noted } = show('ollama_keep_alive', { ollamaKeepAlive: '1h' })
    expect(field().value).toBe('1h')
    act()
    await screen.findByText('Back to the default.')
    expect(noted).toEqual([{ name: 'setProviderSetting', args: ['ollama_keep_alive', null] }])
  })
  it('shows the default in the empty field and has nothing to reset', () => {
    const { noted } = show('ollama_keep_alive')
    expect(field().placeholder).toBe('30m')
    expect(reset().getAttribute('aria-disabled')).toBe('true')
    fireEvent.click(reset())
    expect(noted).toEqual([])
  })
  it('keeps a refused text with its reason, until it is edited', async () => {
    show('ollama_base_url', {}, 'An URL must begin with http:// or https://.')
    type('ftp://x')
    fireEvent.click(save())
    expect((await screen.findByRole('alert')).textContent).toContain('must begin with http://')
    expect(field().getAttribute('aria-invalid')).toBe('true')
    expect(field().value).toBe('ftp://x')
    type('http://x')
    expect(screen.queryByRole('alert')).toBeNull()
  })
})
