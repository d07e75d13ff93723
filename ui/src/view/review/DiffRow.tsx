import type { HunkLine } from '../../store/hunks'
import { Icon } from '../Icon'
import type { Token } from '../conversation/highlight'
import type { Colours } from './useColours'

interface Props {
  line: HunkLine
  colours: Colours
  /** Whether the keys stand on this line. */
  at: boolean
  /** Absent where nothing may be said. */
  onComment?: (() => void) | undefined
}

const looks = { same: 'dl', add: 'dl a', del: 'dl d' } as const
const signs = { same: '', add: '+', del: '−' } as const
const words = { same: '', add: 'added', del: 'removed' } as const

/** One line of a diff: its numbers, its sign, its text. */
export function DiffRow({ line, colours, at, onComment }: Props) {
  const number = line.type === 'del' ? line.before : line.after
  const tokens =
    line.type === 'del' ? colours.before?.[line.before - 1] : colours.after?.[line.after - 1]
  return (
    <div className={at ? `${looks[line.type]} at` : looks[line.type]} data-line={number}>
      <span>{line.type === 'add' ? '' : line.before}</span>
      <span>{line.type === 'del' ? '' : line.after}</span>
      <span aria-hidden="true">{signs[line.type]}</span>
      <span>
        {words[line.type] !== '' && <span className="sr">{words[line.type]}: </span>}
        <Text text={line.text} tokens={tokens} />
      </span>
      {onComment && (
        <button
          type="button"
          className="say"
          tabIndex={at ? 0 : -1}
          aria-label={`Comment on line ${number}`}
          title={`Comment on line ${number}`}
          onClick={onComment}
        >
          <Icon name="plus" className="i-s" />
        </button>
      )}
    </div>
  )
}

/** The text with its colours, unless they are of another text. */
function Text({ text, tokens }: { text: string; tokens: Token[] | undefined }) {
  if (text === '') return <> </>
  if (!tokens || tokens.map((t) => t.content).join('') !== text) return <>{text}</>
  return (
    <>
      {tokens.map((t, i) => (
        <span key={i} style={t.color === undefined ? undefined : { color: t.color }}>
          {t.content}
        </span>
      ))}
    </>
  )
}
