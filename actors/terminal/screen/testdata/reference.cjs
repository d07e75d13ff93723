// Plays two streams into xterm.js and prints where the results differ.
//
// node reference.cjs <folder of @xterm/headless>, one JSON job a line on stdin:
// {id, cols, rows, a: [op], b: [op]} with op {w: base64} or {r: [cols, rows]};
// answers {id, diff: [text], said: text} in the same order. said is what the
// terminal answered while it was played b's first op, the snapshot.
'use strict'
const { Terminal } = require(process.argv[2])
const readline = require('node:readline')

const make = (job) => new Terminal({ cols: job.cols, rows: job.rows, scrollback: job.scrollback ?? 10000, allowProposedApi: true, logLevel: 'off' })

// xterm.js itself fails on a few inputs (erasing upwards in the last column of
// the last row); such a job says nothing.
let failed = false
let release
process.on('uncaughtException', (e) => {
  if (!release) { console.error(e); process.exit(1) }
  failed = true
  release()
})

async function play(term, ops) {
  let said = ''
  const listener = term.onData((d) => { said += d })
  let first
  for (const op of ops) {
    if (op.r) term.resize(op.r[0], op.r[1])
    else await new Promise((done) => { release = done; term.write(Buffer.from(op.w ?? '', 'base64'), done) })
    first ??= said
  }
  release = undefined
  listener.dispose()
  return first ?? ''
}

const decoration = (v) => (v & 0x1c000000) | colour(v & 0x3ffffff)
const colour = (v) => ((v >>> 24) & 3) === 3 ? v : v & ~0xffff00
function cellOf(line, x, core) {
  const cell = line.loadCell(x, new (core._bufferService.buffer.getNullCell().constructor)())
  // A reflow or a lower width leaves half a wide character in the last column.
  const cut = x === line.length - 1 && cell.content >> 22 === 2
  const text = cut ? '' : line.getString(x)
  if (cut) cell.content = 1 << 22
  const out = { t: text, w: cell.content >> 22, bg: colour(cell.bg & 0x3ffffff) }
  if (text === '') return `${out.w} ${out.bg.toString(16)}`
  out.fg = (colour(cell.fg) >>> 0).toString(16)
  // HAS_EXTENDED says nothing without a style or a link.
  out.fl = ((cell.bg & ~0x10000000) >>> 26).toString(16)
  if (cell.bg & 0x10000000) {
    const e = cell.extended
    const link = e.urlId ? core._oscLinkService.getLinkData(e.urlId) : undefined
    // A style shows on an underlined cell only, and a single line is the usual one.
    if (cell.fg & 0x10000000 && ((e._ext & 0x1c000000) >>> 26) > 1) out.ext = decoration(e._ext).toString(16)
    if (link) out.link = `${link.id ?? ''};${link.uri}`
  }
  return JSON.stringify(out)
}

// The alternate screen keeps lines of its own above it when the window became
// lower while it was off. Nobody relies on that; they are left out.
function grid(buffer, core, from = 0) {
  const lines = []
  for (let y = from; y < buffer.lines.length; y++) {
    const line = buffer.lines.get(y)
    const cells = []
    for (let x = 0; x < line.length; x++) cells.push(cellOf(line, x, core))
    lines.push({ wrapped: line.isWrapped && y > 0, cells })
  }
  return lines
}

function state(term) {
  const core = term._core
  const b = core._bufferService.buffers
  const sets = core._charsetService
  const key = (c) => c === undefined ? '' : JSON.stringify(c)
  const saved = (g) => ({ x: Math.min(g.savedX, core._bufferService.cols - 1), y: Math.min(Math.max(g.savedY - g.ybase, 0), core._bufferService.rows - 1), fg: colour(g.savedCurAttrData.fg) >>> 0, bg: colour(g.savedCurAttrData.bg & ~0x10000000) >>> 0, set: key(g.savedCharset) })
  const stops = (g) => Object.keys(g.tabs).filter((k) => g.tabs[k] && Number(k) < core._bufferService.cols).join(' ')
  const p = core._inputHandler._curAttrData
  const on = b.active
  return {
    alt: b.active === b.alt,
    x: on.x, y: on.y, base: b.normal.ybase, top: on.scrollTop, bottom: on.scrollBottom,
    normalMargins: `${b.normal.scrollTop} ${b.normal.scrollBottom}`,
    savedNormal: saved(b.normal), savedAlt: b.alt.ybase > 0 ? '' : saved(b.alt),
    tabs: stops(on), tabsNormal: stops(b.normal),
    pen: { fg: colour(p.fg) >>> 0, bg: colour(p.bg & ~0x10000000) >>> 0, ext: decoration(p.fg & 0x10000000 ? p.extended._ext : p.extended._ext & 0x3ffffff), link: p.extended.urlId ? core._oscLinkService.getLinkData(p.extended.urlId)?.uri ?? '' : '' },
    sets: [0, 1, 2, 3].map((i) => key(sets._charsets[i])).join('|') + ` ${sets.glevel} ${key(sets.charset)}`,
    modes: core.coreService.modes, dec: core.coreService.decPrivateModes, hidden: core.coreService.isCursorHidden,
    mouse: core.coreMouseService.activeProtocol + core.coreMouseService.activeEncoding,
    newline: core.optionsService.rawOptions.convertEol, blink: core.optionsService.rawOptions.cursorBlink,
    title: core._inputHandler._windowTitle,
    join: core._inputHandler._parser.precedingJoinState, parser: core._inputHandler._parser.currentState,
    normal: grid(b.normal, core), altGrid: b.active === b.alt ? grid(b.alt, core, b.alt.ybase) : [],
  }
}

// xterm.js forgets a link whose first line is gone, although cells still have
// it, and knows nothing of links that a fill made: one side may lack it.
function same(p, q) {
  if (p === q) return true
  if (p[0] !== '{' || q[0] !== '{') return false
  const a = JSON.parse(p), b = JSON.parse(q)
  if (a.link === undefined || b.link === undefined) { delete a.link; delete b.link }
  return JSON.stringify(a) === JSON.stringify(b)
}

// resized: a mark does not join over a change of size.
function compare(a, b, resized) {
  const diff = []
  if (a.savedAlt === '') b.savedAlt = ''
  if (resized) delete a.join
  if (a.pen.link === '' || b.pen.link === '') a.pen.link = b.pen.link = ''
  for (const k of Object.keys(a)) {
    if (k === 'normal' || k === 'altGrid') {
      if (a[k].length !== b[k].length) diff.push(`${k} has ${a[k].length} lines, then ${b[k].length}`)
      for (let y = 0; y < Math.min(a[k].length, b[k].length) && diff.length < 8; y++) {
        const p = a[k][y], q = b[k][y]
        if (p.wrapped !== q.wrapped) diff.push(`${k} line ${y} wrapped ${p.wrapped}, then ${q.wrapped}`)
        for (let x = 0; x < Math.min(p.cells.length, q.cells.length); x++) {
          if (!same(p.cells[x], q.cells[x])) { diff.push(`${k} line ${y} column ${x}: ${p.cells[x]}, then ${q.cells[x]}`); break }
        }
      }
      continue
    }
    const p = JSON.stringify(a[k]), q = JSON.stringify(b[k])
    if (p !== q) diff.push(`${k}: ${p}, then ${q}`)
  }
  return diff
}

async function main() {
  for await (const text of readline.createInterface({ input: process.stdin })) {
    const job = JSON.parse(text)
    const a = make(job), b = make(job)
    await play(a, job.a)
    const said = await play(b, job.b)
    const out = { id: job.id, diff: failed ? [] : compare(state(a), state(b), job.a.some((o) => o.r)), said, failed }
    failed = false
    a.dispose(); b.dispose()
    process.stdout.write(JSON.stringify(out) + '\n')
  }
}
main().catch((e) => { console.error(e); process.exit(1) })
