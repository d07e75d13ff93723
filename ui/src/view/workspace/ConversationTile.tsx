import { useCallback, useRef } from 'react'
import { markOf } from '../../store/sections'
import type { Pane } from '../../store/workspace'
import { useBench, useWorkActions } from '../bench'
import { ConversationInTile } from '../conversation/Conversation'
import { HealthMark } from '../status/HealthMark'
import { TileBar } from './TileBar'
import { useTileKeys } from './tileContext'

interface Props {
  workspace: string
  pane: Pane
  focused: boolean
}

/** A conversation beside its terminals; closing the tile ends nothing. */
export function ConversationTile({ workspace, pane, focused }: Props) {
  const { closePane } = useWorkActions()
  const summary = useBench((s) => s.summaries?.find((x) => x.session_id === pane.ref))
  const body = useRef<HTMLDivElement>(null)
  const focus = useCallback(() => {
    const field = body.current?.querySelector<HTMLElement>('textarea')
    ;(field ?? body.current)?.focus()
  }, [])
  useTileKeys(pane.id, { focus })
  const mark = summary ? markOf(summary) : { kind: 'idle' as const, words: 'idle' }
  const close = (): void => void closePane(workspace, pane.id)
  return (
    <>
      <TileBar
        workspace={workspace}
        pane={pane.id}
        mark={mark.kind}
        words={mark.words}
        name={summary?.title || pane.name || 'Untitled'}
        title={summary?.model ?? ''}
        closing="Close tile"
        onClose={close}
        badges={
          <>
            <HealthMark health={summary?.health} />
            {summary && summary.needs_you > 0 && (
              <span className="count" role="img" aria-label={`${summary.needs_you} pending`}>
                {summary.needs_you}
              </span>
            )}
          </>
        }
      />
      <div className="tile-body" ref={body} tabIndex={-1}>
        <ConversationInTile
          id={pane.ref}
          active={focused}
          missing={
            <div className="center">
              <p className="ink-2">This conversation is no longer available.</p>
              <button type="button" className="btn" onClick={close}>
                Remove tile
              </button>
            </div>
          }
        />
      </div>
    </>
  )
}
