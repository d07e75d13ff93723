import { Suspense, lazy } from 'react'

const Markdown = lazy(() => import('./Markdown'))

/** Text of an answer; plain until the Markdown chunk is there. */
export function Prose({ text, live, caret }: { text: string; live: boolean; caret: boolean }) {
  return (
    <>
      <Suspense fallback={<p className="whitespace-pre-wrap">{text}</p>}>
        <Markdown text={text} live={live} />
      </Suspense>
      {caret && <span className="caret" role="img" aria-label="still writing" />}
    </>
  )
}
