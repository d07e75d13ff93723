import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { CommentChips } from './CommentChips'
import { DiffstatChip, ReviewBar } from './ReviewBar'

const count = { files: 3, added: 56, removed: 22, waiting: 0 }

describe('ReviewBar', () => {
  it('says how much was changed and opens the review, as does the chip', () => {
    const { reviews } = renderInBench(
      <>
        <ReviewBar conversationId="c-1" count={count} behind={false} />
        <DiffstatChip conversationId="c-2" count={count} />
      </>,
    )
    const bar = screen.getByRole('button', { name: /^3 files/ })
    expect(bar.textContent).toContain('+56')
    expect(bar.textContent).toContain('−22')
    fireEvent.click(bar)
    fireEvent.click(screen.getByRole('button', { name: 'Review changes: 56 added, 22 removed' }))
    expect(reviews.store.getState().open).toEqual({ 'c-1': '', 'c-2': '' })
  })
  it('says what waits, and that a permission goes first', () => {
    renderInBench(
      <ReviewBar conversationId="c-1" count={{ ...count, files: 1, waiting: 2 }} behind />,
    )
    const bar = screen.getByRole('button', { name: /^1 file/ })
    expect(bar.textContent).toContain('2 awaiting review')
    expect(bar.textContent).toContain('after the permission')
  })
  it('is not there without a file', () => {
    const { container } = renderInBench(
      <ReviewBar conversationId="c-1" count={{ ...count, files: 0 }} behind={false} />,
    )
    expect(container.textContent).toBe('')
  })
})

describe('CommentChips', () => {
  const comments = ['first', 'second'].map((words, i) => ({
    id: words,
    path: 'dir/a.go',
    line: i + 1,
    side: 'new' as const,
    text: words,
    created_at: 0,
  }))
  it('shows each remark with its place, and takes one back', () => {
    const asked: unknown[][] = []
    renderInBench(
      <CommentChips conversationId="c-1" comments={comments} />,
      {},
      {},
      {
        setDiffComments: (...args) => {
          asked.push(args)
          return Promise.resolve()
        },
      },
    )
    expect(screen.getByText('a.go:2')).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: 'Remove comment on dir/a.go line 1' }))
    expect(asked).toEqual([['c-1', [comments[1]]]])
  })
})
