import { describe, expect, it } from 'vitest'
import { fakeService, settle } from '../../test/fakeSocket'
import type { EditedFile, EditedText, PendingEdit } from '../contract/model'
import { createCommands } from '../net/command'
import { createLink } from '../net/socket'
import { createReviews, fileKey } from './reviews'
import { createBench } from './stores'

const file = (hash: string): EditedFile => ({
  path: 'a.go',
  state: 'modified',
  hash,
  lines_added: 1,
  lines_removed: 1,
  size_before: 4,
  size_now: 4,
  can_undo: true,
  why_not: '',
  edited_outside: false,
  view: 'full',
})
const text = (hash: string): EditedText => ({ file: file(hash), before: 'a\n', now: 'b\n' })

/** Commands whose answers the test gives when it wants to. */
function held() {
  const waiting: { args: unknown[]; give: (v: unknown) => void; refuse: (e: Error) => void }[] = []
  const ask =
    <T>() =>
    (...args: unknown[]): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        waiting.push({ args, give: (v) => resolve(v as T), refuse: reject })
      })
  const reviews = createReviews({
    listEdits: ask(),
    getEdit: ask(),
    undoEdit: ask(),
    setDiffComments: ask(),
  })
  return { reviews, waiting }
}

describe('createReviews', () => {
  it('shows the newest reading, whichever answer comes last', async () => {
    const { reviews, waiting } = held()
    void reviews.loadText('c-1', 'a.go')
    void reviews.loadText('c-1', 'a.go')
    waiting[1]?.give(text('new'))
    await settle()
    waiting[0]?.give(text('old'))
    await settle()
    const read = reviews.store.getState().texts[fileKey('c-1', 'a.go')]
    expect(read).toMatchObject({ loading: false, value: { file: { hash: 'new' } } })
  })
  it('keeps what was read while it reads again, and when that fails', async () => {
    const { reviews, waiting } = held()
    void reviews.loadFiles('c-1')
    waiting[0]?.give([file('h')])
    await settle()
    void reviews.loadFiles('c-1')
    expect(reviews.store.getState().files['c-1']).toMatchObject({ loading: true, value: [{}] })
    waiting[1]?.refuse(new Error('The disk is busy.'))
    await settle()
    const { files } = reviews.store.getState()
    expect(files['c-1']).toMatchObject({ reason: 'The disk is busy.', value: [{ hash: 'h' }] })
  })
  it('restores a file once at a time, by the hash that was shown', async () => {
    const { reviews, waiting } = held()
    const first = reviews.undo('c-1', text('h'), 0)
    void reviews.undo('c-1', text('h'), 0)
    expect(waiting.map((w) => w.args)).toEqual([['c-1', 'a.go', 'h', 'a\n']])
    waiting[0]?.give(text('h2'))
    await first
    const { texts, busy } = reviews.store.getState()
    expect(texts[fileKey('c-1', 'a.go')]?.value?.file.hash).toBe('h2')
    expect(busy).toEqual({})
  })
  it('keeps why a restore was refused, and reads what is there', async () => {
    const { reviews, waiting } = held()
    const undone = reviews.undo('c-1', text('h'))
    waiting[0]?.refuse(new Error('Somebody else changed it.'))
    await undone
    expect(reviews.store.getState().errors).toEqual({
      [fileKey('c-1', 'a.go')]: 'Somebody else changed it.',
    })
    // The text and the list.
    expect(waiting).toHaveLength(3)
  })
  it('remembers what was viewed over a reload, and forgets it with the conversation', () => {
    const one = held().reviews
    one.view('c-1', 'a.go', 'h')
    const other = held().reviews
    other.show('c-1')
    expect(other.store.getState().viewed).toEqual({ 'c-1': { 'a.go': 'h' } })
    other.view('c-1', 'a.go', '')
    expect(other.store.getState().viewed).toEqual({ 'c-1': {} })
    other.view('c-1', 'b.go', 'h')
    other.forget('c-1')
    const third = held().reviews
    third.show('c-1')
    expect(third.store.getState().viewed).toEqual({ 'c-1': {} })
  })
  it('turns hunks around one by one', () => {
    const { reviews } = held()
    const edit: PendingEdit = {
      id: 'e',
      path: 'a.go',
      before: '1\n2\n3\n4\n5\n6\n',
      content: 'x\n2\n3\n4\n5\ny\n',
      opened_at: 0,
    }
    reviews.tick(edit, 1)
    expect(reviews.store.getState().ticks).toEqual({ e: [true, false] })
    reviews.tick(edit, 0)
    reviews.tick(edit, 1)
    expect(reviews.store.getState().ticks).toEqual({ e: [false, true] })
  })
})

describe('the actions of a past', () => {
  const setup = async (answers: Record<string, () => unknown>) => {
    const service = fakeService(answers)
    const link = createLink({
      open: service.open,
      probe: () => Promise.resolve('other'),
      random: () => 0.5,
    })
    const bench = createBench(link, createCommands(link), (f) => {
      queueMicrotask(f)
      return () => undefined
    })
    service.last().open()
    await settle()
    const sent = (method: string) =>
      service.sockets.flatMap((s) => s.sent).filter((f) => f.method === method)
    return { bench, sent }
  }
  const refused = () => ({ error: { code: -32009, message: 'A turn is running.' } })
  const taken = () => ({ error: { code: -32010, message: 'This prompt was already answered.' } })

  it('names the fork itself, so that it can be followed at once', async () => {
    const { bench, sent } = await setup({})
    const forked = await bench.actions.fork('c-1', 'm-1', 'again')
    const params = sent('fork_conversation')[0]?.params
    expect(params).toMatchObject({ session_id: 'c-1', message_id: 'm-1', message: 'again' })
    expect(forked).toEqual({ ok: true, id: params?.new_session_id })
    bench.dispose()
  })
  it('says why a fork or a restore was refused', async () => {
    const { bench } = await setup({ fork_conversation: refused, restore_conversation: refused })
    expect(await bench.actions.fork('c-1', 'm-1', 'x')).toEqual({
      ok: false,
      reason: 'A turn is running.',
    })
    expect(await bench.actions.restore('c-1', 'm-1')).toBe('A turn is running.')
    bench.dispose()
  })
  it('says why an edit was not answered, but not that another window was first', async () => {
    const { bench } = await setup({ respond_edit: refused })
    expect(await bench.actions.answerEdit('c-1', 'e', 'apply')).toBe('A turn is running.')
    bench.dispose()
    const other = await setup({ respond_edit: taken })
    expect(await other.bench.actions.answerEdit('c-1', 'e', 'apply')).toBe('')
    other.bench.dispose()
  })
  it('takes a pattern back', async () => {
    const { bench, sent } = await setup({})
    bench.actions.removePattern('c-1', 'Bash(go test:*)')
    await settle()
    expect(sent('remove_allow_pattern')[0]?.params).toEqual({
      session_id: 'c-1',
      pattern: 'Bash(go test:*)',
    })
    bench.dispose()
  })
})
