interface Props {
  used: number
  max: number
  seconds: number
}

/** The budget of restarts: one box for each that is allowed, filled when spent. */
export function Pips({ used, max, seconds }: Props) {
  if (max <= 0) return null
  const spent = used >= max
  return (
    <span
      className={spent ? 'pips spent' : 'pips'}
      role="img"
      aria-label={`${used} of ${max} restarts used in ${seconds} s`}
    >
      {Array.from({ length: max }, (_, i) => (
        <b key={i} className={i < used ? 'on' : ''} />
      ))}
    </span>
  )
}
