import type { MarkKind } from '../../store/sections'

/** Shape first, hue second. Without words it stands beside the word. */
export function StatusMark({ kind, words }: { kind: MarkKind; words?: string }) {
  return words === undefined ? (
    <span className={`st ${kind}`} aria-hidden="true" />
  ) : (
    <span className={`st ${kind}`} role="img" aria-label={words} title={words} />
  )
}
