// What a write tool is about to make of a file. Pure.
import { fieldsOf, listOf, textOf, type Fields } from '../../fields.js'

/**
 * The text that the file would hold, or undefined when the call cannot be
 * replayed (a text that is not there, missing arguments); the tool then refuses
 * it in its own words. `before` is undefined for a new file. A NotebookEdit
 * gives the new source of its cell, not the whole notebook.
 */
export function proposal(
  name: string,
  input: unknown,
  before: string | undefined,
): string | undefined {
  const f = fieldsOf(input)
  if (f === undefined) return undefined
  switch (name) {
    case 'Write':
      return textOf(f['content'])
    case 'NotebookEdit':
      return textOf(f['new_source'])
    case 'Edit':
      return replace(before ?? '', f)
    case 'MultiEdit': {
      const edits = listOf(f['edits'])
      if (edits.length === 0) return undefined
      return edits.reduce<string | undefined>(
        (text, edit) => (text === undefined ? undefined : replace(text, edit)),
        before ?? '',
      )
    }
    default:
      return undefined
  }
}

function replace(text: string, edit: Fields): string | undefined {
  const old = textOf(edit['old_string'])
  const now = textOf(edit['new_string'])
  if (old === undefined || now === undefined) return undefined
  // An empty old text makes a new file, or fills an empty one.
  if (old === '') return text === '' ? now : undefined
  if (text.includes(old)) return swap(text, old, now, edit['replace_all'] === true)
  // The model sees line feeds where the file has CRLF (faults.md F73).
  const oldLines = crlf(old)
  if (!text.includes(oldLines)) return undefined
  return swap(text, oldLines, crlf(now), edit['replace_all'] === true)
}

function swap(text: string, old: string, now: string, all: boolean): string {
  if (all) return text.split(old).join(now)
  const at = text.indexOf(old)
  return text.slice(0, at) + now + text.slice(at + old.length)
}

function crlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}
