import { screen, within } from '@testing-library/react'
import { expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import type { PromptLayers } from '../../contract/gen'
import { PromptDialog } from './PromptDialog'

const show = (answer: PromptLayers | string) =>
  renderInBench(
    <PromptDialog id="c-1" onClose={() => undefined} />,
    {},
    { promptLayers: () => Promise.resolve(answer) },
  )

it('shows each layer with its source, its text and what was cut', async () => {
  const layers: PromptLayers['layers'] = [
    { kind: 'cascade', source: '/p/AGENTS.md', text: 'Be brief.', note: 'Cut at 32 KiB.' },
    { kind: 'profile', source: 'Scout', text: '' },
  ]
  show({ layers, system_prompt: 'Be brief.' })
  const cascade = await screen.findByRole('region', { name: 'Files of the project and of you' })
  expect(cascade.textContent).toContain('/p/AGENTS.md')
  expect(cascade.textContent).toContain('Be brief.')
  expect(cascade.textContent).toContain('Cut at 32 KiB.')
  const profile = screen.getByRole('region', { name: 'Profile' })
  expect(within(profile).getByText('(empty)')).toBeTruthy()
})

it('says why it cannot', async () => {
  show('The conversation was deleted.')
  expect((await screen.findByRole('alert')).textContent).toBe('The conversation was deleted.')
})
