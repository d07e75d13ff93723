import { render, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { sampleConversation, sampleMessage } from '../../../test/sample'
import type { ProjectGit } from '../../contract/gen'
import type { Conversation } from '../../contract/model'
import { Strip } from './Strip'

const show = (change: Partial<Conversation>) =>
  render(<Strip conversation={sampleConversation(change)} />)
const git: ProjectGit = {
  is_git_repo: true,
  branch: 'pkt/c-1',
  has_upstream: true,
  is_clean: false,
  uncommitted_count: 2,
  staged_count: 0,
  ahead_upstream: 0,
  behind_upstream: 5,
  warnings: [],
}

describe('Strip', () => {
  it('shows branch, dirt and how far behind, as the service counted', () => {
    show({ git })
    expect(screen.getByText('pkt/c-1')).toBeTruthy()
    expect(screen.getByRole('img', { name: '2 uncommitted change(s)' })).toBeTruthy()
    expect(screen.getByRole('img', { name: '5 behind upstream' }).textContent).toBe('↓5')
  })
  it('says when there is no repository, and nothing before it was asked', () => {
    const first = show({ git: { ...git, is_git_repo: false } })
    expect(screen.getByText('not a git repo')).toBeTruthy()
    first.unmount()
    const { container } = show({})
    expect(container.textContent).not.toContain('git')
  })
  it('counts the MCP servers, with those that could not be read', () => {
    show({
      mcp: {
        servers: [{ name: 'docs', transport: 'stdio', scope: 'project' }],
        read_errors: [{ scope: 'project', path: '/p/.mcp.json', message: 'not JSON' }],
      },
    })
    const chip = screen.getByText('MCP 1 (!1)').parentElement
    expect(chip?.title).toBe('docs (stdio, project)\n/p/.mcp.json: not JSON')
  })
  it.each([
    [6999, 'ring '],
    [7000, 'ring warn'],
    [9000, 'ring bad'],
  ])('colours the ring at %i of 10,000', (used, look) => {
    show({ context: { used, window: 10_000, estimated: false } })
    expect(screen.getByRole('img', { name: /^Context/ }).getAttribute('class')).toBe(look)
  })
  it('tells what fills it, of the latest turn', () => {
    show({
      context: { used: 4100, window: 10_000, estimated: false },
      messages: [sampleMessage({ role: 'assistant', input_tokens: 1000, cache_read_tokens: 3000 })],
    })
    expect(screen.getByText(/41/).title).toBe(
      '4,100 of 10,000 tokens, 41 %\ninput 1,000\ncache read 3,000\ncache write 0',
    )
  })
  it('hatches an estimate', () => {
    show({ context: { used: 5000, window: 10_000, estimated: true } })
    expect(screen.getByText(/~50/)).toBeTruthy()
    const ring = screen.getByRole('img', { name: 'Context ~50 % full' })
    expect(ring.querySelector('.fg')?.getAttribute('stroke-dasharray')).toMatch(/^2 1\.5 2 1\.5/)
  })
  it('has no ring before anything was used', () => {
    show({ context: { used: 0, window: 10_000, estimated: false } })
    expect(screen.queryByRole('img', { name: /^Context/ })).toBeNull()
  })
})
