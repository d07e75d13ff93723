// Addresses in the output of a program: found in its lines, opened only with a
// key held, so that a click into the terminal never leaves the page.

import type { IBufferRange, ILink, ILinkProvider, Terminal } from '@xterm/xterm'

export interface FoundLink {
  url: string
  /** Where it begins in the text. */
  at: number
}

const address = /https?:\/\/[^\s"'<>`{}|\\^\u0000-\u001f]+/g
const closing: Record<string, string> = { ')': '(', ']': '[' }

/** Takes away what belongs to the sentence around an address. */
function trim(url: string): string {
  for (;;) {
    const last = url.at(-1) ?? ''
    const opening = closing[last]
    const balanced = opening !== undefined && url.split(opening).length >= url.split(last).length
    if (!/[.,;:!?)\]]/.test(last) || balanced) return url
    url = url.slice(0, -1)
  }
}

/** The web addresses in a text, with their places. */
export function findLinks(text: string): FoundLink[] {
  return [...text.matchAll(address)].flatMap((m) => {
    const url = trim(m[0])
    return URL.canParse(url) ? [{ url, at: m.index }] : []
  })
}

/** Only the web is opened, in a tab that cannot reach back. */
export function openLink(url: string): void {
  if (/^https?:\/\//i.test(url)) window.open(url, '_blank', 'noopener,noreferrer')
}

export interface LinkHandlers {
  /** The address under the pointer, empty when there is none. */
  hover: (url: string) => void
}

const activate = (e: MouseEvent, url: string): void => {
  if (e.ctrlKey || e.metaKey) openLink(url)
}

/** Finds addresses also where a line goes on in the next row. */
export function linkProvider(term: Terminal, on: LinkHandlers): ILinkProvider {
  const rowText = (y: number): string =>
    term.buffer.active.getLine(y)?.translateToString(false) ?? ''
  return {
    provideLinks: (row, answer) => {
      const buffer = term.buffer.active
      let first = row - 1
      while (first > 0 && buffer.getLine(first)?.isWrapped) first--
      let end = row
      while (buffer.getLine(end)?.isWrapped) end++
      let text = ''
      for (let y = first; y < end; y++) text += rowText(y).padEnd(term.cols)
      const place = (at: number) => ({
        x: (at % term.cols) + 1,
        y: first + Math.floor(at / term.cols) + 1,
      })
      const links = findLinks(text)
        .map(({ url, at }): ILink => {
          const range: IBufferRange = { start: place(at), end: place(at + url.length - 1) }
          return {
            range,
            text: url,
            activate: (e) => activate(e, url),
            hover: () => on.hover(url),
            leave: () => on.hover(''),
          }
        })
        .filter((l) => l.range.start.y <= row && l.range.end.y >= row)
      answer(links.length > 0 ? links : undefined)
    },
  }
}

/** For links that a program names itself (OSC 8): the real target is shown. */
export const linkHandler = (on: LinkHandlers) => ({
  activate: (e: MouseEvent, url: string) => activate(e, url),
  hover: (_: MouseEvent, url: string) => on.hover(url),
  leave: () => on.hover(''),
})
