import type { KeyboardEvent } from 'react'
import { memo, useEffect, useRef } from 'react'
import type { TreeNode } from '../../contract/tree'
import type { TreeRow } from '../../store/treeRows'
import { isDown, labelOf, rateWords, upWords } from '../../store/treeRows'
import { StatusMark } from '../status/StatusMark'
import { Pips } from './Pips'
import { Spark } from './Spark'

interface Props {
  rows: TreeRow[]
  selected: string
  /** Names of actors that were started again a moment ago. */
  flashing: ReadonlySet<string>
  onSelect: (key: string) => void
  onFold: (key: string, fold: boolean) => void
  onOpen: (key: string) => void
  onReset: (key: string) => void
  onFreeze: () => void
}

const elbowClass = { through: 'el v', branch: 'el t', last: 'el l', none: 'el' }
const kindClass = { application: 'app', supervisor: 'sup', actor: 'act', meta: 'met' }
const kindWords = {
  application: 'application',
  supervisor: 'supervisor',
  actor: 'actor',
  meta: 'child process',
}

/** The live tree as a table: one row a node, moved through with the arrows. */
export function TreeGrid(p: Props) {
  const body = useRef<HTMLDivElement>(null)
  const at = p.rows.findIndex((r) => r.key === p.selected)
  const current = at >= 0 ? p.rows[at] : p.rows[0]
  const wasInside = useRef(false)
  useEffect(() => {
    if (!wasInside.current) return
    body.current?.querySelector<HTMLElement>('.tr[tabindex="0"]')?.focus()
  }, [p.selected])

  const onKeyDown = (e: KeyboardEvent): void => {
    if (!current || e.altKey || e.ctrlKey || e.metaKey) return
    const go = (to: TreeRow | undefined): void => {
      if (!to) return
      wasInside.current = true
      p.onSelect(to.key)
    }
    const act: Record<string, () => void> = {
      ArrowDown: () => go(p.rows[Math.max(0, at) + 1]),
      ArrowUp: () => go(p.rows[Math.max(0, at) - 1]),
      Home: () => go(p.rows[0]),
      End: () => go(p.rows.at(-1)),
      ArrowLeft: () => {
        if (current.expanded) p.onFold(current.key, true)
        else go(p.rows.find((r) => r.key === current.parent))
      },
      ArrowRight: () => {
        if (current.expandable && !current.expanded) p.onFold(current.key, false)
        else if (current.expanded) go(p.rows[Math.max(0, at) + 1])
      },
      Enter: () => p.onOpen(current.key),
      r: () => p.onReset(current.key),
      R: () => p.onReset(current.key),
      ' ': p.onFreeze,
    }
    const known = act[e.key]
    if (!known) return
    e.preventDefault()
    known()
  }
  return (
    <div
      className="tree scroll"
      role="treegrid"
      aria-label="Actor tree"
      ref={body}
      onKeyDown={onKeyDown}
      onBlur={(e) => {
        if (!e.currentTarget.contains(e.relatedTarget)) wasInside.current = false
      }}
    >
      <div className="tr head" role="row">
        <span role="columnheader" className="tree-first">
          Actor
        </span>
        <span role="columnheader">State</span>
        <span role="columnheader" className="r">
          Mailbox
        </span>
        <span role="columnheader" className="r">
          Messages/s
        </span>
        <span role="columnheader" className="r">
          Restarts
        </span>
        <span role="columnheader" className="r">
          Up
        </span>
      </div>
      {p.rows.map((row) => (
        <Row
          key={row.key}
          row={row}
          selected={row.key === p.selected}
          reachable={row.key === current?.key}
          flash={p.flashing.has(row.node.name)}
          onOpen={p.onOpen}
          onFold={p.onFold}
        />
      ))}
    </div>
  )
}

interface RowProps {
  row: TreeRow
  selected: boolean
  reachable: boolean
  flash: boolean
  onOpen: (key: string) => void
  onFold: (key: string, fold: boolean) => void
}

const Row = memo(function Row({ row, selected, reachable, flash, onOpen, onFold }: RowProps) {
  const n = row.node
  return (
    <div
      className={`tr${row.down ? ' bad' : row.alarmed ? ' warned' : ''}${flash ? ' flash' : ''}`}
      role="row"
      aria-level={row.level}
      aria-expanded={row.expandable ? row.expanded : undefined}
      aria-selected={selected}
      tabIndex={reachable ? 0 : -1}
      data-actor={n.name}
      onClick={() => onOpen(row.key)}
      onDoubleClick={() => row.expandable && onFold(row.key, row.expanded)}
    >
      <span className="nm" role="rowheader">
        {row.elbows.map((e, i) => (
          <span key={i} className={elbowClass[e]} />
        ))}
        <span className={`kind ${kindClass[n.kind]}`} role="img" aria-label={kindWords[n.kind]} />
        <span className={row.level === 1 || selected ? 'cut mid tree-name' : 'cut tree-name'}>
          {labelOf(n)}
          {row.expandable && !row.expanded && ` (${below(n)})`}
        </span>
        <span className="who cut" title={row.who}>
          {row.who}
        </span>
      </span>
      <span role="gridcell" className="cell">
        <State node={n} />
      </span>
      <span role="gridcell" className="cell r">
        {(n.kind === 'actor' || n.kind === 'supervisor') && <Mailbox node={n} />}
      </span>
      <span role="gridcell" className="cell r">
        {n.kind === 'application' ? null : <Rate node={n} />}
      </span>
      <span role="gridcell" className="cell r">
        {n.maxRestarts > 0 && (
          <>
            <span>
              {n.restartsInWindow}/{n.maxRestarts}
              <span className="ink-3"> in {n.windowSeconds} s</span>
            </span>
            <Pips used={n.restartsInWindow} max={n.maxRestarts} seconds={n.windowSeconds} />
          </>
        )}
      </span>
      <span role="gridcell" className="cell r ink-3">
        {n.uptimeSeconds > 0 ? upWords(n.uptimeSeconds) : '–'}
      </span>
    </div>
  )
})

const below = (n: TreeNode): number => n.children.reduce((sum, c) => sum + 1 + below(c), 0)

const stopping = new Set(['starting', 'backoff', 'restarting', 'stopping', 'draining'])

/** The state of a node, with a mark where it is not an ordinary one. */
export function State({ node }: { node: TreeNode }) {
  if (isDown(node)) {
    return (
      <>
        <StatusMark kind="fail" />
        <span className="red">
          {node.limitReached && node.state !== 'down' ? 'limit reached' : node.state}
        </span>
      </>
    )
  }
  if (node.alarms.length > 0) {
    return (
      <>
        <StatusMark kind="need" />
        <span className="amber" title={node.state}>
          {node.alarms.join(', ')}
        </span>
      </>
    )
  }
  if (stopping.has(node.state)) {
    return (
      <>
        <StatusMark kind="stop" />
        <span className="amber">{node.state}</span>
      </>
    )
  }
  return <span>{node.state}</span>
}

// From here on a mailbox is worth a look; the alarm is the service's.
const fullMailbox = 100

function Mailbox({ node }: { node: TreeNode }) {
  const share = Math.min(1, Math.log10(1 + node.mailbox) / 3)
  return (
    <>
      <span className={node.mailbox >= fullMailbox ? 'load warn' : 'load'}>
        <i style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      <span className="figure">{node.mailbox}</span>
    </>
  )
}

function Rate({ node }: { node: TreeNode }) {
  const rates = node.rates?.in ?? []
  return (
    <>
      <Spark values={rates} />
      <span className="figure wide">{rateWords(rates.at(-1) ?? 0)}</span>
    </>
  )
}
