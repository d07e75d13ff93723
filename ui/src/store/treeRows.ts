// The live tree as the rows of a table: pure, so that what is shown can be held
// against what the service says.

import type { TreeNode } from '../contract/tree'

/** The piece of a line in front of a row, for each level above it. */
export type Elbow = 'through' | 'branch' | 'last' | 'none'

export interface TreeRow {
  /** Unique in the tree and the same in the next one. */
  key: string
  node: TreeNode
  level: number
  elbows: Elbow[]
  /** What it is about, in words. */
  who: string
  expandable: boolean
  expanded: boolean
  down: boolean
  alarmed: boolean
  parent: string
}

/** What is known of conversations by other means. */
export interface Names {
  titleOf: (conversation: string) => string
  /** Listed conversations that do not run. */
  asleep: number
}

export const tokenOf = (n: TreeNode, parentKey: string): string =>
  n.kind === 'meta' || n.name === '' ? `${parentKey}/${n.name || n.pid}` : n.name

/** The node's name as it is drawn. */
export const labelOf = (n: TreeNode): string =>
  n.kind === 'application' ? n.name.replace(/^app /, '') : n.name || n.behavior

/** Whether it does not work at all; an alarm is less than that. */
export const isDown = (n: TreeNode): boolean =>
  n.limitReached || ['down', 'incompatible', 'zombee'].includes(n.state)

const text = (v: unknown): string =>
  typeof v === 'string' ? v : typeof v === 'number' && Number.isFinite(v) ? String(v) : ''

// What the page says elsewhere, or what only the drawer has room for.
const quiet = new Set([
  'session_id',
  'metas',
  'title',
  'child_pid',
  'addr',
  'command',
  'cwd',
  'args',
])

/** The domain words of a node. */
export function whoOf(n: TreeNode, names: Names): string {
  const d = n.detail
  const words: string[] = []
  if (n.name.startsWith('conversation:')) {
    words.push(names.titleOf(n.name.slice('conversation:'.length)))
  }
  if (n.name === 'sessions_sup') {
    words.push(`${n.children.length} awake, ${names.asleep} asleep`)
  }
  words.push(text(d.title), text(d.command), text(d.addr))
  for (const [key, value] of Object.entries(d)) {
    if (quiet.has(key)) continue
    const said = text(value)
    if (said !== '' && said !== '0') words.push(`${key.replaceAll('_', ' ')} ${said}`)
  }
  const pid = text(d.child_pid)
  if (pid !== '' && pid !== '0') words.push(`pid ${pid}`)
  return words.filter(Boolean).join(', ')
}

/** Whether a node or something below it is meant by what was typed. */
function meant(n: TreeNode, wanted: string, names: Names): boolean {
  if (wanted === '') return true
  const own = `${n.name} ${n.pid} ${whoOf(n, names)} ${n.state} ${text(n.detail.session_id)}`
  return own.toLowerCase().includes(wanted) || n.children.some((c) => meant(c, wanted, names))
}

/**
 * The rows of a tree, its node itself left out: it is the page. folded are keys
 * whose children are not shown; a search shows them all the same.
 */
export function rowsOf(
  root: TreeNode,
  folded: ReadonlySet<string>,
  search: string,
  names: Names,
): TreeRow[] {
  const wanted = search.trim().toLowerCase()
  const rows: TreeRow[] = []
  const walk = (nodes: TreeNode[], parent: string, level: number, above: Elbow[]): void => {
    const shown = nodes.filter((n) => meant(n, wanted, names))
    shown.forEach((node, i) => {
      const key = tokenOf(node, parent)
      const last = i === shown.length - 1
      const expandable = node.children.length > 0
      const expanded = expandable && (wanted !== '' || !folded.has(key))
      rows.push({
        key,
        node,
        level,
        elbows: level === 1 ? [] : [...above, last ? 'last' : 'branch'],
        who: whoOf(node, names),
        expandable,
        expanded,
        down: isDown(node),
        alarmed: node.alarms.length > 0,
        parent,
      })
      if (!expanded) return
      walk(node.children, key, level + 1, level === 1 ? [] : [...above, last ? 'none' : 'through'])
    })
  }
  walk(root.children, '', 1, [])
  return rows
}

export interface Totals {
  actors: number
  down: TreeNode[]
  alarmed: number
  /** In all mailboxes, and in the fullest. */
  waiting: number
  fullest: number
  /** Messages a second that came in, over all nodes; one value a sample. */
  rates: number[]
}

/** What stands above the table. */
export function totalsOf(root: TreeNode): Totals {
  const t: Totals = { actors: 0, down: [], alarmed: 0, waiting: 0, fullest: 0, rates: [] }
  const walk = (n: TreeNode): void => {
    if (n.kind === 'actor' || n.kind === 'supervisor') {
      t.actors++
      t.waiting += n.mailbox
      t.fullest = Math.max(t.fullest, n.mailbox)
      if (isDown(n)) t.down.push(n)
      if (n.alarms.length > 0) t.alarmed++
      const rates = n.rates?.in ?? []
      // The newest of all nodes are of one moment; older ones may be missing.
      const grow = rates.length - t.rates.length
      if (grow > 0) t.rates = [...Array.from({ length: grow }, () => 0), ...t.rates]
      const from = t.rates.length - rates.length
      rates.forEach((r, i) => {
        t.rates[from + i] = (t.rates[from + i] ?? 0) + r
      })
    }
    n.children.forEach(walk)
  }
  root.children.forEach(walk)
  return t
}

/** The node of that key, and its way down. */
export function findNode(
  root: TreeNode,
  key: string,
): { node: TreeNode; parent: string } | undefined {
  const walk = (
    nodes: TreeNode[],
    parent: string,
  ): { node: TreeNode; parent: string } | undefined => {
    for (const node of nodes) {
      const own = tokenOf(node, parent)
      if (own === key) return { node, parent }
      const below = walk(node.children, own)
      if (below) return below
    }
    return undefined
  }
  return walk(root.children, '')
}

/** "6 h 12 m", "41 m", "9 s". */
export function upWords(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds))
  if (s < 60) return `${s} s`
  const m = Math.floor(s / 60)
  if (m < 60) return `${m} m`
  const h = Math.floor(m / 60)
  return h < 48
    ? `${h} h ${String(m % 60).padStart(2, '0')} m`
    : `${Math.floor(h / 24)} d ${h % 24} h`
}

/** A rate with as many digits as say something: 0, 0.2, 14.2, 212. */
export const rateWords = (r: number): string =>
  r === 0 ? '0' : r < 100 ? r.toFixed(1) : String(Math.round(r))

/** 48213 as "48 213". */
export const grouped = (n: number): string =>
  String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f')

/** A line through values, oldest first, for a box of that size. */
export function sparkOf(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return ''
  const top = Math.max(...values, Number.MIN_VALUE)
  const step = width / (values.length - 1)
  return values
    .map((v, i) => {
      const y = height - 1 - (Math.max(0, v) / top) * (height - 2.5)
      return `${i === 0 ? 'M' : 'L'}${(i * step).toFixed(1)} ${y.toFixed(1)}`
    })
    .join('')
}

/** A subject pattern as the log takes it: tokens, `*`, and `>` at the end. */
export const validPattern = (pattern: string): boolean =>
  /^(?:[A-Za-z0-9_-]+|\*)(?:\.(?:[A-Za-z0-9_-]+|\*))*(?:\.>)?$|^>$/.test(pattern)
