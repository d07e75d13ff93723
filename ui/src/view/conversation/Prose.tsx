import { Suspense, lazy, memo, useState } from 'react'
import type { Split } from '../../store/splitMarkdown'
import { piecesOf, splitMarkdown } from '../../store/splitMarkdown'

const Markdown = lazy(() => import('./Markdown').then((m) => ({ default: memo(m.default) })))

/** Remembers how the beginning was cut: an answer only grows at its end. */
function createCutter(): (text: string) => string[] {
  let last: Split | undefined
  return (text) => {
    last = splitMarkdown(text, last)
    return piecesOf(last)
  }
}

/** Text of an answer; plain until the Markdown chunk is there. */
export function Prose({ text, live, caret }: { text: string; live: boolean; caret: boolean }) {
  const [cut] = useState(createCutter)
  const pieces = cut(text)
  return (
    <>
      <Suspense fallback={<p className="whitespace-pre-wrap">{text}</p>}>
        {pieces.map((piece, i) => (
          <div key={i} className={pieces.length > 1 ? 'piece' : ''}>
            <Markdown text={piece} live={live && i === pieces.length - 1} />
          </div>
        ))}
      </Suspense>
      {caret && <span className="caret" role="img" aria-label="still writing" />}
    </>
  )
}
