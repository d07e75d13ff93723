import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import type { KeyInfo } from '../../contract/gen'
import type { Actions } from '../../store/stores'
import { KeyRow } from './KeyRow'

const show = (change: Partial<KeyInfo> = {}, answers: Partial<Actions> = {}) =>
  renderInBench(
    <KeyRow
      info={{ account: 'api-key-openai', present: true, ...change }}
      account={{ name: 'OpenAI', provider: 'openai' }}
    />,
    {},
    answers,
  )
const field = () => screen.getByLabelText<HTMLInputElement>('OpenAI API key')

describe('KeyRow', () => {
  it('gives the key away with the request and keeps nothing of it', () => {
    const { noted, container } = show({ present: false })
    fireEvent.change(field(), { target: { value: ' secret ' } })
    fireEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect(noted).toEqual([{ name: 'setKey', args: ['api-key-openai', 'secret'] }])
    expect(field().value).toBe('')
    expect(container.innerHTML).not.toContain('secret')
  })
  it('does not show what is typed', () => {
    show()
    expect(field().type).toBe('password')
  })
  it('asks before it removes', () => {
    const { noted } = show({ last4: '1234', source: 'encrypted file' })
    expect(screen.getByText('Stored (encrypted file), ends in 1234.')).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: 'Remove' }))
    expect(noted).toEqual([])
    fireEvent.click(screen.getByRole('button', { name: 'Remove the key' }))
    expect(noted).toEqual([{ name: 'deleteKey', args: ['api-key-openai'] }])
  })
  it('leaves a key of the environment alone', () => {
    show({ source: 'environment variable OPENAI_API_KEY' })
    expect(screen.queryByRole('button', { name: 'Remove' })).toBeNull()
  })
  it('tries a stored key and shows what the provider said', async () => {
    const { noted } = show(
      {},
      {
        testKey: () =>
          Promise.resolve({ status: 'rejected', message: 'OpenAI refused it.', latency_ms: 3 }),
      },
    )
    fireEvent.click(screen.getByRole('button', { name: 'Test' }))
    expect(screen.getByRole('status').textContent).toBe('Asking the provider…')
    expect((await screen.findByText('OpenAI refused it.')).className).toContain('red')
    expect(noted).toEqual([{ name: 'testKey', args: ['openai'] }])
  })
  it('has nothing to try without a key', () => {
    show({ present: false })
    expect(screen.queryByRole('button', { name: 'Test' })).toBeNull()
  })
})
