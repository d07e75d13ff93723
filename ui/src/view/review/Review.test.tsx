import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { beforeEach, describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation } from '../../../test/sample'
import type { EditedFile, EditedText, PendingEdit } from '../../contract/model'
import { CallError } from '../../net/socket'
import { fromSnapshot } from '../../store/reduce'
import { useReviews } from '../bench'
import { Review } from './Review'

const lines = (change: Record<number, string> = {}): string =>
  Array.from({ length: 60 }, (_, i) => `${change[i] ?? `line ${i}`}\n`).join('')
const five = { 5: 'five', 15: 'fifteen', 25: 'twenty-five', 35: 'thirty-five', 45: 'forty-five' }
const edit: PendingEdit = {
  id: 'e-1',
  path: '/p/dir/a.go',
  before: lines(),
  content: lines(five),
  opened_at: 0,
}
const file = (change: Partial<EditedFile> = {}): EditedFile => ({
  path: 'b.go',
  state: 'modified',
  hash: 'h1',
  lines_added: 2,
  lines_removed: 2,
  size_before: 400,
  size_now: 410,
  can_undo: true,
  why_not: '',
  edited_outside: false,
  view: 'full',
  ...change,
})
const text = (
  change: Partial<EditedFile> = {},
  now = lines({ 10: 'ten', 30: 'thirty' }),
): EditedText => ({
  file: file(change),
  before: lines(),
  now,
})

interface World {
  files: EditedFile[]
  texts: Record<string, EditedText>
}

let asked: unknown[][]
beforeEach(() => {
  asked = []
})

/** The review as the pane draws it: at the file that the store says. */
function Shown({ edits }: { edits: PendingEdit[] }) {
  const path = useReviews((s) => s.open['c-1'])
  const c = sampleConversation({ pending_edits: edits })
  return path === undefined ? null : <Review state={fromSnapshot(c, 1)} openPath={path} />
}

function show(world: World, edits: PendingEdit[] = [], path = '') {
  const bench = renderInBench(
    <Shown edits={edits} />,
    {},
    {},
    {
      listEdits: () => Promise.resolve(world.files),
      getEdit: (_id, p) => {
        const found = world.texts[p]
        return found ? Promise.resolve(found) : Promise.reject(new Error('It is gone.'))
      },
      undoEdit: (...args) => {
        asked.push(args)
        const found = world.texts[args[1]]
        return found ? Promise.resolve(found) : Promise.reject(new Error('It is gone.'))
      },
      setDiffComments: (_id, comments) => {
        asked.push(comments)
        return Promise.resolve()
      },
    },
  )
  act(() => bench.reviews.show('c-1', path))
  return bench
}

const nothing: World = { files: [], texts: {} }
const press = (key: string, target: Element = document.body): void => {
  fireEvent.keyDown(target, { key })
}
const pending = () => screen.getByRole('article', { name: 'dir/a.go, pending' })
const applied = (name = 'b.go') => screen.findByRole('article', { name: `${name}, applied` })

describe('Review, pending', () => {
  it('keeps every hunk at first, and relabels its button for a part', () => {
    const { noted } = show(nothing, [edit])
    const ticks = within(pending()).getAllByRole('checkbox')
    expect(ticks.map((t) => t.getAttribute('aria-checked'))).toEqual(Array(5).fill('true'))
    for (const i of [0, 2, 3])
      fireEvent.click(within(pending()).getAllByRole('checkbox')[i] as Element)
    const merged = lines({ 15: 'fifteen', 45: 'forty-five' })
    fireEvent.click(within(pending()).getByRole('button', { name: /^Keep 2\/5/ }))
    expect(noted).toContainEqual({ name: 'answerEdit', args: ['c-1', 'e-1', 'apply', merged] })
  })
  it('applies all of it without a text of its own', () => {
    const { noted } = show(nothing, [edit])
    fireEvent.click(within(pending()).getByRole('button', { name: /^Keep/ }))
    expect(noted).toContainEqual({ name: 'answerEdit', args: ['c-1', 'e-1', 'apply', undefined] })
  })
  it('rejects when nothing is kept, by Keep 0/5 as by Undo all', () => {
    const { noted } = show(nothing, [edit])
    for (const tick of within(pending()).getAllByRole('checkbox')) fireEvent.click(tick)
    fireEvent.click(within(pending()).getByRole('button', { name: /^Keep 0\/5/ }))
    fireEvent.click(within(pending()).getByRole('button', { name: /^Undo all/ }))
    const reject = { name: 'answerEdit', args: ['c-1', 'e-1', 'reject', undefined] }
    expect(noted.filter((n) => n.name === 'answerEdit')).toEqual([reject, reject])
  })
  it('keeps the text of what will be undone readable', () => {
    show(nothing, [edit])
    fireEvent.click(screen.getByRole('checkbox', { name: 'Keep hunk 1' }))
    expect(screen.getByText('will be undone')).toBeTruthy()
    expect(screen.getByText('five')).toBeTruthy()
  })
  it('shows why an answer was not taken, where it was given', async () => {
    const bench = renderInBench(
      <Shown edits={[edit]} />,
      {},
      { answerEdit: () => Promise.resolve('The file has changed.') },
      { listEdits: () => Promise.resolve([]) },
    )
    act(() => bench.reviews.show('c-1'))
    fireEvent.click(within(pending()).getByRole('button', { name: /^Keep/ }))
    expect((await within(pending()).findByRole('alert')).textContent).toBe('The file has changed.')
  })
  it('is done with the keys alone', () => {
    const { noted } = show(nothing, [edit])
    press('x')
    press('j')
    press('j')
    press('x')
    press('k')
    expect(screen.getByRole('button', { name: /^Keep 3\/5/ })).toBeTruthy()
    press('x')
    press('x')
    expect(screen.getByRole('button', { name: /^Keep 3\/5/ })).toBeTruthy()
    expect(document.activeElement?.getAttribute('data-stop')).toBe('0/1')
    expect(noted).toEqual([])
  })
})

describe('Review, applied', () => {
  const world: World = { files: [file()], texts: { 'b.go': text() } }
  it('shows what changed between the first edit and the disk', async () => {
    show(world)
    const card = await applied()
    await within(card).findByText('Hunk 1 @ line 11')
    expect(within(card).getByText('ten')).toBeTruthy()
    expect(within(card).getByText('Hunk 2 @ line 31')).toBeTruthy()
  })
  it('undoes one hunk by the text that is shown, the others kept', async () => {
    show(world)
    const card = await applied()
    const [, second] = await within(card).findAllByRole('button', { name: 'Undo' })
    fireEvent.click(second as Element)
    expect(asked).toEqual([['c-1', 'b.go', 'h1', lines({ 10: 'ten' })]])
  })
  it('undoes the whole file', async () => {
    show(world)
    const card = await applied()
    await within(card).findByText('ten')
    fireEvent.click(within(card).getByRole('button', { name: 'Undo all' }))
    expect(asked).toEqual([['c-1', 'b.go', 'h1', undefined]])
  })
  it('says why a file cannot be restored, and does not try', async () => {
    show({
      files: [file({ can_undo: false, why_not: 'The file is new.', state: 'new' })],
      texts: {
        'b.go': { ...text({ can_undo: false, why_not: 'The file is new.' }), before: null },
      },
    })
    const card = await applied()
    await within(card).findByText('The file is new.')
    fireEvent.click(within(card).getByRole('button', { name: 'Undo all' }))
    expect(within(card).queryByRole('button', { name: 'Undo' })).toBeNull()
    expect(asked).toEqual([])
  })
  it('shows what somebody else changed, and what the disk holds after a refusal', async () => {
    const files = [file({ edited_outside: true })]
    const bench = renderInBench(
      <Shown edits={[]} />,
      {},
      {},
      {
        listEdits: () => Promise.resolve(files),
        getEdit: () =>
          Promise.resolve(
            asked.length === 0 ? text() : text({ hash: 'h2' }, lines({ 1: 'theirs' })),
          ),
        undoEdit: (...args) => {
          asked.push(args)
          return Promise.reject(new CallError('The file was changed meanwhile.', -32009))
        },
      },
    )
    act(() => bench.reviews.show('c-1'))
    const card = await applied()
    expect(within(card).getByText('changed outside')).toBeTruthy()
    await within(card).findByText('ten')
    fireEvent.click(within(card).getAllByRole('button', { name: 'Undo' })[0] as Element)
    await within(card).findByText('The file was changed meanwhile.')
    await within(card).findByText('theirs')
  })
  it('folds what was viewed until its content changes', async () => {
    const files = [file()]
    const bench = show({ files, texts: { 'b.go': text() } })
    const card = await applied()
    await within(card).findByText('ten')
    fireEvent.click(within(card).getByRole('checkbox', { name: 'Viewed' }))
    expect(screen.getByRole('article', { name: 'b.go, applied, viewed' })).toBeTruthy()
    expect(screen.queryByText('ten')).toBeNull()
    expect(screen.getByText('1 of 1 viewed')).toBeTruthy()
    // The same content again is the same; another one has to be looked at.
    await act(() => bench.reviews.loadFiles('c-1'))
    expect(screen.getByText('1 of 1 viewed')).toBeTruthy()
    files[0] = file({ hash: 'h2' })
    await act(() => bench.reviews.loadFiles('c-1'))
    expect(screen.getByText('0 of 1 viewed')).toBeTruthy()
  })
  it.each([
    [
      file({ view: 'size', size_now: 3_000_000 }),
      {},
      /^Too large to show: 1 KB before, 2,930 KB now/,
    ],
    [file(), { 'b.go': text({}, lines()) }, 'No changes vs. on-disk content.'],
    [file(), {}, /^Could not read this file from disk\. It is gone\./],
  ])('says what there is instead of a diff, %#', async (f, texts, words) => {
    show({ files: [f], texts })
    await within(await applied()).findByText(words)
  })
  it('says that there is nothing yet', async () => {
    show(nothing)
    await screen.findByText('No file edits in this conversation yet.')
  })
  it('says why the list is not there, and tries again', async () => {
    let failing = true
    const bench = renderInBench(
      <Shown edits={[]} />,
      {},
      {},
      {
        listEdits: () =>
          failing ? Promise.reject(new Error('The disk is busy.')) : Promise.resolve([]),
      },
    )
    act(() => bench.reviews.show('c-1'))
    await screen.findByText('The disk is busy.')
    failing = false
    fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
    await screen.findByText('No file edits in this conversation yet.')
  })
})

describe('Review, comments and keys', () => {
  it('takes a remark on a line, found with the keys', async () => {
    show({ files: [file()], texts: { 'b.go': text() } })
    await within(await applied()).findByText('ten')
    const review = screen.getByRole('region', { name: 'Review' })
    press('j')
    press('ArrowDown', review)
    press('ArrowDown', review)
    press('c')
    const box = screen.getByRole('textbox', { name: 'Comment' })
    expect(screen.getByRole('group', { name: 'Comment on b.go line 31' })).toBeTruthy()
    // What is typed here answers and moves nothing.
    press('j', box)
    press('v', box)
    fireEvent.change(box, { target: { value: '  name the 30 ' } })
    fireEvent.click(screen.getByRole('button', { name: /^Add comment/ }))
    await waitFor(() => expect(asked).toHaveLength(1))
    expect(asked[0]).toMatchObject([{ path: 'b.go', line: 31, side: 'new', text: 'name the 30' }])
    await waitFor(() => expect(screen.queryByRole('textbox', { name: 'Comment' })).toBeNull())
  })
  it('leaves the remark with Escape, then the review', async () => {
    const { reviews } = show({ files: [file()], texts: { 'b.go': text() } })
    await within(await applied()).findByText('ten')
    press('c')
    press('Escape', screen.getByRole('textbox', { name: 'Comment' }))
    expect(screen.queryByRole('textbox', { name: 'Comment' })).toBeNull()
    expect(screen.getByRole('region', { name: 'Review' })).toBeTruthy()
    press('Escape')
    expect(reviews.store.getState().open).toEqual({})
  })
  it('opens at the file that was asked for, and V folds it', async () => {
    show(
      {
        files: [file(), file({ path: 'c.go' })],
        texts: { 'b.go': text(), 'c.go': text({ path: 'c.go' }) },
      },
      [],
      'c.go',
    )
    await within(await applied('c.go')).findByText('ten')
    press('v')
    expect(screen.getByRole('article', { name: 'c.go, applied, viewed' })).toBeTruthy()
    press('v')
    expect(await applied('c.go')).toBeTruthy()
  })
  it('moves between files by their list', async () => {
    const { reviews } = show({
      files: [file(), file({ path: 'c.go' })],
      texts: { 'b.go': text(), 'c.go': text({ path: 'c.go' }) },
    })
    await within(await applied('c.go')).findByText('ten')
    fireEvent.click(within(screen.getByRole('navigation', { name: 'Files' })).getByText('c.go'))
    expect(reviews.store.getState().open['c-1']).toBe('c.go')
  })
})
