import { act, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import { settle } from '../../../test/fakeSocket'
import { sampleConversation } from '../../../test/sample'
import { Monitor } from './Monitor'

const terminal = (id: string, more: object = {}) => ({
  terminal_id: id,
  command: 'bash',
  state: 'running',
  title: 'tests',
  ...more,
})

async function open(terminals: object[] = []) {
  const t = renderInBench(
    <Monitor id="" />,
    {
      summaries: [sampleConversation({ title: 'Flaky lease' })],
      session: { role: 'monitor', boot_id: 'b', version: 'v', project_path: '' },
    },
    {},
    {},
    { list_terminals: () => terminals },
  )
  await act(settle)
  return t
}

it('lists conversations, terminals and the tree', async () => {
  await open([terminal('t-1'), terminal('t-2', { state: 'ended', exit_code: 2 })])
  const links = screen.getAllByRole('link').map((a) => a.getAttribute('href'))
  expect(links).toEqual([
    '/monitor/c-1',
    '/monitor/terminals/t-1',
    '/monitor/terminals/t-2',
    '/monitor/actors/all',
  ])
  expect(screen.getByRole('img', { name: 'ended with code 2' })).toBeTruthy()
  expect(screen.getByText('Read-only Monitor')).toBeTruthy()
})

it('has no button, and asks only for what a Monitor may read', async () => {
  const t = await open([])
  expect(screen.queryAllByRole('button')).toEqual([])
  expect(t.asked.map(([m]) => m)).toEqual(['list_terminals'])
})

it('follows what terminals do', async () => {
  const t = await open([terminal('t-1')])
  await act(async () => {
    t.publish('terminal.exited.t-1', { exit_code: -1, signal: 'SIGHUP' })
    await settle()
  })
  expect(screen.getByRole('img', { name: 'ended by SIGHUP' })).toBeTruthy()
})
