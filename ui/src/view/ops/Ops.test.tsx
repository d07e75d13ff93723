import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { settle } from '../../../test/fakeSocket'
import { Ops } from './Ops'

const node = (name: string, kind: string, more: object = {}, children: object[] = []) => ({
  name,
  kind,
  state: 'running',
  window_s: 60,
  ...more,
  children,
})

function answer(sidecar: object) {
  return {
    boot_id: 'b',
    time: new Date().toISOString(),
    root: node('packetbench@localhost', 'application', {}, [
      node('app agent', 'application', {}, [
        node('engines_sup', 'supervisor', {}, [
          node('sidecar', 'actor', { max_restarts: 3, ...sidecar }),
          node('acp:packetcode', 'actor', { max_restarts: 3, restarts_in_window: 1 }),
        ]),
      ]),
    ]),
    house: { log: { up: true, first: 1, last: 9 }, windows: [], alarms: [], awake: 0, stored: 0 },
  }
}
const downNow = { state: 'down', limit_reached: true, restarts_in_window: 3, last_reason: 'exit 1' }

async function open(actor: string, sidecar: object = downNow, readOnly = false, acts = {}) {
  let now = sidecar
  const t = renderInBench(
    <Ops actor={actor} readOnly={readOnly} />,
    {},
    {},
    {},
    { get_tree: () => answer(now), get_log: () => ({ lines: [], last: 0 }), ...acts },
  )
  await act(settle)
  return {
    ...t,
    change: (next: object) => {
      now = next
    },
  }
}

const row = (name: RegExp): HTMLElement => screen.getByRole('row', { name })

it('shows the tree with states and budgets as the service says them', async () => {
  await open('')
  const sidecar = within(row(/sidecar/))
  expect(sidecar.getByText('down')).toBeTruthy()
  expect(sidecar.getByRole('img', { name: '3 of 3 restarts used in 60 s' })).toBeTruthy()
  expect(within(row(/acp:packetcode/)).getByText('1/3')).toBeTruthy()
  expect(screen.getByText('Degraded')).toBeTruthy()
  expect(screen.getByText('1 of 3 actors down')).toBeTruthy()
})

it('resets what is down, after a question, and shows the change', async () => {
  const t = await open('sidecar')
  const drawer = within(screen.getByRole('complementary', { name: 'Details of sidecar' }))
  expect(
    drawer.getByText(/sidecar ended 4 times in 60 s. It stays down until you reset it/),
  ).toBeTruthy()
  fireEvent.click(drawer.getByRole('button', { name: /^Reset/ }))
  expect(t.asked.some(([m]) => m === 'reset_actor')).toBe(false)
  t.change({ state: 'running', restarts_in_window: 0 })
  fireEvent.click(screen.getByRole('button', { name: 'Reset sidecar' }))
  await waitFor(() => expect(within(row(/sidecar/)).getByText('running')).toBeTruthy())
  expect(t.asked.filter(([m]) => m === 'reset_actor')).toEqual([
    ['reset_actor', { name: 'sidecar' }],
  ])
})

it('stops and starts by what the actor does now', async () => {
  const t = await open('sidecar', { state: 'running' })
  fireEvent.click(screen.getByRole('button', { name: 'Stop' }))
  t.change({ state: 'stopped' })
  fireEvent.click(screen.getByRole('button', { name: 'Stop sidecar' }))
  await waitFor(() => expect(screen.getByRole('button', { name: 'Start' })).toBeTruthy())
  fireEvent.click(screen.getByRole('button', { name: 'Start' }))
  fireEvent.click(screen.getByRole('button', { name: 'Cancel' }))
  expect(t.asked.map(([m]) => m).filter((m) => m.endsWith('_actor'))).toEqual(['stop_actor'])
})

it('moves, folds and asks by keyboard', async () => {
  const t = await open('')
  const tree = screen.getByRole('treegrid', { name: 'Actor tree' })
  const press = (key: string): boolean => fireEvent.keyDown(tree, { key })
  const selected = (): string =>
    tree.querySelector('[aria-selected="true"]')?.getAttribute('data-actor') ?? ''
  press('ArrowDown')
  expect(selected()).toBe('engines_sup')
  press('ArrowLeft')
  expect(screen.queryByRole('row', { name: /sidecar/ })).toBeNull()
  expect(row(/engines_sup/).getAttribute('aria-expanded')).toBe('false')
  press('ArrowRight')
  press('ArrowRight')
  expect(selected()).toBe('sidecar')
  press('r')
  expect(screen.getByRole('dialog', { name: 'Reset sidecar?' })).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Cancel' }))
  press('Enter')
  expect(t.went).toEqual([{ view: 'ops', actor: 'sidecar' }])
  press('End')
  expect(selected()).toBe('acp:packetcode')
  press('Home')
  expect(selected()).toBe('app agent')
})

it('freezes with the space bar', async () => {
  const t = await open('')
  fireEvent.keyDown(screen.getByRole('treegrid'), { key: ' ' })
  expect(screen.getByRole('button', { name: /Frozen/ }).getAttribute('aria-pressed')).toBe('true')
  t.change({ state: 'running' })
  await act(async () => {
    t.publish('ops.tree-changed', {})
    await settle()
  })
  expect(within(row(/sidecar/)).getByText('down')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: /Frozen/ }))
  await waitFor(() => expect(within(row(/sidecar/)).getByText('running')).toBeTruthy())
})

it('finds an actor and keeps the way to it', async () => {
  await open('')
  fireEvent.keyDown(document.body, { key: '#' })
  const field = screen.getByRole('textbox', { name: 'Find an actor' })
  expect(document.activeElement).toBe(field)
  fireEvent.change(field, { target: { value: 'packetcode' } })
  expect(screen.queryByRole('row', { name: /sidecar/ })).toBeNull()
  expect(row(/engines_sup/)).toBeTruthy()
})

it('shows a restart at once, and its end in the details', async () => {
  const t = await open('sidecar')
  await act(async () => {
    t.publish('ops.restart', { actor: 'sidecar', reason: 'signal 9 (killed)', count_in_window: 1 })
    await settle()
  })
  expect(row(/sidecar/).className).toContain('flash')
  expect(screen.getByText('signal 9 (killed)')).toBeTruthy()
  expect(screen.getByRole('img', { name: /^Ends 0 s ago/ })).toBeTruthy()
})

it('follows chosen subjects, and refuses what is none', async () => {
  const t = await open('')
  await act(async () => {
    t.publish('ops.limit-reached', { supervisor: 'engines_sup' })
    await settle()
  })
  const log = within(screen.getByRole('log', { name: 'Event tail' }))
  expect(log.getByText('ops.limit-reached').parentElement?.className).toContain('bad')
  fireEvent.click(screen.getByRole('button', { name: 'Leave out ops.>' }))
  expect(t.ops.store.getState().patterns).not.toContain('ops.>')
  fireEvent.click(screen.getByRole('button', { name: 'Add a subject' }))
  const field = screen.getByRole('textbox', { name: 'Subject' })
  fireEvent.change(field, { target: { value: 'a..b' } })
  fireEvent.submit(field)
  expect(field.getAttribute('aria-invalid')).toBe('true')
  fireEvent.change(field, { target: { value: 'terminal.>' } })
  fireEvent.submit(field)
  expect(t.ops.store.getState().patterns).toContain('terminal.>')
})

it('reads the log of one actor from its details', async () => {
  const t = await open('sidecar', downNow, false, {
    get_log: () => ({
      lines: [{ n: 1, time: '', level: 'warn', text: 'sidecar exited', fields: { code: 1 } }],
      last: 1,
      file: '/f.log',
    }),
  })
  fireEvent.click(screen.getByRole('button', { name: 'Log' }))
  await waitFor(() => expect(screen.getByText('sidecar exited')).toBeTruthy())
  expect(screen.getByText('code=1')).toBeTruthy()
  expect(t.asked.find(([m]) => m === 'get_log')).toEqual(['get_log', { actor: 'sidecar' }])
})

it('raises alarms above the tree', async () => {
  const withAlarm = (): object => ({
    ...answer({ state: 'running', alarms: ['mailbox'] }),
    house: {
      windows: [],
      alarms: [
        { actor: 'sidecar', kind: 'mailbox', text: '1,204 messages wait for sidecar.', since: '' },
      ],
    },
  })
  await open('', {}, false, { get_tree: withAlarm })
  expect(screen.getByRole('alert').textContent).toContain('1,204 messages wait for sidecar.')
  expect(within(row(/sidecar/)).getByText('mailbox')).toBeTruthy()
})

it('counts windows and how far behind they are', async () => {
  const lagging = (): object => ({
    ...answer({}),
    house: {
      alarms: [],
      windows: [
        { viewer: 'viewer:1', role: 'owner', kind: 'websocket', lag: 0 },
        { viewer: 'viewer:2', role: 'monitor', kind: 'sse', lag: 1204 },
      ],
    },
  })
  await open('', {}, false, { get_tree: lagging })
  expect(screen.getByText(/1 read-only · 1.204 behind/)).toBeTruthy()
  fireEvent.click(screen.getByRole('tab', { name: 'Windows' }))
  expect(screen.getByRole('cell', { name: /viewer:2/ })).toBeTruthy()
})

it('has nothing that acts in a Monitor', async () => {
  const t = await open('', downNow, true)
  fireEvent.click(row(/sidecar/))
  expect(screen.getByRole('complementary', { name: 'Details of sidecar' })).toBeTruthy()
  for (const name of [/^Reset/, /^Stop/, /^Start/, /^Log$/])
    expect(screen.queryByRole('button', { name })).toBeNull()
  expect(screen.queryByRole('tab', { name: 'Log' })).toBeNull()
  fireEvent.keyDown(screen.getByRole('treegrid'), { key: 'r' })
  expect(screen.queryByRole('dialog')).toBeNull()
  expect(t.asked.every(([m]) => m === 'get_tree')).toBe(true)
})

it('copies the tree as the service sent it', async () => {
  const writeText = vi.fn(() => Promise.resolve())
  vi.stubGlobal('navigator', { clipboard: { writeText }, userAgent: '', platform: '' })
  await open('')
  fireEvent.click(screen.getByRole('button', { name: 'Copy the tree as JSON' }))
  expect(JSON.parse(String(writeText.mock.calls[0]?.at(0)))).toMatchObject({
    root: { children: [{ name: 'app agent' }] },
  })
  vi.unstubAllGlobals()
})
