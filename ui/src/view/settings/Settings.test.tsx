import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { renderInBench } from '../../../test/bench'
import type { Profile } from '../../contract/gen'
import type { SidecarStatus } from '../../contract/model'
import { readPrefs } from '../../store/prefs'
import { shortcuts } from '../shortcuts'
import { findGroups } from './groups'
import { readTools } from './ProfileEditor'
import { Settings } from './Settings'

const profile = (id: string, change: Partial<Profile> = {}): Profile => ({
  id,
  name: `Name of ${id}`,
  description: 'Does things.',
  system_prompt: '',
  allowed_tools: null,
  memory_context_enabled: true,
  permission_mode: 'auto',
  plan_mode: false,
  is_builtin: false,
  created_at: 1,
  updated_at: 1,
  ...change,
})
const profiles = {
  profiles: [
    profile('builtin-default', { name: 'Default', is_builtin: true }),
    profile('builtin-scout', { name: 'Scout', is_builtin: true, plan_mode: true }),
    profile('mine', { name: 'Mine', allowed_tools: ['grep'] }),
  ],
  default: 'builtin-default',
}

describe('Settings', () => {
  it('finds a group by what is in it, and goes there with Enter', () => {
    const { went } = renderInBench(<Settings group="appearance" />)
    const nav = screen.getByRole('navigation', { name: 'Settings groups' })
    const search = screen.getByRole('textbox', { name: 'Search settings' })
    fireEvent.change(search, { target: { value: 'failover' } })
    expect(
      within(nav)
        .getAllByRole('link')
        .map((l) => l.textContent),
    ).toEqual(['Agent behavior'])
    fireEvent.keyDown(search, { key: 'Enter' })
    expect(went).toEqual([{ view: 'settings', group: 'agents' }])
    fireEvent.change(search, { target: { value: 'zebra' } })
    expect(nav.textContent).toContain('No setting says “zebra”')
  })
  it('has every word of a search in one group', () => {
    expect(findGroups('API key')).toEqual(['providers'])
    expect(findGroups('')).toHaveLength(7)
  })
})

describe('Settings > Profiles', () => {
  it('shows the built-in ones to clone and star, not to edit', () => {
    const { noted } = renderInBench(<Settings group="profiles" />, { profiles })
    const scout = screen.getByRole('article', { name: 'Scout' })
    expect(within(scout).queryByRole('button', { name: /Edit/ })).toBeNull()
    fireEvent.click(within(scout).getByRole('button', { name: 'Clone Scout' }))
    fireEvent.click(within(scout).getByRole('button', { name: 'Scout is the default' }))
    expect(noted.filter((n) => !n.name.startsWith('reload'))).toEqual([
      { name: 'cloneProfile', args: ['builtin-scout'] },
      { name: 'setDefaultProfile', args: ['builtin-scout'] },
    ])
  })
  it('edits one of the person’s own and saves it with Ctrl+Enter', async () => {
    const { noted } = renderInBench(<Settings group="profiles" />, { profiles })
    fireEvent.click(screen.getByRole('button', { name: 'Edit Mine' }))
    const form = screen.getByRole('form', { name: 'Profile Mine' })
    fireEvent.change(within(form).getByLabelText('Name'), { target: { value: ' Release notes ' } })
    fireEvent.change(within(form).getByLabelText('Tools'), { target: { value: '' } })
    fireEvent.click(within(form).getByRole('radio', { name: 'Ask risky' }))
    fireEvent.click(within(form).getByRole('switch', { name: 'Memory' }))
    expect(form.textContent).toContain('Nothing is remembered yet')
    fireEvent.keyDown(form, { key: 'Enter', ctrlKey: true })
    await waitFor(() => expect(screen.queryByRole('form')).toBeNull())
    expect(noted.find((n) => n.name === 'saveProfile')?.args[0]).toMatchObject({
      id: 'mine',
      name: 'Release notes',
      allowed_tools: null,
      permission_mode: 'ask_for_risky',
      memory_context_enabled: false,
    })
  })
  it('keeps the form with the reason when it is refused', async () => {
    renderInBench(
      <Settings group="profiles" />,
      { profiles },
      { saveProfile: () => Promise.resolve('That name is taken.') },
    )
    fireEvent.click(screen.getByRole('button', { name: 'Edit Mine' }))
    fireEvent.click(screen.getByRole('button', { name: /^Save/ }))
    expect((await screen.findByRole('alert')).textContent).toContain('That name is taken.')
    expect(screen.getByRole('form')).toBeTruthy()
  })
  it('asks before it deletes', async () => {
    const { noted } = renderInBench(<Settings group="profiles" />, { profiles })
    fireEvent.click(screen.getByRole('button', { name: 'Edit Mine' }))
    fireEvent.click(screen.getByRole('button', { name: 'Delete…' }))
    expect(noted.filter((n) => n.name === 'deleteProfile')).toEqual([])
    fireEvent.click(screen.getByRole('button', { name: 'Delete Mine' }))
    await waitFor(() => expect(screen.queryByRole('form')).toBeNull())
    expect(noted.filter((n) => n.name === 'deleteProfile')).toHaveLength(1)
  })
  it.each([
    ['', null],
    [' , ', null],
    ['grep, read_file ,grep', ['grep', 'read_file']],
  ])('reads the tools %j', (text, tools) => {
    expect(readTools(text)).toEqual(tools)
  })
})

describe('Settings > Appearance', () => {
  it('changes theme and rows of this browser', () => {
    const { noted } = renderInBench(<Settings group="appearance" />)
    fireEvent.click(screen.getByRole('radio', { name: 'Light' }))
    fireEvent.click(screen.getByRole('radio', { name: 'Cozy' }))
    expect(noted.map((n) => n.args[0])).toEqual([{ theme: 'light' }, { density: 'cozy' }])
  })
})

describe('Settings > Notifications', () => {
  afterEach(() => vi.unstubAllGlobals())
  const toggle = () => screen.getByRole('switch', { name: 'Desktop notifications' })
  it('asks the browser first, and stays off when it refuses, with the way out', async () => {
    vi.stubGlobal(
      'Notification',
      Object.assign(function () {}, { requestPermission: () => Promise.resolve('denied') }),
    )
    const { noted } = renderInBench(<Settings group="notifications" />)
    fireEvent.click(toggle())
    expect((await screen.findByRole('alert')).textContent).toContain('title of the page counts')
    expect(noted).toEqual([])
  })
  it('turns on when it is granted', async () => {
    vi.stubGlobal(
      'Notification',
      Object.assign(function () {}, { requestPermission: () => Promise.resolve('granted') }),
    )
    const { noted } = renderInBench(<Settings group="notifications" />)
    fireEvent.click(toggle())
    await waitFor(() => expect(noted).toHaveLength(1))
    expect(noted[0]?.args[0]).toMatchObject({ notify: { enabled: true } })
  })
  it('says where there are none at all', async () => {
    renderInBench(<Settings group="notifications" />)
    fireEvent.click(toggle())
    expect((await screen.findByRole('alert')).textContent).toContain('has no notifications here')
  })
  it('gives the reason on what cannot be changed yet', () => {
    const prefs = readPrefs()
    const { noted } = renderInBench(<Settings group="notifications" />, { prefs })
    const approval = screen.getByRole('switch', { name: 'Approval needed' })
    expect(approval.getAttribute('title')).toBe('Turn desktop notifications on first.')
    fireEvent.click(approval)
    expect(noted).toEqual([])
  })
})

describe('Settings > Sidecar', () => {
  const status: SidecarStatus = {
    state: 'down',
    restarts: 4,
    last_error: 'exit 1: out of memory',
    version: '1.2.3',
    protocol: 11,
    crashes: 9,
  }
  it('tells state, version, restarts and the last error, and resets', () => {
    const { noted, container } = renderInBench(<Settings group="engines" />, { sidecar: status })
    for (const words of [
      'Down',
      '1.2.3 · protocol 11',
      '4 in this run · 9 crashes over all',
      'exit 1: out of memory',
    ])
      expect(container.textContent).toContain(words)
    fireEvent.click(screen.getByRole('button', { name: 'Reset the sidecar' }))
    expect(noted.map((n) => n.name)).toEqual(['reloadSidecar', 'resetSidecar'])
  })
  it('has nothing to reset while it is well', () => {
    const { noted } = renderInBench(<Settings group="engines" />, {
      sidecar: { ...status, state: 'ready', last_error: '' },
    })
    const reset = screen.getByRole('button', { name: 'Reset the sidecar' })
    expect(reset.getAttribute('aria-disabled')).toBe('true')
    fireEvent.click(reset)
    expect(noted.map((n) => n.name)).toEqual(['reloadSidecar'])
  })
})

describe('Settings > Agent behavior', () => {
  const appSettings = {
    launchLocation: 'project' as const,
    defaultProject: '',
    autoFailover: true,
    autoArchive: true,
    autoArchiveDays: 14,
    auditDays: 7,
  }
  it('saves a change at once and shows a refusal at its row', async () => {
    const { noted } = renderInBench(
      <Settings group="agents" />,
      { appSettings },
      { setAppSetting: () => Promise.resolve('A whole number of days is wanted.') },
    )
    const days = screen.getByRole('textbox', { name: 'Archive after, in days' })
    fireEvent.change(days, { target: { value: '400' } })
    fireEvent.keyDown(days, { key: 'Enter' })
    const row = screen.getByRole('group', { name: 'Archive after' })
    expect((await within(row).findByRole('alert')).textContent).toContain('whole number')
    expect(noted.at(-1)).toEqual({ name: 'setAppSetting', args: ['auto_archive_days', 400] })
  })
  it('sets where edits land', () => {
    const { noted } = renderInBench(<Settings group="agents" />, { appSettings })
    fireEvent.click(screen.getByRole('radio', { name: 'Worktree' }))
    expect(noted.at(-1)).toEqual({ name: 'setAppSetting', args: ['launch_location', 'worktree'] })
  })
})

describe('Settings > Shortcuts', () => {
  it('lists every key of the page from the one table', () => {
    const { container } = renderInBench(<Settings group="shortcuts" />)
    for (const s of shortcuts) expect(container.textContent).toContain(s.does)
  })
})
