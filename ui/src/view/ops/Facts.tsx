import type { Tree } from '../../contract/tree'
import type { End } from '../../store/ops'
import { grouped, rateWords, totalsOf, upWords } from '../../store/treeRows'
import { Spark } from './Spark'

const hourMs = 3_600_000
const megabytes = (n: number): string => `${Math.round(n / (1 << 20))} MB`

/** How the whole stands, in six figures. */
export function Facts({ tree, ends, now }: { tree: Tree; ends: readonly End[]; now: number }) {
  const t = totalsOf(tree.root)
  const house = tree.house
  const rate = t.rates.at(-1) ?? 0
  const restarts = ends.filter((e) => !e.limit && e.at > now - hourMs).length
  const windows = house?.windows ?? []
  const watching = windows.filter((w) => w.role === 'monitor').length
  const lag = Math.max(0, ...windows.map((w) => w.lag))
  const log = house?.log
  return (
    <dl className="facts">
      <div className="fact">
        <dt>Service</dt>
        <dd>
          {t.down.length > 0 || t.alarmed > 0 || log?.up === false ? (
            <span className="amber">Degraded</span>
          ) : (
            <span>Running</span>
          )}
          <small>
            {t.down.length > 0
              ? `${t.down.length} of ${t.actors} actors down`
              : t.alarmed > 0
                ? `${t.alarmed} of ${t.actors} actors raise an alarm`
                : `${t.actors} actors, up ${upWords(uptime(tree))}`}
          </small>
        </dd>
      </div>
      <div className="fact">
        <dt>Messages</dt>
        <dd>
          {rateWords(rate)}
          <small>/s</small>
          <Spark values={t.rates} />
        </dd>
      </div>
      <div className="fact">
        <dt>Waiting in mailboxes</dt>
        <dd>
          {grouped(t.waiting)}
          <small>largest {grouped(t.fullest)}</small>
        </dd>
      </div>
      <div className="fact">
        <dt>Restarts</dt>
        <dd>
          {restarts}
          <small>in the last hour</small>
        </dd>
      </div>
      <div className="fact">
        <dt>Event log</dt>
        <dd>
          {log ? grouped(log.last) : '–'}
          {log && (
            <small>
              {log.up ? 'seq' : 'down'} · {megabytes(log.bytes)} of {megabytes(log.max_bytes)}
            </small>
          )}
        </dd>
      </div>
      <div className="fact">
        <dt>Windows</dt>
        <dd>
          {windows.length}
          <small>
            {watching} read-only{lag > 0 ? ` · ${grouped(lag)} behind` : ''}
          </small>
        </dd>
      </div>
    </dl>
  )
}

const uptime = (tree: Tree): number =>
  Math.max(tree.root.uptimeSeconds, ...tree.root.children.map((c) => c.uptimeSeconds))
