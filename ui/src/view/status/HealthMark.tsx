import type { Health } from '../../contract/gen'

/**
 * What happened to what stands behind a conversation. Healthy is silent; the
 * words say what was lost and what was kept.
 */
export function HealthMark({
  health,
  words = false,
}: {
  health?: Health | undefined
  words?: boolean
}) {
  if (!health || health.state === 'ok') return null
  const down = health.state === 'down'
  const label = down ? 'down' : 'restarted'
  return (
    <span className="health keep" title={health.text}>
      <svg
        className={down ? 'wave bad' : 'wave warn'}
        viewBox="0 0 26 10"
        role="img"
        aria-label={`${label}: ${health.text}`}
      >
        <path d={down ? 'M0 5h10M16 5h10M11 2l4 6' : 'M0 5h5l2-4 3 8 2.5-6 1.5 2h12'} />
      </svg>
      {words && <span className={down ? 'micro red' : 'micro amber'}>{label}</span>}
    </span>
  )
}
