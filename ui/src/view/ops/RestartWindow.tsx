import type { End } from '../../store/ops'

interface Props {
  ends: readonly End[]
  seconds: number
  now: number
}

// The box of the drawing; it scales with the drawer.
const width = 320
const inset = 8

/** The last ends on the axis of their window; a cross found no budget left. */
export function RestartWindow({ ends, seconds, now }: Props) {
  const inside = ends.filter((e) => e.at > now - seconds * 1000)
  const ago = (e: End): number => Math.max(0, Math.round((now - e.at) / 1000))
  const words =
    inside.length === 0
      ? `No end in the last ${seconds} s`
      : `Ends ${inside.map((e) => `${ago(e)} s`).join(', ')} ago${
          inside.some((e) => e.limit) ? '; the last one found no budget left' : ''
        }`
  const x = (e: End): number =>
    width - inset - (Math.max(0, now - e.at) / (seconds * 1000)) * (width - 2 * inset)
  return (
    <svg className="window" viewBox={`0 0 ${width} 64`} role="img" aria-label={words}>
      <rect className="in" x={inset} y="8" width={width - 2 * inset} height="24" rx="3" />
      {inside.map((e, i) => (
        <g key={`${e.at}-${i}`}>
          {e.limit ? (
            <path className="cross" d={`M${x(e) - 5} 15l10 10m0-10l-10 10`} />
          ) : (
            <rect className="hit" x={x(e) - 1.5} y="12" width="3" height="20" rx="1" />
          )}
          <text x={x(e)} y="46" textAnchor="middle">
            {ago(e)} s
          </text>
        </g>
      ))}
      <text x={inset} y="61">
        {seconds} s ago
      </text>
      <text x={width - inset} y="61" textAnchor="end">
        now
      </text>
    </svg>
  )
}
