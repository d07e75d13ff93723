import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation, sampleMessage } from '../../../test/sample'
import type { Message, ToolCall } from '../../contract/model'
import { fromSnapshot } from '../../store/reduce'
import { stepsOf } from '../../store/transcript'
import type { TurnContext } from './Turn'
import { Turn } from './Turn'

const context: TurnContext = {
  conversationId: 'c-1',
  project: '/p',
  patterns: [],
  baselines: {},
  readOnly: false,
  armed: '',
}
const call = (change: Partial<ToolCall>): ToolCall => ({
  id: 'x',
  name: 'bash',
  file: '',
  status: 'done',
  summary: '',
  content: 'hello',
  input: '{"command":"echo hello"}',
  ...change,
})
const show = (change: Partial<Message>) => {
  const message = sampleMessage({ id: 't-1', role: 'assistant', turn_id: 't-1', ...change })
  const user = sampleMessage({ id: 'm-1', content: 'do it' })
  return renderInBench(
    <Turn
      message={message}
      steps={stepsOf(message)}
      number={1}
      last
      fate={message.is_streaming ? 'running' : 'done'}
      context={context}
    />,
    {
      conversations: {
        'c-1': {
          phase: 'ready',
          state: fromSnapshot(sampleConversation({ messages: [user, message] }), 1),
        },
      },
    },
  )
}

describe('Turn', () => {
  it('says how it stands', () => {
    show({ is_streaming: true })
    expect(screen.getByRole('region', { name: 'Turn 1, running' })).toBeTruthy()
    expect(screen.getByText('Thinking...')).toBeTruthy()
  })
  it('shows a command with its exit code, and its output on demand', () => {
    show({ tool_calls: [call({})], outcome: 'done' })
    const head = screen.getByRole('button', { name: /echo hello/ })
    expect(head.textContent).toContain('exit 0')
    fireEvent.click(head)
    expect(screen.getByText('hello')).toBeTruthy()
  })
  it('cuts a long output until it is asked for', () => {
    const content = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n')
    show({ tool_calls: [call({ content })], outcome: 'done' })
    fireEvent.click(screen.getByRole('button', { name: /echo hello/ }))
    expect(screen.queryByText(/line 39/)).toBeNull()
    fireEvent.click(screen.getByRole('button', { name: 'Show all 40 lines' }))
    expect(screen.getByText(/line 39/)).toBeTruthy()
  })
  it.each([
    ['user', 'denied by you'],
    ['policy', 'denied by policy'],
    ['timeout', 'expired unanswered'],
  ] as const)('tells a call refused by %s as such', (denied_by, words) => {
    show({ tool_calls: [call({ status: 'error', denied_by })], outcome: 'done' })
    expect(screen.getByText(words)).toBeTruthy()
  })
  it('keeps the command of a call that was interrupted, and says so', () => {
    const content = 'Interrupted: the service stopped'
    show({ tool_calls: [call({ status: 'error', content })], outcome: 'interrupted' })
    const head = screen.getByRole('button', { name: /echo hello/ })
    expect(head.textContent).toContain('interrupted')
    expect(head.textContent).not.toContain('failed')
    expect(head.textContent).not.toContain('exit')
  })
  it('breaks the rail where the sidecar died, and offers to resend', () => {
    const error = 'Sidecar restarted — please resend your message to continue this conversation.'
    const { noted } = show({ error, content: `Error: ${error}`, outcome: 'error' })
    expect(screen.getByText(error)).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: 'Resend' }))
    expect(noted).toEqual([{ name: 'resend', args: ['c-1', 'do it'] }])
  })
})
