import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderInBench } from '../../../test/bench'
import type { PendingPermission } from '../../contract/model'
import { PermissionCard } from './PermissionCard'

const prompt: PendingPermission = {
  id: 'x',
  name: 'bash',
  arguments: '{"command":"git clean -fdx"}',
  tier: 'blocking',
  destructive: false,
  sources: [],
  opened_at: 0,
}
const show = (change: Partial<PendingPermission> = {}, readOnly = false, patterns: string[] = []) =>
  renderInBench(
    <PermissionCard
      conversationId="c-1"
      prompt={{ ...prompt, ...change }}
      project="/p"
      patterns={patterns}
      readOnly={readOnly}
      armed
    />,
  )
const button = (name: string | RegExp) => screen.getByRole('button', { name })

describe('PermissionCard', () => {
  it('is a region named after its tool, with the command in full', () => {
    show()
    const card = screen.getByRole('region', { name: 'Permission required: bash' })
    expect(card.textContent).toContain('$ git clean -fdx')
  })
  it('gives Allow and Deny the same look', () => {
    show()
    expect(button(/^Allow Y/).className).toBe(button(/^Deny N/).className)
  })
  it('allows once and denies', () => {
    const { noted } = show()
    fireEvent.click(button(/^Allow Y/))
    fireEvent.click(button(/^Deny N/))
    expect(noted.map((n) => n.args.slice(0, 3))).toEqual([
      ['c-1', 'x', 'allow_once'],
      ['c-1', 'x', 'deny'],
    ])
  })
  it('denies with a reason, and plainly with an empty one', () => {
    const { noted } = show()
    fireEvent.click(button('with reason…'))
    const reason = screen.getByRole('textbox', { name: 'Reason' })
    fireEvent.click(button('Deny & steer'))
    fireEvent.change(reason, { target: { value: ' use git stash ' } })
    fireEvent.click(button('Deny & steer'))
    expect(noted.map((n) => n.args[3])).toEqual([{}, { reason: 'use git stash' }])
  })
  it('names what is destructive in a word and in a sentence', () => {
    show({ destructive: true })
    expect(screen.getByText('Destructive')).toBeTruthy()
    expect(
      screen.getByText('This command can delete or overwrite files that git is not tracking.'),
    ).toBeTruthy()
  })
  it('shows the evidence on demand', () => {
    show({ sources: [{ origin: 'web', label: 'web_fetch', locator: 'https://example.org' }] })
    fireEvent.click(button(/1 source\(s\)/))
    expect(screen.getByText('web: web_fetch (https://example.org)')).toBeTruthy()
  })
  it('offers the derived pattern in full, disabled when it is there already', () => {
    const pattern = 'Bash(git clean:*)'
    const { noted } = show({ allow_pattern: pattern })
    fireEvent.pointerDown(button('Allow with a wider scope'), { button: 0, pointerType: 'mouse' })
    fireEvent.click(screen.getByRole('menuitem', { name: `Always allow ${pattern}` }))
    expect(noted).toEqual([
      { name: 'answer', args: ['c-1', 'x', 'allow_once', { allow_pattern: pattern }] },
    ])
  })
  it.each([
    ['Edit', { file_path: '/p/a.go', old_string: 'one\n', new_string: 'two\n' }, 'two'],
    ['Write', { file_path: '/p/a.go', content: 'fresh\n' }, 'fresh'],
    ['MultiEdit', { file_path: '/p/a.go', edits: [{ old_string: '1', new_string: '2nd' }] }, '2nd'],
  ])('shows what %s would change as a change', (name, input, words) => {
    show({ name, arguments: JSON.stringify(input) })
    const change = screen.getByRole('group', { name: 'Change' })
    expect(change.textContent).toContain(words)
    expect(screen.getByText('a.go')).toBeTruthy()
    fireEvent.click(button('Raw arguments'))
    expect(screen.getByText(/"file_path": "\/p\/a.go"/)).toBeTruthy()
  })
  it('names a tool of a server with its server', () => {
    show({ name: 'mcp__tracker__close_issue', arguments: '{"id":7}' })
    expect(screen.getByText('tracker · close_issue')).toBeTruthy()
    expect(screen.getByLabelText('Arguments').textContent).toContain('"id": 7')
  })
  it('marks a pattern that is in force', () => {
    show({ allow_pattern: 'Grep(*)' }, false, ['Grep(*)'])
    fireEvent.pointerDown(button('Allow with a wider scope'), { button: 0, pointerType: 'mouse' })
    const item = screen.getByRole('menuitem', { name: /Always allow/ })
    expect(item.getAttribute('aria-disabled')).toBe('true')
    expect(item.textContent).toContain('already in')
  })
  it('has nothing to press in a Monitor', () => {
    show({}, true)
    expect(screen.queryByRole('button', { name: /Allow|Deny/ })).toBeNull()
  })
})
