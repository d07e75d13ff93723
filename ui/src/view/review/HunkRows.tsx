import { Fragment, useState } from 'react'
import type { DiffComment, DiffSide } from '../../contract/gen'
import type { Hunk, HunkLine } from '../../store/hunks'
import { Icon } from '../Icon'
import { CommentBox } from './CommentBox'
import { DiffRow } from './DiffRow'
import type { Colours } from './useColours'

/** A line that somebody wants to say something about. */
export interface Place {
  line: number
  side: DiffSide
}

export function placeOf(line: HunkLine): Place {
  return line.type === 'del'
    ? { line: line.before, side: 'old' }
    : { line: line.after, side: 'new' }
}

const same = (a: Place | undefined, b: Place): boolean => a?.line === b.line && a.side === b.side

interface Props {
  path: string
  hunk: Hunk
  off: boolean
  colours: Colours
  comments: DiffComment[]
  /** The line that the keys are on, as an index of the hunk's lines. */
  at: number | undefined
  /** The line that a remark is being written on. */
  writing: Place | undefined
  onWrite: (place: Place | undefined) => void
  onComment: (place: Place, text: string) => void
}

// More rows than this are shown when they are asked for.
const shownRows = 400

/** The lines of one hunk, with what was said about them. */
export function HunkRows(props: Props) {
  const { path, hunk, off, colours, comments, at, writing, onWrite, onComment } = props
  const [all, setAll] = useState(false)
  const rows = [...hunk.lead, ...hunk.lines, ...hunk.trail]
  const shown = all ? rows : rows.slice(0, shownRows)
  return (
    <div className={off ? 'diff off' : 'diff'}>
      {shown.map((line, i) => {
        const place = placeOf(line)
        const said = comments.filter((c) => same(place, { line: c.line, side: c.side }))
        return (
          <Fragment key={i}>
            <DiffRow
              line={line}
              colours={colours}
              at={at !== undefined && i === hunk.lead.length + at}
              onComment={() => onWrite(place)}
            />
            {said.map((c) => (
              <p key={c.id} className="said">
                <Icon name="say" className="i-s" />
                <span>{c.text}</span>
              </p>
            ))}
            {same(writing, place) && (
              <CommentBox
                path={path}
                line={place.line}
                onCancel={() => onWrite(undefined)}
                onAdd={(text) => onComment(place, text)}
              />
            )}
          </Fragment>
        )
      })}
      {shown.length < rows.length && (
        <button type="button" className="more" onClick={() => setAll(true)}>
          Show all {rows.length} lines
          <Icon name="down" className="i-s" />
        </button>
      )}
    </div>
  )
}
