import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation, sampleMessage } from '../../../test/sample'
import type { Conversation } from '../../contract/model'
import { fromSnapshot } from '../../store/reduce'
import type { Actions } from '../../store/stores'
import { Composer } from './Composer'

const show = (change: Partial<Conversation> = {}, blocked = '', drafts = { 'c-1': 'hello' }) =>
  renderInBench(
    <Composer state={fromSnapshot(sampleConversation(change), 1)} blocked={blocked} />,
    {
      drafts,
    },
  )
const field = () => screen.getByRole('textbox', { name: 'Message' })

describe('Composer', () => {
  it('sends with Enter and not with Shift+Enter', () => {
    const { noted } = show()
    fireEvent.keyDown(field(), { key: 'Enter', shiftKey: true })
    expect(noted).toEqual([])
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(noted).toEqual([{ name: 'send', args: ['c-1'] }])
  })
  it('does not send the Enter of an input method', () => {
    const { noted } = show()
    fireEvent.compositionStart(field())
    fireEvent.keyDown(field(), { key: 'Enter' })
    fireEvent.compositionEnd(field())
    fireEvent.keyDown(field(), { key: 'Enter', keyCode: 229 })
    expect(noted).toEqual([])
  })
  it('shows a disabled Send for an empty field, with the reason', () => {
    const { noted } = show({}, '', { 'c-1': '' })
    const send = screen.getByRole('button', { name: 'Send' })
    expect(send.getAttribute('aria-disabled')).toBe('true')
    expect(send.getAttribute('title')).toBe('Write something first.')
    fireEvent.click(send)
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(noted).toEqual([])
  })
  it('keeps Send beside Stop while a turn runs: it queues', () => {
    const { noted } = show({ status: 'active' })
    fireEvent.click(screen.getByRole('button', { name: 'Stop turn' }))
    fireEvent.click(screen.getByRole('button', { name: 'Send' }))
    expect(noted.map((n) => n.name)).toEqual(['stop', 'send'])
  })
  it('waits for the acknowledgement of Stop', () => {
    show({ status: 'active', stopping: true })
    const stop = screen.getByRole('button', { name: 'Waiting for Stop acknowledgement' })
    expect(stop.getAttribute('aria-disabled')).toBe('true')
  })
  it('has no Stop when no turn runs', () => {
    show()
    expect(screen.queryByRole('button', { name: 'Stop turn' })).toBeNull()
  })
  it('offers to cancel what is parked, by number', () => {
    const { noted } = show({
      status: 'active',
      pending_edits: [{ id: 'e', path: 'a', content: '', opened_at: 0 }],
    })
    fireEvent.click(screen.getByRole('button', { name: 'Cancel 1' }))
    expect(noted).toEqual([{ name: 'cancelPending', args: ['c-1'] }])
  })
  it('says why nothing can be sent', () => {
    const { noted } = show({}, 'The sidecar is down. Reset it to send.')
    expect(screen.getByText('The sidecar is down. Reset it to send.')).toBeTruthy()
    fireEvent.keyDown(field(), { key: 'Enter' })
    expect(noted).toEqual([])
  })
  it('walks through own turns with Up and Down', () => {
    show(
      {
        messages: [
          sampleMessage({ id: 'm-1', content: 'first' }),
          sampleMessage({ id: 'm-2', content: 'second' }),
        ],
      },
      '',
      { 'c-1': '' },
    )
    const text = () => field().closest('textarea')?.value
    fireEvent.keyDown(field(), { key: 'ArrowUp' })
    expect(text()).toBe('second')
    expect(screen.getByText('1/2')).toBeTruthy()
    fireEvent.keyDown(field(), { key: 'ArrowDown' })
    expect(text()).toBe('')
  })
  it('goes to the next posture with Shift+Tab and by its chip', () => {
    const { noted } = show()
    fireEvent.keyDown(field(), { key: 'Tab', shiftKey: true })
    fireEvent.click(screen.getByRole('button', { name: 'Posture Default' }))
    expect(noted.map((n) => n.name)).toEqual(['setPosture', 'setPosture'])
    expect(noted[0]?.args[1]).toMatchObject({ id: 'plan' })
  })
  it('shows what an engine does with the posture, not what was asked', () => {
    show({ engine_mode: { mode: 'ask', label: 'Manual', honoured: false, later: false } })
    const chip = screen.getByRole('button', { name: 'Posture Manual' })
    expect(chip.title).toContain('Default was asked for')
  })
  it('shows no posture where the provider has none', () => {
    const { container } = show({
      capabilities: { ...sampleConversation().capabilities, permissionModes: [] },
    })
    expect(within(container).queryByRole('button', { name: /^Posture/ })).toBeNull()
  })
})

/** Types as a person does: the text, then the caret behind it. */
function type(text: string): void {
  const el = field() as HTMLTextAreaElement
  el.focus()
  fireEvent.change(el, { target: { value: text } })
  el.setSelectionRange(text.length, text.length)
  fireEvent.select(el)
}
const value = () => (field() as HTMLTextAreaElement).value
const press = (key: string, more: object = {}) => fireEvent.keyDown(field(), { key, ...more })
const options = () => screen.getAllByRole('option').map((o) => o.textContent)

function compose(change: Partial<Conversation> = {}, answers: Partial<Actions> = {}) {
  const state = fromSnapshot(sampleConversation(change), 1)
  return renderInBench(<Composer state={state} blocked="" />, { drafts: { 'c-1': '' } }, answers)
}

describe('the file popover', () => {
  const files = { findFiles: () => Promise.resolve(['src/a.ts', 'src/b.ts']) }
  it('searches behind an @ and puts the highlighted path in with Enter, without sending', async () => {
    const { noted } = compose({}, files)
    type('look at @src')
    await screen.findByRole('listbox', { name: 'Files' })
    await waitFor(() => expect(options()).toEqual(['src/a.ts', 'src/b.ts']))
    expect(noted).toEqual([{ name: 'findFiles', args: ['/p', 'src'] }])
    press('ArrowDown')
    expect(field().getAttribute('aria-activedescendant')).toBe(
      screen.getByRole('option', { name: 'src/b.ts' }).id,
    )
    press('Enter')
    expect(value()).toBe('look at @src/b.ts ')
    expect(screen.queryByRole('listbox')).toBeNull()
    expect(noted.filter((n) => n.name === 'send')).toEqual([])
  })
  it('picks with Tab, and by a click', async () => {
    compose({}, files)
    type('@')
    fireEvent.click(await screen.findByRole('option', { name: 'src/b.ts' }))
    expect(value()).toBe('@src/b.ts ')
    type('@src')
    await screen.findByRole('option', { name: 'src/a.ts' })
    press('Tab')
    expect(value()).toBe('@src/a.ts ')
  })
  it('just closes with Enter and Tab when it is empty, and the next Enter sends', () => {
    const { noted } = compose()
    type('@nothing')
    expect(screen.getByText('No files found')).toBeTruthy()
    press('Enter')
    expect(screen.queryByRole('listbox')).toBeNull()
    expect(noted.filter((n) => n.name === 'send')).toEqual([])
    press('Enter')
    expect(noted.filter((n) => n.name === 'send')).toHaveLength(1)
  })
  it('stays closed after Escape until another word begins', () => {
    compose()
    type('@a')
    press('Escape')
    expect(screen.queryByRole('listbox')).toBeNull()
    type('@ab')
    expect(screen.queryByRole('listbox')).toBeNull()
    type('@ab @c')
    expect(screen.getByRole('listbox', { name: 'Files' })).toBeTruthy()
  })
  it('leaves the Enter of an input method alone', async () => {
    compose({}, files)
    type('@src')
    await screen.findByRole('option', { name: 'src/a.ts' })
    press('Enter', { keyCode: 229 })
    expect(value()).toBe('@src')
  })
  it('is not there without a project, nor where the provider cannot', () => {
    compose({ project_path: '' })
    type('@a')
    expect(screen.queryByRole('listbox')).toBeNull()
    expect(field().getAttribute('placeholder')).toBe('Do anything — / for commands')
  })
})

describe('the command popover', () => {
  const own = {
    listCommands: () =>
      Promise.resolve([
        {
          name: 'tidy',
          description: 'Clean up',
          body: 'Tidy the imports.',
          source: 'project' as const,
        },
        // A built-in of the name hides it.
        { name: 'plan', description: 'Mine', body: 'x', source: 'global' as const },
      ]),
  }
  it('lists the nine and the Markdown files', async () => {
    compose({}, own)
    type('/')
    await waitFor(() => expect(screen.getAllByRole('option')).toHaveLength(10))
    expect(options()[0]).toBe('/planToggle plan mode (read-only exploration; no edits)')
    expect(options().at(-1)).toBe('/tidyClean up (project)')
  })
  it('expands a body at the trigger', async () => {
    const { noted } = compose({}, own)
    type('first /ti')
    await screen.findByRole('option', { name: /tidy/ })
    press('Enter')
    expect(value()).toBe('first Tidy the imports.')
    expect(noted.filter((n) => n.name === 'send')).toEqual([])
  })
  it('runs a built-in at once and cuts it out', async () => {
    const { noted } = compose()
    type('keep this /plan')
    await screen.findByRole('option', { name: /plan/ })
    press('Enter')
    expect(value()).toBe('keep this ')
    expect(noted.find((n) => n.name === 'setPosture')?.args[1]).toMatchObject({ id: 'plan' })
  })
  it('has an empty list that says so', () => {
    compose()
    type('/zzz')
    expect(screen.getByText('No matching commands')).toBeTruthy()
  })
  const run = async (command: string): Promise<void> => {
    type(`/${command}`)
    await screen.findByRole('option', { name: new RegExp(`^/${command}`) })
    press('Enter')
  }
  it('/permissions and /model open their menus', async () => {
    compose()
    await run('permissions')
    expect(await screen.findByRole('menuitemradio', { name: /Yolo/ })).toBeTruthy()
    fireEvent.keyDown(screen.getByRole('menu'), { key: 'Escape' })
    // The keys go on where they were.
    await waitFor(() => expect(document.activeElement).toBe(field()))
    await run('model')
    expect(await screen.findByRole('menuitemradio', { name: /Demo/ })).toBeTruthy()
  })
  it('/compact keeps the last four in view, /clear none', async () => {
    const messages = [1, 2, 3, 4, 5].map((n) => sampleMessage({ id: `m-${n}` }))
    const { noted } = compose({ messages })
    await run('compact')
    await run('clear')
    expect(noted.filter((n) => n.name === 'trim').map((n) => n.args[2])).toEqual([4, 0])
  })
  it('/history and /help', async () => {
    const { went } = compose()
    await run('help')
    expect(screen.getByRole('region', { name: 'Keys' })).toBeTruthy()
    await run('history')
    expect(went).toEqual([{ view: 'history' }])
  })
  it('/new starts a sibling with the same settings and goes there', async () => {
    const { noted, went } = compose(
      {
        profile: 'mine',
        posture: { plan_mode: true, permission_mode: 'deny_all', approve_writes: true },
      },
      { start: () => Promise.resolve({ ok: true }) },
    )
    await run('new')
    await waitFor(() => expect(went).toHaveLength(1))
    expect(noted.find((n) => n.name === 'start')?.args[0]).toMatchObject({
      provider: 'demo',
      row: 'api-demo',
      model: 'demo',
      project_path: '/p',
      initial_message: '',
      plan_mode: true,
      permission_mode: 'deny_all',
      approve_writes: true,
      profile: 'mine',
    })
    expect(went[0]).toMatchObject({ view: 'agents', screen: 'conversation' })
  })
  it('/review gives the Reviewer the diff, and says when there is none', async () => {
    const diff = { diff: '', staged: true, truncated: false }
    const clean = compose({}, { projectDiff: () => Promise.resolve(diff) })
    await run('review')
    await waitFor(() => expect(clean.noted.map((n) => n.name)).toContain('say'))
    expect(clean.noted.filter((n) => n.name === 'start')).toEqual([])
    clean.unmount()
    const { noted } = compose(
      {},
      { projectDiff: () => Promise.resolve({ ...diff, diff: '+a\n+```\n' }) },
    )
    await run('review')
    await waitFor(() => expect(noted.map((n) => n.name)).toContain('start'))
    const request = noted.find((n) => n.name === 'start')?.args[0] as { initial_message: string }
    expect(request).toMatchObject({ profile: 'builtin-reviewer', plan_mode: true })
    expect(request.initial_message).toContain('Review the staged diff below.')
    expect(request.initial_message).toContain('````diff\n+a\n+```\n````')
  })
  it('/review says in git’s words why there is no diff', async () => {
    const { noted } = compose(
      {},
      { projectDiff: () => Promise.resolve('fatal: not a git repository') },
    )
    await run('review')
    await waitFor(() =>
      expect(noted.find((n) => n.name === 'say')?.args[0]).toBe('fatal: not a git repository'),
    )
  })
})

describe('images', () => {
  const image = (bytes: number, name = 'a.png') =>
    new File([new Uint8Array(bytes)], name, { type: 'image/png' })
  const paste = (...files: File[]) => fireEvent.paste(field(), { clipboardData: { files } })
  it('are staged from a paste, and one over 5 MB is refused in view', async () => {
    const { noted } = compose()
    paste(image(10), image(5 * 1024 * 1024 + 1, 'big.png'))
    await waitFor(() => expect(noted.map((n) => n.name)).toEqual(['stage']))
    const [, staged] = noted[0]?.args ?? []
    expect(staged).toMatchObject([
      { name: 'a.png', refusal: '' },
      { name: 'big.png', refusal: 'big.png is larger than 5 MB' },
    ])
  })
  it('are off where the provider takes none: the paste is the browser’s', () => {
    const { noted } = compose({
      capabilities: { ...sampleConversation().capabilities, imageAttachments: false },
    })
    expect(paste(image(10))).toBe(true)
    expect(noted).toEqual([])
  })
})

describe('dictation', () => {
  it('has no button where the browser offers none', () => {
    compose()
    expect(screen.queryByRole('button', { name: 'Dictate' })).toBeNull()
  })
  it('puts finished words behind the text', () => {
    const made: { onresult?: (e: unknown) => void; start: () => void; stop: () => void }[] = []
    class Recognizer {
      start = (): void => undefined
      stop = (): void => undefined
      constructor() {
        made.push(this)
      }
    }
    Reflect.set(window, 'webkitSpeechRecognition', Recognizer)
    try {
      compose()
      type('please')
      fireEvent.click(screen.getByRole('button', { name: 'Dictate' }))
      expect(screen.getByRole('button', { name: 'Dictate' }).getAttribute('aria-pressed')).toBe(
        'true',
      )
      act(() =>
        made[0]?.onresult?.({
          resultIndex: 0,
          results: { length: 1, 0: { isFinal: true, 0: { transcript: 'fix it ' } } },
        }),
      )
      expect(value()).toBe('please fix it')
    } finally {
      Reflect.deleteProperty(window, 'webkitSpeechRecognition')
    }
  })
})
