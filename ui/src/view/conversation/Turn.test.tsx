import { cleanup, fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { sampleConversation, sampleMessage } from '../../../test/sample'
import type { Message, ToolCall } from '../../contract/model'
import type { ConversationState } from '../../store/reduce'
import { fromSnapshot, thoughtKey } from '../../store/reduce'
import { stepsOf } from '../../store/transcript'
import type { TurnContext } from './Turn'
import { Turn } from './Turn'

const context: TurnContext = {
  conversationId: 'c-1',
  project: '/p',
  patterns: [],
  baselines: {},
  readOnly: false,
  density: 'normal',
  canFork: true,
  active: false,
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
const show = (
  change: Partial<Message>,
  more: Partial<TurnContext> = {},
  known: Partial<ConversationState> = {},
) => {
  const message = sampleMessage({ id: 't-1', role: 'assistant', turn_id: 't-1', ...change })
  const user = sampleMessage({ id: 'm-1', content: 'do it' })
  return renderInBench(
    <Turn
      message={message}
      steps={stepsOf(message)}
      number={1}
      last
      fate={message.is_streaming ? 'running' : 'done'}
      context={{ ...context, ...more }}
    />,
    {
      conversations: {
        'c-1': {
          phase: 'ready',
          state: {
            ...fromSnapshot(sampleConversation({ messages: [user, message] }), 1),
            ...known,
          },
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
  it('keeps both streams apart, and names what was changed', () => {
    const tool = call({
      name: 'Bash',
      exit_code: 2,
      stdout: 'out of it',
      stderr: 'went wrong',
      modified_paths: ['/p/dir/a.go'],
      status: 'error',
    })
    show({ tool_calls: [tool], outcome: 'done' })
    const head = screen.getByRole('button', { name: /echo hello/ })
    expect(head.textContent).toContain('exit 2')
    fireEvent.click(head)
    expect(screen.getByText('out of it')).toBeTruthy()
    expect(screen.getByText('went wrong')).toBeTruthy()
    expect(screen.getByText('dir/a.go')).toBeTruthy()
  })
  it('tells how long a call took and a thought lasted, when it saw them', () => {
    const parts = [
      { type: 'thinking' as const, length: 4 },
      { type: 'tool' as const, id: 'x' },
    ]
    const times = {
      [thoughtKey('t-1', 0)]: { from: 1000, to: 10_200 },
      x: { from: 0, to: 12_400 },
    }
    show({ thinking: 'hmm.', parts, tool_calls: [call({})], outcome: 'done' }, {}, { times })
    expect(screen.getByText('Thought for 9 s')).toBeTruthy()
    expect(screen.getByText('12.4 s')).toBeTruthy()
  })
  it.each([
    ['mcp__docs__search', '{"query":"lease"}', 'docs · search', 'lease'],
    ['WebFetch', '{"url":"https://example.org/"}', 'WebFetch', 'https://example.org/'],
    ['web_fetch', '{"url":"https://example.org/"}', 'web_fetch', 'https://example.org/'],
    ['KillShell', '{"shell_id":"7"}', 'KillShell', ''],
  ])('shows a call of %s by name and target', (name, input, title, target) => {
    show({ tool_calls: [call({ name, input })], outcome: 'done' })
    const head = screen.getByText(title).closest('button')
    expect(head?.textContent).toBe(title + target)
  })
  it('shows the newest list of tasks once, and keeps it open', () => {
    const todo = (id: string, status: string) =>
      call({
        id,
        name: 'TodoWrite',
        input: JSON.stringify({
          todos: [{ content: 'Read it', status, activeForm: 'Reading it' }],
        }),
      })
    show({ tool_calls: [todo('a', 'in_progress'), todo('b', 'completed')], outcome: 'done' })
    expect(screen.getAllByRole('list', { name: 'Tasks' })).toHaveLength(1)
    expect(screen.getByText('1 of 1 done')).toBeTruthy()
    expect(screen.getByText('Read it')).toBeTruthy()
  })
  it('reads a checklist of our own tool', () => {
    const content = '- [x] first\n- [~] second\n- [ ] third'
    show({ tool_calls: [call({ name: 'task_list', input: '{}', content })], outcome: 'done' })
    expect(screen.getByText('1 of 3 done')).toBeTruthy()
    expect(screen.getByRole('img', { name: 'in progress' })).toBeTruthy()
  })
  it.each([
    ['Task', '{"description":"Soak test","prompt":"run it","subagent_type":"x"}', 'Soak test'],
    ['spawn_subagent', '{"task":"Look around"}', 'Look around'],
  ])(
    'shows a sub-agent of %s with its errand, its use and what it found',
    (name, input, errand) => {
      const agents = { x: { input: 1500, output: 500, cacheRead: 0, cacheWrite: 0 } }
      const content = 'It **holds**.'
      show({ tool_calls: [call({ name, input, content })], outcome: 'done' }, {}, { agents })
      const head = screen.getByRole('button', { name: new RegExp(errand) })
      expect(head.textContent).toContain('2k tok')
      fireEvent.click(head)
      expect(screen.getByText(/holds/)).toBeTruthy()
    },
  )
  it('rolls up the exploration of every transport, live and settled', () => {
    const calls = [
      call({ id: '1', name: 'Read', input: '{"file_path":"/p/a.go"}' }),
      call({ id: '2', name: 'Grep', input: '{"pattern":"x"}' }),
      call({ id: '3', name: 'Glob', input: '{"pattern":"*.go"}', status: 'running' }),
    ]
    show({ tool_calls: calls, is_streaming: true })
    expect(screen.getByText('Exploring 1 file, 1 search (1 in flight)')).toBeTruthy()
  })
  it('opens the review at the file of an edit', () => {
    const edit = call({
      name: 'Edit',
      input: '{"file_path":"/p/dir/a.go","old_string":"1","new_string":"2"}',
    })
    const { reviews } = show({ tool_calls: [edit], outcome: 'done' })
    fireEvent.click(screen.getByRole('button', { name: /dir\/a\.go/ }))
    expect(reviews.store.getState().open).toEqual({ 'c-1': 'dir/a.go' })
  })
  it('opens nothing for a watcher', () => {
    const edit = call({ name: 'Write', input: '{"file_path":"/p/a.go","content":"1"}' })
    show({ tool_calls: [edit], outcome: 'done' }, { readOnly: true })
    expect(screen.queryByRole('button', { name: /a\.go/ })).toBeNull()
    expect(screen.queryByRole('button', { name: 'Retry this turn' })).toBeNull()
  })
  it('retries the last turn from its foot, and copies its answer', () => {
    const { noted } = show({ content: 'All done.', outcome: 'done' })
    fireEvent.click(screen.getByRole('button', { name: 'Retry this turn' }))
    expect(noted).toEqual([{ name: 'retry', args: ['c-1'] }])
    expect(screen.getByRole('button', { name: 'Copy answer' })).toBeTruthy()
  })
  it('shows lines alone in Summary, and everything in Verbose', () => {
    const parts = [
      { type: 'thinking' as const, length: 4 },
      { type: 'tool' as const, id: 'x' },
    ]
    const message = { thinking: 'hmm.', parts, tool_calls: [call({})], outcome: 'done' as const }
    show(message, { density: 'summary' })
    expect(screen.queryByText('Thought')).toBeNull()
    expect(screen.getByText('echo hello')).toBeTruthy()
    expect(screen.queryByRole('button', { name: /echo hello/ })).toBeNull()
    cleanup()
    show(message, { density: 'verbose' })
    expect(screen.getByText('hmm.')).toBeTruthy()
    expect(screen.getByText('hello')).toBeTruthy()
    expect(screen.getByText(/"command": "echo hello"/)).toBeTruthy()
  })
  it('breaks the rail where the sidecar died, and offers to resend', () => {
    const error = 'Sidecar restarted — please resend your message to continue this conversation.'
    const { noted } = show({ error, content: `Error: ${error}`, outcome: 'error' })
    expect(screen.getByText(error)).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: 'Resend' }))
    expect(noted).toEqual([{ name: 'resend', args: ['c-1', 'do it'] }])
  })
})
