import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { GapBar } from './GapBar'

it('says when it had to read everything again, and nothing else', () => {
  const { container, unmount } = renderInBench(<GapBar id="c-1" />)
  expect(container.textContent).toBe('')
  unmount()
  const at = new Date(2026, 0, 2, 14, 6, 9).getTime()
  renderInBench(<GapBar id="c-1" />, { gaps: { 'c-1': at } })
  expect(screen.getByRole('status').textContent).toBe(
    'Too much was missed to replay. Read again at 14:06:09.',
  )
})
