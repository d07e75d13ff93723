import type { DiffLine } from '../../store/diff'

// A diff of more is for the review; a card stays readable. Lines.
const maxLines = 400

/** A diff to read in a card, what is far from a change folded. */
export function DiffText(props: { lines: DiffLine[]; name: string; empty: string }) {
  const { lines } = props
  return (
    <div className="diff" role="group" aria-label={props.name} tabIndex={0}>
      {lines.slice(0, maxLines).map((line, i) => (
        <Line key={i} line={line} />
      ))}
      {lines.length > maxLines && (
        <span className="skip">{lines.length - maxLines} more lines are not shown here.</span>
      )}
      {lines.length === 0 && <span className="skip">{props.empty}</span>}
    </div>
  )
}

function Line({ line }: { line: DiffLine }) {
  if (line.type === 'skip') return <span className="skip">{line.count} unchanged lines</span>
  const signs = { same: ['dl', ''], add: ['dl a', '+'], del: ['dl d', '−'] } as const
  const [look, sign] = signs[line.type]
  return (
    <div className={look}>
      <span>{line.type === 'add' ? '' : line.before}</span>
      <span>{line.type === 'del' ? '' : line.after}</span>
      <span>{sign}</span>
      <span>{line.text === '' ? ' ' : line.text}</span>
    </div>
  )
}
