import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { settle } from '../../../test/fakeSocket'
import { sampleConversation } from '../../../test/sample'
import type { Face, Mounted, MountOptions } from '../terminal/mount'
import { sideAt } from './drag'
import { Work } from './Work'

// xterm needs a page that is laid out; what it shows is the browser tests'.
const mounts: { options: MountOptions; calls: string[]; tell: (f: Partial<Face>) => void }[] = []
vi.mock('../terminal/mount', () => ({
  mountTerminal: (options: MountOptions): Mounted => {
    let face: Face = {
      phase: 'connecting',
      begun: false,
      size: undefined,
      room: undefined,
      foreign: false,
      exit: undefined,
      renderer: 'dom',
      link: '',
      unsent: false,
      found: undefined,
    }
    const listeners = new Set<() => void>()
    const calls: string[] = []
    const note =
      (name: string) =>
      (...args: unknown[]): void =>
        void calls.push([name, ...args].join(' ').trim())
    mounts.push({
      options,
      calls,
      tell: (change) => {
        face = { ...face, ...change }
        for (const f of listeners) f()
      },
    })
    return {
      face: () => face,
      onFace: (f) => {
        listeners.add(f)
        return () => listeners.delete(f)
      },
      focus: note('focus'),
      takeOver: note('takeOver'),
      find: note('find'),
      endFind: note('endFind'),
      text: () => 'all of it\n',
      selection: () => '',
      paste: note('paste'),
      setVisible: note('visible'),
      setReader: note('reader'),
      nudge: () => undefined,
      dispose: note('dispose'),
    }
  },
}))
beforeEach(() => {
  mounts.splice(0)
  // jsdom draws nothing, so there is no canvas to measure letters with.
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null)
})

const terminal = (id: string, more: object = {}) => ({
  terminal_id: id,
  command: 'bash',
  args: [],
  cwd: '/p',
  state: 'running',
  cols: 80,
  rows: 24,
  title: 'vim',
  exit_code: null,
  signal: null,
  ...more,
})
const pane = (id: string, more: object = {}) => ({
  id,
  kind: 'terminal',
  command: 'bash',
  args: [],
  name: 'bash',
  ref: '',
  ...more,
})
const presets = [
  {
    id: 'claude',
    label: 'Claude Code',
    kind: 'agent',
    command: 'claude',
    args: [],
    path: '/b/claude',
    default: false,
  },
  {
    id: 'bash',
    label: 'bash',
    kind: 'shell',
    command: 'bash',
    args: [],
    path: '/bin/bash',
    default: true,
  },
]

async function open(
  panes: object[],
  terminals: object[],
  more: Record<string, (p: Record<string, unknown>) => unknown> = {},
) {
  const app: Record<string, unknown> = {
    'workspace:w-1': { name: 'one', project_path: '/p', created: 1, panes },
    'workspace:w-2': { name: 'two', project_path: '/q', created: 2, panes: [pane('t-other')] },
  }
  const t = renderInBench(
    <Work id="w-1" />,
    { summaries: [sampleConversation({ title: 'Flaky lease' })] },
    { open: () => () => undefined },
    {},
    {
      list_terminals: () => [...terminals, terminal('t-other')],
      list_terminal_presets: () => presets,
      get_settings: () => ({ app }),
      set_settings: (p) => {
        Object.assign(app, p.app)
        return { app }
      },
      open_terminal: (p) => {
        terminals.push(terminal(String(p.terminal_id), { command: p.command }))
        return { terminal_id: p.terminal_id }
      },
      ...more,
    },
  )
  await act(settle)
  return { ...t, app }
}

const tile = (name: RegExp | string): HTMLElement => screen.getByRole('region', { name })

it('draws a tile for each terminal and connects it', async () => {
  await open(
    [pane('t-1', { name: 'tests' }), pane('t-2', { name: 'server' })],
    [terminal('t-1'), terminal('t-2')],
  )
  expect(mounts).toHaveLength(2)
  expect(mounts.map((m) => m.options.readOnly)).toEqual([false, false])
  expect(within(tile('Terminal: tests')).getByText('vim')).toBeTruthy()
  expect(mounts[0]?.calls).toContain('visible true')
})

it('starts what does not run yet, once, and gives it the keyboard', async () => {
  vi.useFakeTimers()
  const t = await open([pane('t-1')], [])
  expect(screen.getByText('Starting…')).toBeTruthy()
  await act(async () => {
    vi.advanceTimersByTime(200)
    await settle()
  })
  vi.useRealTimers()
  const opened = t.asked.filter(([m]) => m === 'open_terminal')
  expect(opened).toHaveLength(1)
  expect(opened[0]?.[1]).toMatchObject({ terminal_id: 't-1', command: 'bash', cwd: '/p' })
  act(() => mounts[0]?.tell({ phase: 'open', begun: true }))
  expect(mounts[0]?.calls).toContain('takeOver')
})

it('takes neither size nor keyboard of a terminal that was there', async () => {
  await open([pane('t-1')], [terminal('t-1')])
  act(() => mounts[0]?.tell({ phase: 'open', begun: true }))
  expect(mounts[0]?.calls).not.toContain('takeOver')
})

it('says why a program did not start, and tries again when told to', async () => {
  vi.useFakeTimers()
  const t = await open([pane('t-1', { name: 'Codex', command: 'codex' })], [], {
    open_terminal: () => {
      throw new Error('codex was not found.')
    },
  })
  await act(async () => {
    vi.advanceTimersByTime(200)
    await settle()
  })
  expect(screen.getByRole('alert').textContent).toContain(
    'Failed to start Codex: codex was not found.',
  )
  expect(screen.getByRole('alert').textContent).toContain(
    "Make sure 'codex' is installed and on your PATH.",
  )
  await act(async () => {
    vi.advanceTimersByTime(60_000)
    await settle()
  })
  expect(t.asked.filter(([m]) => m === 'open_terminal')).toHaveLength(1)
  vi.useRealTimers()
  fireEvent.click(screen.getByRole('button', { name: 'Start session' }))
  await act(settle)
  expect(t.asked.filter(([m]) => m === 'open_terminal')).toHaveLength(2)
})

it('shows how a program ended, and starts it again in place', async () => {
  const t = await open(
    [pane('t-1', { name: 'tests' })],
    [terminal('t-1', { state: 'ended', exit_code: 3 })],
  )
  act(() => mounts[0]?.tell({ phase: 'open', begun: true, exit: 3 }))
  expect(within(tile('Terminal: tests')).getByText('exit 3')).toBeTruthy()
  expect(screen.getByText('[Session ended]')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Restart session' }))
  await act(settle)
  expect(t.asked.find(([m]) => m === 'restart_terminal')?.[1]).toMatchObject({
    terminal_id: 't-1',
    command: 'bash',
    cwd: '/p',
  })
  expect(mounts).toHaveLength(1)
})

it('shows another window that decides the size, and takes it over', async () => {
  await open([pane('t-1')], [terminal('t-1')])
  act(() =>
    mounts[0]?.tell({ phase: 'open', begun: true, foreign: true, size: { cols: 170, rows: 50 } }),
  )
  expect(screen.getByText(/Sized by another window, 170×50/)).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Take over' }))
  expect(mounts[0]?.calls).toContain('takeOver')
})

it('says that it reconnects, and what was not sent', async () => {
  await open([pane('t-1')], [terminal('t-1')])
  act(() => mounts[0]?.tell({ phase: 'waiting', begun: true, unsent: true }))
  expect(screen.getByText('Reconnecting… What was typed meanwhile was not sent.')).toBeTruthy()
})

it('asks before it closes what runs, and keeps the rest in its place', async () => {
  const t = await open(
    [pane('t-1', { name: 'tests' }), pane('t-2', { name: 'server' })],
    [terminal('t-1'), terminal('t-2')],
  )
  fireEvent.keyDown(within(tile('Terminal: tests')).getByRole('button', { name: 'Tile menu' }), {
    key: 'Enter',
  })
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Close pane' }))
  expect(
    screen.getByText('Any live PTY and CLI process in this pane will be stopped.'),
  ).toBeTruthy()
  expect(t.asked.some(([m]) => m === 'close_terminal')).toBe(false)
  fireEvent.click(screen.getByRole('button', { name: 'Close pane' }))
  await waitFor(() => expect(screen.queryByRole('region', { name: 'Terminal: tests' })).toBeNull())
  expect(t.asked.find(([m]) => m === 'close_terminal')?.[1]).toEqual({ terminal_id: 't-1' })
  // The other one is the same terminal still.
  expect(mounts.filter((m) => !m.calls.includes('dispose'))).toHaveLength(1)
})

it('never makes a tile anew when the layout changes', async () => {
  const t = await open(
    [pane('t-1', { name: 'a' }), pane('t-2', { name: 'b' }), pane('t-3', { name: 'c' })],
    [terminal('t-1'), terminal('t-2'), terminal('t-3')],
  )
  const before = screen.getAllByRole('region')
  act(() => t.work.movePane('w-1', 't-3', 't-1', 'left'))
  act(() => t.work.movePane('w-1', 't-2', 't-3', 'bottom'))
  act(() => t.work.movePane('w-1', 't-1', 't-2', 'middle'))
  expect(screen.getAllByRole('region')).toEqual(before)
  expect(mounts).toHaveLength(3)
})

it('moves dividers and the focus by keyboard, and zooms', async () => {
  const t = await open(
    [pane('t-1', { name: 'a' }), pane('t-2', { name: 'b' })],
    [terminal('t-1'), terminal('t-2')],
  )
  const bar = screen.getByRole('separator')
  expect(bar.getAttribute('aria-valuenow')).toBe('50')
  fireEvent.keyDown(bar, { key: 'ArrowRight' })
  expect(screen.getByRole('separator').getAttribute('aria-valuenow')).toBe('52')
  await act(settle)
  expect(t.app['workspace:w-1']).toMatchObject({ layout: { shares: [0.52, 0.48] } })

  fireEvent.keyDown(document.body, { key: 'ArrowRight', altKey: true, shiftKey: true })
  expect(tile('Terminal: b').className).toContain('focus')
  expect(mounts[1]?.calls).toContain('focus')
  fireEvent.keyDown(document.body, { code: 'KeyZ', key: 'z', altKey: true })
  expect(tile('Terminal: a').dataset.hidden).toBe('true')
  expect(mounts[0]?.calls.at(-1)).toBe('visible false')
  fireEvent.keyDown(document.body, { key: 'Escape' })
  expect(tile('Terminal: a').dataset.hidden).toBe('false')
})

it('searches the scrollback of the tile that has the focus', async () => {
  await open(
    [pane('t-1', { name: 'a' }), pane('t-2', { name: 'b' })],
    [terminal('t-1'), terminal('t-2')],
  )
  fireEvent.pointerDown(tile('Terminal: b'))
  fireEvent.keyDown(document.body, { code: 'KeyF', key: 'F', ctrlKey: true, shiftKey: true })
  const field = within(tile('Terminal: b')).getByRole('textbox', {
    name: 'Search in the scrollback',
  })
  fireEvent.change(field, { target: { value: 'needle' } })
  fireEvent.keyDown(field, { key: 'Enter', shiftKey: true })
  expect(mounts[1]?.calls.filter((c) => c.startsWith('find'))).toEqual([
    'find needle true',
    'find needle false',
  ])
  act(() => mounts[1]?.tell({ found: { index: 1, count: 7 } }))
  expect(screen.getByText('2 of 7')).toBeTruthy()
  fireEvent.keyDown(field, { key: 'Escape' })
  expect(mounts[1]?.calls.slice(-2)).toEqual(['focus', 'endFind'])
})

it('adds programs that are here, and conversations', async () => {
  const t = await open([], [])
  const [button] = screen.getAllByRole('button', { name: 'Add Session' })
  if (!button) throw new Error('There is no menu to add with.')
  fireEvent.keyDown(button, { key: 'Enter' })
  expect((await screen.findAllByRole('menuitem')).map((m) => m.textContent)).toEqual([
    'Claude Code',
    'bashyour shell',
    'Flaky lease',
  ])
  fireEvent.click(screen.getByRole('menuitem', { name: 'Flaky lease' }))
  await act(settle)
  expect(t.app['workspace:w-1']).toMatchObject({ panes: [{ kind: 'conversation', ref: 'c-1' }] })
  expect(t.noted.some((n) => n.name === 'open' && n.args[0] === 'c-1')).toBe(true)
})

it('makes a workspace from a template, and remembers it for the project', async () => {
  const t = await open([], [])
  fireEvent.click(screen.getByRole('button', { name: 'New workspace' }))
  const dialog = within(screen.getByRole('dialog', { name: 'New workspace' }))
  const path = dialog.getByRole('combobox', { name: 'Project folder' })
  fireEvent.change(path, { target: { value: 'relative' } })
  expect(dialog.getByText('Write the whole path, beginning at the root.')).toBeTruthy()
  fireEvent.change(path, { target: { value: '/src/harborline' } })
  fireEvent.click(dialog.getByRole('radio', { name: /Review Pair/ }))
  fireEvent.click(dialog.getByRole('button', { name: 'Create workspace' }))
  await act(settle)
  const made = t.work.store.getState().workspaces?.at(-1)
  expect(made).toMatchObject({
    name: 'harborline',
    projectPath: '/src/harborline',
    panes: [{ command: 'claude' }, { command: 'bash' }],
  })
  expect(t.went).toEqual([{ view: 'work', id: made?.id }])
  expect(t.app.workspace_defaults).toEqual({ '/src/harborline': { template: 'review-pair' } })
})

it.each([
  [10, 50, 'left'],
  [90, 50, 'right'],
  [50, 5, 'top'],
  [50, 95, 'bottom'],
  [50, 50, 'middle'],
] as const)('dropped at %d, %d it takes the %s', (x, y, side) => {
  expect(sideAt(x, y, { left: 0, top: 0, width: 100, height: 100 })).toBe(side)
})
