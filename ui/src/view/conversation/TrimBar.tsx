import { useMemo } from 'react'
import { trimmed, trimOf } from '../../store/desk'
import type { ConversationState } from '../../store/reduce'
import { useActions, useBench } from '../bench'

/** A conversation as `/compact` and `/clear` leave it in this browser. */
export function useTrimmed(state: ConversationState): {
  state: ConversationState
  hidden: number
} {
  const c = state.conversation
  const from = useBench((s) => trimOf(s.trims, c.session_id))
  return useMemo(() => {
    const { shown, hidden } = trimmed(c.messages, from)
    return hidden === 0
      ? { state, hidden }
      : { state: { ...state, conversation: { ...c, messages: shown } }, hidden }
  }, [state, c, from])
}

/** Says what is hidden, above what is shown, and brings it back. */
export function TrimBar({ id, hidden }: { id: string; hidden: number }) {
  const { untrim } = useActions()
  if (hidden === 0) return null
  return (
    <div className="trim-bar" role="note">
      <span>
        Only the local view was trimmed: {hidden} earlier {hidden === 1 ? 'message' : 'messages'}{' '}
        hidden here. What the agent knows is unchanged.
      </span>
      <button type="button" className="btn sm quiet" onClick={() => untrim(id)}>
        Show all
      </button>
    </div>
  )
}
