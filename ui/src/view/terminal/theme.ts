// The colours and letters of terminals, from the page's tokens.

import type { ITheme } from '@xterm/xterm'

const ansi = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'brightBlack',
  'brightRed',
  'brightGreen',
  'brightYellow',
  'brightBlue',
  'brightMagenta',
  'brightCyan',
  'brightWhite',
] as const

const token = (style: CSSStyleDeclaration, name: string): string =>
  style.getPropertyValue(name).trim()

/** The theme in force on the page. */
export function readTheme(el: Element): ITheme {
  const style = getComputedStyle(el)
  const theme: ITheme = {
    foreground: token(style, '--term-fg'),
    background: token(style, '--term-bg'),
    cursor: token(style, '--term-cursor'),
    cursorAccent: token(style, '--term-bg'),
    selectionBackground: token(style, '--term-select'),
    scrollbarSliderBackground: token(style, '--line-2'),
    scrollbarSliderHoverBackground: token(style, '--line-ctl'),
    scrollbarSliderActiveBackground: token(style, '--line-ctl'),
  }
  ansi.forEach((name, i) => {
    theme[name] = token(style, `--ansi-${i}`)
  })
  return theme
}

/** The letters; the size in CSS pixels. */
export function readFont(el: Element): { family: string; size: number } {
  const style = getComputedStyle(el)
  return {
    family: token(style, '--font-code') || 'monospace',
    size: Number.parseFloat(token(style, '--t-code')) || 12,
  }
}

/** How finds are marked. xterm wants colours of six digits. */
export function readMarks(el: Element) {
  const style = getComputedStyle(el)
  const mark = token(style, '--ansi-3')
  const active = token(style, '--ansi-11')
  return {
    matchBorder: mark,
    matchOverviewRuler: mark,
    activeMatchBorder: active,
    activeMatchBackground: token(style, '--ansi-0'),
    activeMatchColorOverviewRuler: active,
  }
}

/** About how many letters an element has room for, before xterm says exactly. */
export function estimateRoom(el: Element): { cols: number; rows: number } {
  const font = readFont(el)
  const context = document.createElement('canvas').getContext('2d')
  if (context) context.font = `${font.size}px ${font.family}`
  const letter = context?.measureText('W').width || font.size * 0.6
  const { width, height } = el.getBoundingClientRect()
  return {
    cols: Math.min(500, Math.max(20, Math.floor(width / letter) - 4)),
    rows: Math.min(200, Math.max(5, Math.floor(height / (font.size * 1.2)) - 1)),
  }
}
