import { describe as suite, expect, it } from 'vitest'
import type { SlashCommand } from './completion'
import {
  builtins,
  describe,
  matching,
  mention,
  merge,
  pick,
  placeholder,
  triggerAt,
} from './completion'

const all = { files: true, commands: true }

suite('triggerAt', () => {
  it.each([
    ['@', 1, 'file', 0, ''],
    ['look at @src/ma', 15, 'file', 8, 'src/ma'],
    ['a\n@b', 4, 'file', 2, 'b'],
    ['/', 1, 'command', 0, ''],
    ['first /re', 9, 'command', 6, 're'],
    // The caret decides, not the end of the text.
    ['/review this', 3, 'command', 0, 're'],
  ])('finds one in %j at %i', (text, caret, kind, start, query) => {
    expect(triggerAt(text, caret, all)).toEqual({ kind, start, end: caret, query })
  })
  it.each([
    ['plain', 5],
    ['mail@host', 9],
    ['either/or', 9],
    ['/usr/bin', 8],
    ['@file done', 10],
    ['/plan ', 6],
    ['', 0],
  ])('finds none in %j at %i', (text, caret) => {
    expect(triggerAt(text, caret, all)).toBeUndefined()
  })
  it('is off where the composer cannot', () => {
    expect(triggerAt('@a', 2, { files: false, commands: true })).toBeUndefined()
    expect(triggerAt('/a', 2, { files: true, commands: false })).toBeUndefined()
  })
})

suite('pick', () => {
  it('puts the path where the trigger was and the caret behind it', () => {
    const trigger = triggerAt('see @re now', 7, all)
    if (!trigger) throw new Error('There is no trigger.')
    expect(pick('see @re now', trigger, mention('a/read me.md'))).toEqual({
      text: 'see @a/read me.md  now',
      caret: 18,
    })
  })
})

suite('the list of commands', () => {
  const body = (name: string, source = 'project'): SlashCommand => ({
    kind: 'body',
    name,
    description: 'Of mine',
    body: 'do',
    source,
  })
  it('holds the nine built-ins first', () => {
    expect(builtins.map((c) => c.name)).toEqual([
      'plan',
      'permissions',
      'model',
      'compact',
      'review',
      'history',
      'clear',
      'new',
      'help',
    ])
  })
  it('lets the first of a name shadow the others', () => {
    const list = merge(builtins, [{ kind: 'engine', name: 'PLAN', description: '' }, body('mine')])
    expect(list.filter((c) => c.name.toLowerCase() === 'plan')).toHaveLength(1)
    expect(list.at(-1)?.name).toBe('mine')
  })
  it('matches the beginning, in any case', () => {
    expect(matching(builtins, 'P').map((c) => c.name)).toEqual(['plan', 'permissions'])
    expect(matching(builtins, 'lan')).toEqual([])
  })
  it('says where a command comes from', () => {
    expect(describe(body('mine', 'global'))).toBe('Of mine (global)')
  })
})

suite('placeholder', () => {
  it.each([
    [true, true, 'Do anything — / for commands, @ for files'],
    [false, true, 'Do anything — / for commands'],
    [true, false, 'Do anything — @ for files'],
    [false, false, 'Do anything'],
  ])('with files %s and commands %s', (files, commands, text) => {
    expect(placeholder({ files, commands })).toBe(text)
  })
})
