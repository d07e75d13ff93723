import { act, fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation } from '../../../test/sample'
import type { BadgeStatus, ProviderRow } from '../../contract/model'
import { launchDraft } from '../../store/stores'
import { Launch } from './Launch'

const row = (id: string, status: BadgeStatus, hint = ''): ProviderRow => ({
  row: id,
  label: `Label of ${id}`,
  group: id === 'api-claude' ? 'Anthropic' : 'Other',
  transport: 'in-process',
  provider: `provider-of-${id}`,
  models: [
    { value: `${id}-big`, label: 'Big', contextWindow: 200_000, price: { input: 3, output: 15 } },
    { value: `${id}-small`, label: 'Small', contextWindow: 0, price: { input: 0, output: 0 } },
  ],
  badge: { status, hint },
  capabilities: sampleConversation().capabilities,
})
const show = (providers: ProviderRow[], text = 'do it') =>
  renderInBench(<Launch />, { providers, drafts: { [launchDraft]: text } })
const launchButton = () => screen.getByRole('button', { name: /^Launch/ })
const started = (noted: { name: string; args: unknown[] }[]) =>
  noted.filter((n) => n.name === 'start').map((n) => n.args[0])

describe('Launch', () => {
  it('starts with the first ready row, its first model and the careful details', () => {
    const { noted } = show([row('api-claude', 'ready'), row('api-demo', 'ready')])
    fireEvent.keyDown(screen.getByRole('textbox'), { key: 'Enter' })
    expect(started(noted)).toMatchObject([
      {
        provider: 'provider-of-api-claude',
        row: 'api-claude',
        model: 'api-claude-big',
        project_path: '/p',
        initial_message: 'do it',
        plan_mode: false,
        permission_mode: 'auto',
      },
    ])
  })
  it('launches once, however often it is pressed', () => {
    const { noted } = show([row('api-demo', 'ready')])
    for (let i = 0; i < 3; i++) fireEvent.click(launchButton())
    expect(started(noted)).toHaveLength(1)
  })
  it('says that only the demo is ready', () => {
    show([row('api-claude', 'missing_key'), row('api-demo', 'ready')])
    expect(
      screen.getByText(
        'No provider is set up yet — this demo runs offline. Add a key in Settings.',
      ),
    ).toBeTruthy()
  })
  it('is disabled with the service’s own words for a row that is not ready', () => {
    const { noted } = show([
      row('api-claude', 'missing_key', 'Add the key so.'),
      row('api-demo', 'ready'),
    ])
    fireEvent.click(screen.getByRole('button', { name: /^Provider/ }))
    fireEvent.click(screen.getByRole('option', { name: /api-claude/ }))
    expect(launchButton().getAttribute('title')).toBe('Add the key so.')
    expect(launchButton().getAttribute('aria-disabled')).toBe('true')
    fireEvent.click(launchButton())
    expect(started(noted)).toEqual([])
  })
  it('asks for the badges again each time the shelf opens', () => {
    const { noted } = show([row('api-demo', 'ready')])
    const provider = screen.getByRole('button', { name: /^Provider/ })
    fireEvent.click(provider)
    fireEvent.click(provider)
    fireEvent.click(provider)
    expect(noted.filter((n) => n.name === 'reloadProviders')).toHaveLength(2)
  })
  it('keeps a choice when a later badge would choose another row', () => {
    const { store, noted } = show([row('api-claude', 'missing_key'), row('api-demo', 'ready')])
    act(() => store.setState({ providers: [row('api-claude', 'ready'), row('api-demo', 'ready')] }))
    fireEvent.click(launchButton())
    expect(started(noted)).toMatchObject([{ row: 'api-demo' }])
  })
  it('maps its mode to plan and permission', () => {
    const { noted } = show([row('api-demo', 'ready')])
    fireEvent.click(screen.getByRole('button', { name: /^Advanced/ }))
    fireEvent.click(screen.getByRole('radio', { name: 'Ask' }))
    fireEvent.click(launchButton())
    expect(started(noted)).toMatchObject([{ plan_mode: true, permission_mode: 'auto' }])
  })
  it('does not call a machine with a ready custom endpoint empty', () => {
    show([row('api-custom', 'ready'), row('api-demo', 'ready')])
    expect(screen.queryByText(/No provider is set up yet/)).toBeNull()
  })
  it('marks the folder that was refused, in the service’s words, until it is edited', async () => {
    const project = 'The folder /p does not exist. Choose another one.'
    const { noted } = renderInBench(
      <Launch />,
      { providers: [row('api-demo', 'ready')], drafts: { [launchDraft]: 'do it' } },
      { start: () => Promise.resolve({ ok: false, project }) },
    )
    const field = screen.getByRole('combobox', { name: 'Project folder' })
    expect(field.getAttribute('aria-invalid')).toBe('false')
    fireEvent.click(launchButton())
    expect((await screen.findByRole('alert')).textContent).toBe(project)
    expect(started(noted)).toHaveLength(1)
    expect(field.getAttribute('aria-invalid')).toBe('true')
    expect(document.activeElement).toBe(field)
    fireEvent.change(field, { target: { value: '/q' } })
    expect(field.getAttribute('aria-invalid')).toBe('false')
    expect(screen.queryByRole('alert')).toBeNull()
  })
  it('does nothing without words', () => {
    const { noted } = show([row('api-demo', 'ready')], '  ')
    fireEvent.click(launchButton())
    expect(started(noted)).toEqual([])
  })
})
