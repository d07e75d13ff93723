import { expect, test } from 'vitest'

import { proposal } from './edit.js'

const edit = (old_string: string, new_string: string, replace_all = false): unknown => ({
  old_string,
  new_string,
  replace_all,
})

test.each<[string, string, unknown, string | undefined, string | undefined]>([
  ['a new file', 'Write', { content: 'x' }, undefined, 'x'],
  ['a file emptied', 'Write', { content: '' }, 'x', ''],
  ['the first of two', 'Edit', edit('a', 'b'), 'a a', 'b a'],
  ['all of them', 'Edit', edit('a', 'b', true), 'a a', 'b b'],
  ['a literal, no pattern', 'Edit', edit('a.c', '$&'), 'abc a.c', 'abc $&'],
  ['a text that is not there', 'Edit', edit('z', 'b'), 'a', undefined],
  ['a new file by an edit', 'Edit', edit('', 'x'), undefined, 'x'],
  ['an empty text in a full file', 'Edit', edit('', 'x'), 'full', undefined],
  ['CRLF (F73)', 'Edit', edit('a\nb', 'c\nd'), 'a\r\nb\r\n', 'c\r\nd\r\n'],
  [
    'several in order',
    'MultiEdit',
    { edits: [edit('a', 'b'), edit('b', 'c', true)] },
    'a b',
    'c c',
  ],
  [
    'several, one missing',
    'MultiEdit',
    { edits: [edit('a', 'b'), edit('z', 'c')] },
    'a',
    undefined,
  ],
  ['no edits', 'MultiEdit', { edits: [] }, 'a', undefined],
  ['a cell', 'NotebookEdit', { new_source: 'print(1)' }, '{"cells":[]}', 'print(1)'],
  ['no arguments', 'Edit', null, 'a', undefined],
  ['another tool', 'Read', {}, 'a', undefined],
])('%s', (_name, name, input, before, after) => {
  expect(proposal(name, input, before)).toBe(after)
})
