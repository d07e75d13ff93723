import type { ProjectMCP } from '../../contract/gen'
import type { Conversation } from '../../contract/model'
import { baseName } from '../../store/format'
import { homeOf } from '../../store/sections'
import { GitChip } from '../GitChip'
import { Icon } from '../Icon'

// The circumference of the ring's circle, radius 6.
const around = 2 * Math.PI * 6

const solid = (share: number): string => `${(share * around).toFixed(1)} ${around.toFixed(1)}`

// An estimate is drawn in strokes of this length and gap.
const strokeOn = 2
const strokeOff = 1.5

function hatched(share: number): string {
  const n = Math.max(1, Math.round((share * around) / (strokeOn + strokeOff)))
  const strokes = Array.from({ length: n }, () => `${strokeOn} ${strokeOff}`).join(' ')
  return `${strokes} 0 ${around.toFixed(1)}`
}

/** How full the window is, and what of: the latest turn that told. */
function aboutContext(c: Conversation, used: number, window: number): string {
  const n = (v: number): string => v.toLocaleString('en')
  const latest = c.messages.findLast((m) => m.role === 'assistant' && m.input_tokens > 0)
  return [
    `${n(used)} of ${n(window)} tokens, ${Math.round((used / window) * 100)} %`,
    ...(latest
      ? [
          `input ${n(latest.input_tokens)}`,
          `cache read ${n(latest.cache_read_tokens)}`,
          `cache write ${n(latest.cache_write_tokens)}`,
        ]
      : []),
  ].join('\n')
}

/** What this conversation works on, and how full its context is. */
export function Strip({ conversation: c }: { conversation: Conversation }) {
  const use = c.context
  const share = use && use.window > 0 ? Math.min(1, use.used / use.window) : undefined
  const level = share === undefined || share < 0.7 ? '' : share < 0.9 ? 'warn' : 'bad'
  const percent = Math.round((share ?? 0) * 100)
  const words = `${use?.estimated ? '~' : ''}${percent} %`
  return (
    <div className="strip" role="group" aria-label="What this conversation works on">
      <span className="chip" title={c.project_path}>
        <Icon name="folder" />
        <span className="cut">{c.project_path === '' ? '(no project)' : baseName(homeOf(c))}</span>
      </span>
      {c.git ? (
        <GitChip git={c.git} title={c.worktree?.worktree_path ?? ''} />
      ) : (
        c.worktree && (
          <span className="chip" title={c.worktree.worktree_path}>
            <Icon name="branch" />
            <span className="cut">{c.worktree.branch}</span>
          </span>
        )
      )}
      {c.mcp && <McpChip mcp={c.mcp} />}
      {use && share !== undefined && use.used > 0 && (
        <span className="end chip num" title={aboutContext(c, use.used, use.window)}>
          {words}
          <svg
            className={`ring ${level}`}
            viewBox="0 0 16 16"
            role="img"
            aria-label={`Context ${words} full`}
          >
            <circle className="bg" cx="8" cy="8" r="6" />
            <circle
              className="fg"
              cx="8"
              cy="8"
              r="6"
              strokeDasharray={use.estimated ? hatched(share) : solid(share)}
            />
          </svg>
        </span>
      )}
    </div>
  )
}

/** How many MCP servers it has, and which; read only. */
function McpChip({ mcp }: { mcp: ProjectMCP }) {
  const errors = mcp.read_errors.length
  const about = [
    ...mcp.servers.map((s) => `${s.name} (${s.transport}, ${s.scope})`),
    ...mcp.read_errors.map((e) => `${e.path}: ${e.message}`),
  ]
  if (about.length === 0) about.push('No MCP servers sourced')
  return (
    <span className={errors > 0 ? 'chip amber' : 'chip'} title={about.join('\n')}>
      <Icon name="plug" />
      <span className="num">
        MCP {mcp.servers.length}
        {errors > 0 && ` (!${errors})`}
      </span>
    </span>
  )
}
