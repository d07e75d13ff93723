import { act, fireEvent, screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation } from '../../../test/sample'
import type { Profile, ProjectFacts } from '../../contract/gen'
import type { BadgeStatus, ProviderRow } from '../../contract/model'
import type { WindowState } from '../../store/stores'
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
  const named = (id: string, change: Partial<Profile> = {}): Profile => ({
    id,
    name: id,
    description: `About ${id}`,
    system_prompt: '',
    allowed_tools: null,
    memory_context_enabled: true,
    permission_mode: 'auto',
    plan_mode: false,
    is_builtin: true,
    created_at: 0,
    updated_at: 0,
    ...change,
  })
  const withProfiles = (
    state: Partial<WindowState> = {},
    profiles = [named('builtin-default'), named('Surgeon of things')],
  ) =>
    renderInBench(<Launch />, {
      providers: [row('api-demo', 'ready')],
      drafts: { [launchDraft]: 'do it' },
      profiles: { profiles, default: 'builtin-default' },
      ...state,
    })
  const settings = {
    launchLocation: 'project' as const,
    defaultProject: '',
    autoFailover: true,
    autoArchive: true,
    autoArchiveDays: 14,
    auditDays: 7,
  }
  const open = (name: string | RegExp) =>
    fireEvent.pointerDown(screen.getByRole('button', { name }), { button: 0, ctrlKey: false })
  const facts = (change: Partial<ProjectFacts> = {}): ProjectFacts => ({
    git: {
      is_git_repo: true,
      branch: 'main',
      has_upstream: true,
      is_clean: false,
      uncommitted_count: 3,
      staged_count: 0,
      ahead_upstream: 0,
      behind_upstream: 2,
      warnings: [],
    },
    mcp: { servers: [], read_errors: [] },
    trusted: true,
    trust_asked: true,
    ...change,
  })

  it('has Advanced folded while all is as ever, and open with a summary else', () => {
    withProfiles({ appSettings: settings })
    const advanced = screen.getByRole('button', { name: 'Advanced' })
    expect(advanced.getAttribute('aria-expanded')).toBe('false')
    fireEvent.click(advanced)
    fireEvent.click(screen.getByRole('radio', { name: 'Manual' }))
    fireEvent.click(screen.getByRole('radio', { name: 'Worktree' }))
    fireEvent.click(advanced)
    expect(screen.getByRole('button', { name: /^Advanced/ }).textContent).toBe(
      'AdvancedManual · Worktree',
    )
  })
  it('opens Advanced by itself where the stored place is a worktree', () => {
    const { noted } = withProfiles({ appSettings: { ...settings, launchLocation: 'worktree' } })
    expect(screen.getByRole('radio', { name: 'Worktree' }).getAttribute('aria-checked')).toBe(
      'true',
    )
    fireEvent.click(launchButton())
    expect(started(noted)).toMatchObject([{ worktree: true, profile: 'builtin-default' }])
  })
  it('pins a profile as the default when it is picked, and launches with it', () => {
    const { noted } = withProfiles()
    fireEvent.click(screen.getByRole('button', { name: 'Advanced' }))
    open('Profile builtin-default')
    fireEvent.click(screen.getByRole('menuitemradio', { name: /Surgeon/ }))
    fireEvent.click(launchButton())
    expect(noted.find((n) => n.name === 'setDefaultProfile')?.args).toEqual(['Surgeon of things'])
    expect(started(noted)).toMatchObject([{ profile: 'Surgeon of things' }])
    fireEvent.click(screen.getByRole('button', { name: /^Advanced/ }))
    // Cut at twelve, so that the others keep their place.
    expect(screen.getByText('Surgeon of t…')).toBeTruthy()
  })
  it('lets a profile pin the model', () => {
    const { noted } = withProfiles({}, [named('builtin-default', { pinned_model: 'opus' })])
    fireEvent.click(launchButton())
    expect(started(noted)).toMatchObject([{ model: 'opus' }])
    expect(screen.queryByRole('button', { name: /^Model/ })).toBeNull()
  })
  it('shows the size of a window and the price of a model', () => {
    show([row('api-demo', 'ready')])
    open(/^Model/)
    expect(screen.getByRole('menuitemradio', { name: /Big/ }).textContent).toBe(
      'Big200k · $3 in · $15 out',
    )
    expect(screen.getByRole('menuitemradio', { name: /Small/ }).textContent).toBe('Small')
  })
  it('picks a project that was used before, with the keys', () => {
    const used = { ...sampleConversation(), project_path: '/home/mira/harborline' }
    const { noted } = renderInBench(<Launch />, {
      providers: [row('api-demo', 'ready')],
      drafts: { [launchDraft]: 'do it' },
      summaries: [used],
    })
    const field = screen.getByRole('combobox', { name: 'Project folder' })
    fireEvent.focus(field)
    const list = screen.getByRole('listbox', { name: 'Projects' })
    expect(within(list).getAllByRole('option')).toHaveLength(2)
    fireEvent.keyDown(field, { key: 'ArrowDown' })
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(screen.queryByRole('listbox', { name: 'Projects' })).toBeNull()
    fireEvent.click(launchButton())
    expect(started(noted)).toMatchObject([{ project_path: '/home/mira/harborline' }])
  })
  it('shows the branch, what is not committed and how far behind it is', () => {
    renderInBench(<Launch />, {
      providers: [row('api-demo', 'ready')],
      projects: { '/p': facts() },
    })
    expect(screen.getByText('main')).toBeTruthy()
    expect(screen.getByRole('img', { name: '3 uncommitted change(s)' })).toBeTruthy()
    expect(screen.getByRole('img', { name: '2 behind upstream' })).toBeTruthy()
  })
  it('asks once whether a project is trusted, and launches either way', () => {
    const { noted, store } = renderInBench(<Launch />, {
      providers: [row('api-demo', 'ready')],
      drafts: { [launchDraft]: 'do it' },
      projects: { '/p': facts({ trusted: false, trust_asked: false }) },
    })
    const ask = screen.getByRole('group', { name: 'Trust this project?' })
    fireEvent.click(within(ask).getByRole('button', { name: 'Do not trust' }))
    expect(noted.find((n) => n.name === 'trustProject')?.args).toEqual(['/p', false])
    act(() => store.setState({ projects: { '/p': facts({ trusted: false }) } }))
    expect(screen.queryByRole('group', { name: 'Trust this project?' })).toBeNull()
    fireEvent.click(launchButton())
    expect(started(noted)).toHaveLength(1)
  })
  it('names files with @ from the chosen folder, and has no built-in commands', async () => {
    const { noted } = renderInBench(
      <Launch />,
      { providers: [row('api-demo', 'ready')], drafts: { [launchDraft]: '' } },
      { findFiles: () => Promise.resolve(['a.go']) },
    )
    const text = screen.getByRole<HTMLTextAreaElement>('textbox')
    fireEvent.change(text, { target: { value: 'see @a' } })
    await screen.findByRole('option', { name: 'a.go' })
    fireEvent.keyDown(text, { key: 'Tab' })
    expect(text.value).toBe('see @a.go ')
    expect(noted.find((n) => n.name === 'findFiles')?.args).toEqual(['/p', 'a'])
    fireEvent.change(text, { target: { value: '/pl' } })
    expect(await screen.findByText('No matching commands')).toBeTruthy()
    fireEvent.keyDown(text, { key: 'Enter' })
    expect(started(noted)).toEqual([])
  })
  it('shows the first steps once', () => {
    const first = show([row('api-demo', 'ready')])
    fireEvent.click(screen.getByRole('button', { name: 'Got it' }))
    expect(screen.queryByRole('region', { name: 'First steps' })).toBeNull()
    first.unmount()
    show([row('api-demo', 'ready')])
    expect(screen.queryByRole('region', { name: 'First steps' })).toBeNull()
  })
})
