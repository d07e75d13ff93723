import { describe, expect, it } from 'vitest'
import { piecesOf, splitMarkdown } from './splitMarkdown'

const paragraph = 'A sentence that says something of some length. '.repeat(20)
const pieces = (text: string): string[] => piecesOf(splitMarkdown(text))
const samples = [
  '',
  'short',
  `${paragraph}\n\n`.repeat(9),
  `${paragraph}\n\n${paragraph}\n\n1. one\n\n2. two\n\n   more of two\n\n${paragraph}\n`,
  `${paragraph}\n\n${paragraph}\n\n\`\`\`go\n${paragraph}\n\n${paragraph}\n\`\`\`\n\n${paragraph}\n`,
  `${paragraph}\n\n${paragraph}\n\n~~~~\n\`\`\`\n\nnot closed\n~~~\n\n${paragraph}`,
]

describe('splitMarkdown', () => {
  it('loses nothing, and cuts the same however the text arrives', () => {
    for (const text of samples) {
      expect(pieces(text).join('')).toBe(text)
      for (const step of [1, 7, 100, 1999]) {
        let split = splitMarkdown('')
        for (let n = step; n < text.length + step; n += step) {
          split = splitMarkdown(text.slice(0, n), split)
        }
        expect(piecesOf(split)).toEqual(pieces(text))
      }
    }
  })
  it('leaves what is settled as it is while the text grows', () => {
    const text = samples[2] ?? ''
    let split = splitMarkdown('')
    for (let n = 50; n <= text.length; n += 50) {
      const next = splitMarkdown(text.slice(0, n), split)
      expect(next.settled.slice(0, split.settled.length)).toEqual(split.settled)
      split = next
    }
    expect(split.settled.length).toBeGreaterThan(2)
  })
  it('keeps lists, quotes, tables and code in one piece', () => {
    const long = `${paragraph}\n\n${paragraph}\n\n`
    const kept = [
      '1. one\n\n2. two\n',
      '- one\n\n  more\n\n- two\n',
      '> a\n\n> b\n',
      '```\na\n\nb\n```\n',
      '    code\n\n    more\n',
    ]
    for (const block of kept) {
      const all = pieces(`${long}${block}\n${paragraph}\n`)
      expect(all.some((p) => p.includes(block))).toBe(true)
    }
  })
  it('does not cut a text whose links are defined elsewhere in it', () => {
    const text = `${`${paragraph}\n\n`.repeat(4)}[a]: https://example.org\n`
    expect(pieces(text)).toEqual([text])
  })
  it('begins anew with another text', () => {
    const split = splitMarkdown(samples[2] ?? '')
    expect(piecesOf(splitMarkdown('something else', split))).toEqual(['something else'])
  })
})
