import { useCallback } from 'react'
import type { PendingEdit } from '../../contract/model'
import { editAnswer } from '../../store/review'
import { useActions, useReviewActions } from '../bench'

/**
 * Answers a parked edit: what is ticked of it, or nothing. Why that did not
 * work is kept with the edit, so that every place that shows it tells.
 */
export function useEditAnswer(conversationId: string): (edit: PendingEdit, keep: boolean) => void {
  const { answerEdit } = useActions()
  const reviews = useReviewActions()
  return useCallback(
    (edit, keep) => {
      const ticks = reviews.store.getState().ticks[edit.id]
      const answer = keep ? editAnswer(edit, ticks) : { decision: 'reject' as const }
      const merged = answer.decision === 'apply' ? answer.merged : undefined
      reviews.fail(edit.id, '')
      void answerEdit(conversationId, edit.id, answer.decision, merged).then((reason) =>
        reviews.fail(edit.id, reason),
      )
    },
    [conversationId, answerEdit, reviews],
  )
}
