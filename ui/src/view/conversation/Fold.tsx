import type { ReactNode } from 'react'
import { useState } from 'react'
import type { TranscriptDensity } from '../../store/prefs'
import { Icon } from '../Icon'

interface Props {
  density: TranscriptDensity
  head: ReactNode
  /** Whether it is open at first although the density would fold it. */
  open?: boolean
  /** Whether the arrow stands at the far end of a line without a card. */
  bare?: boolean
  children: ReactNode
}

/**
 * One line that opens in place. Verbose begins open, Summary does not open at
 * all: there the line is all there is. Source: ui.md 7.
 */
export function Fold({ density, head, open = false, bare = false, children }: Props) {
  const [shown, setShown] = useState(open || density === 'verbose')
  if (density === 'summary') return <div className="line">{head}</div>
  return (
    <>
      <button type="button" className="line" aria-expanded={shown} onClick={() => setShown(!shown)}>
        {head}
        <Icon name={shown ? 'down' : 'right'} className={bare ? 'chev' : ''} />
      </button>
      {shown && children}
    </>
  )
}
