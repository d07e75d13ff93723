import { sparkOf } from '../../store/treeRows'

const width = 62
const height = 14

/** A short history, oldest first. The figure beside it says the newest. */
export function Spark({ values }: { values: readonly number[] }) {
  const line = sparkOf(values, width, height)
  if (line === '') return null
  const zero = values.every((v) => v === 0)
  return (
    <svg
      className={zero ? 'spark zero' : 'spark'}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path className="area" d={`M0 ${height}${line.replace('M', 'L')}L${width} ${height}z`} />
      <path d={line} />
    </svg>
  )
}
