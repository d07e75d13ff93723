import xterm from '@xterm/headless'
import { describe, expect, it } from 'vitest'
import type { ServerFrame } from '../../net/terminal'
import { cleanPaste, createFeed, isReply } from './feed'
import { mend } from './quirks'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function setUp(cols = 20, rows = 5) {
  const term = new xterm.Terminal({
    cols,
    rows,
    scrollback: 100,
    allowProposedApi: true,
    logLevel: 'off',
  })
  mend(term)
  const said: string[] = []
  const heard: string[] = []
  const feed = createFeed(term, {
    drawn: (offset) => heard.push(`drawn ${offset}`),
    sized: (s) => heard.push(`sized ${s.cols}x${s.rows}`),
    ended: (code) => heard.push(`ended ${code}`),
    begun: () => heard.push('begun'),
  })
  term.onData((d) => {
    if (!feed.replaying()) said.push(d)
  })
  const settled = (): Promise<void> => new Promise((done) => term.write('', done))
  const lines = (): string[] =>
    Array.from({ length: term.buffer.active.length }, (_, y) =>
      (term.buffer.active.getLine(y)?.translateToString(true) ?? '').trimEnd(),
    ).filter((l) => l !== '')
  return { term, feed, said, heard, settled, lines }
}

describe('a feed', () => {
  it('shows a snapshot and the bytes behind it', async () => {
    const t = setUp()
    t.feed.frame({ kind: 'size', cols: 30, rows: 6 })
    t.feed.frame({ kind: 'snapshot', offset: 10, bytes: bytes('one\r\ntwo\r\n') })
    t.feed.frame({ kind: 'output', offset: 10, bytes: bytes('three') })
    await t.settled()
    expect(t.lines()).toEqual(['one', 'two', 'three'])
    expect(t.heard).toEqual(['sized 30x6', 'begun', 'drawn 15'])
    expect([t.term.cols, t.term.rows]).toEqual([30, 6])
  })

  it('forgets the screen before when a snapshot comes again', async () => {
    const t = setUp()
    t.feed.frame({ kind: 'snapshot', offset: 0, bytes: bytes('old\r\n\x1b]0;half a title') })
    t.feed.frame({ kind: 'snapshot', offset: 9, bytes: bytes('new') })
    await t.settled()
    expect(t.lines()).toEqual(['new'])
  })

  it('changes the size at its place in the output', async () => {
    const t = setUp(20, 5)
    // The alternate screen does not break its lines anew.
    t.feed.frame({ kind: 'snapshot', offset: 0, bytes: bytes('\x1b[?1049h') })
    t.feed.frame({ kind: 'output', offset: 0, bytes: bytes('x'.repeat(25)) })
    t.feed.frame({ kind: 'size', cols: 30, rows: 5 })
    t.feed.frame({ kind: 'output', offset: 25, bytes: bytes('\r\n' + 'y'.repeat(25)) })
    await t.settled()
    expect(t.lines()).toEqual(['x'.repeat(20), 'x'.repeat(5), 'y'.repeat(25)])
  })

  // F55: the end is told when all of the output is on the screen.
  it('tells the end last', async () => {
    const t = setUp()
    t.feed.frame({ kind: 'snapshot', offset: 0, bytes: bytes('') })
    t.feed.frame({ kind: 'output', offset: 0, bytes: bytes('a\r\nb\r\nc') })
    t.feed.frame({ kind: 'exit', code: 3 })
    await t.settled()
    expect(t.heard).toEqual(['begun', 'drawn 7', 'ended 3'])
    expect(t.lines()).toEqual(['a', 'b', 'c'])
  })

  it('says nothing while it replays, and answers what comes live', async () => {
    const t = setUp()
    t.feed.frame({ kind: 'snapshot', offset: 0, bytes: bytes('\x1b[6n\x1b[c') })
    await t.settled()
    expect(t.said).toEqual([])
    t.feed.frame({ kind: 'output', offset: 7, bytes: bytes('\x1b[6n') })
    await t.settled()
    expect(t.said).toEqual(['\x1b[1;1R'])
  })
})

describe('quirks', () => {
  it('survives erasing above in the last corner', async () => {
    const t = setUp(10, 3)
    const frames: ServerFrame[] = [
      { kind: 'snapshot', offset: 0, bytes: bytes('') },
      { kind: 'output', offset: 0, bytes: bytes('aaa\r\nbbb\x1b[3;10H\x1b[1Jalive') },
    ]
    for (const f of frames) t.feed.frame(f)
    await t.settled()
    expect(t.lines().join('')).toContain('live')
    expect(t.lines().join('')).not.toContain('bbb')
  })

  it('leaves erasing alone everywhere else', async () => {
    const t = setUp(10, 3)
    t.term.write('aaa\r\nbbb\r\nccc\x1b[2;2H\x1b[1J')
    await t.settled()
    expect(t.lines()).toEqual(['  b', 'ccc'])
  })

  it.each([
    ['\x1b[?2004h\x1b[?2004$p', '\x1b[?2004;1$y'],
    ['\x1b[?2004$p', '\x1b[?2004;2$y'],
    ['\x1b[?12345$p', '\x1b[?12345;0$y'],
    ['\x1b[?1002h\x1b[?1002$p', '\x1b[?1002;1$y'],
    ['\x1b[4h\x1b[4$p', '\x1b[4;1$y'],
  ])('answers %j', async (ask, want) => {
    const t = setUp()
    t.term.write(ask)
    await t.settled()
    expect(t.said).toEqual([want])
  })
})

it.each([
  ['\x1b[I', true],
  ['\x1b[12;40R', true],
  ['\x1b[?1;2c', true],
  ['\x1b[>0;276;0c', true],
  ['\x1b[?2004;1$y', true],
  ['\x1b]10;rgb:ff/ff/ff\x1b\\', true],
  ['\x1bP1$r0m\x1b\\', true],
  ['\x1b[I\x1b[0n', true],
  ['a', false],
  ['\x1b[A', false],
  ['\x1b[Ia', false],
  ['', false],
])('%j is a reply: %s', (data, want) => {
  expect(isReply(data)).toBe(want)
})

it('takes the marks of a paste out of what is pasted', () => {
  expect(cleanPaste('a\x1b[201~rm -rf x\x1b[200~b')).toBe('arm -rf xb')
  expect(cleanPaste('plain\ntext')).toBe('plain\ntext')
})
