// audit.mjs: what must hold on every screen, whatever is on it.
import { assert } from './harness.mjs'

/** Controls without a name, and things that sit where they must not. */
export async function audit(page) {
  const client = await page.context().newCDPSession(page)
  const { nodes } = await client.send('Accessibility.getFullAXTree')
  const named = [
    'button',
    'link',
    'textbox',
    'combobox',
    'checkbox',
    'radio',
    'menuitem',
    'option',
    'tab',
    'img',
    'region',
    'dialog',
    'listbox',
  ]
  const nameless = nodes
    .filter((n) => !n.ignored && named.includes(n.role?.value) && !n.name?.value)
    .map((n) => n.role.value)
  const nested = await page.evaluate(
    () => document.querySelectorAll('a button, button a, button button, a a, label button').length,
  )
  const ids = await page.evaluate(() => {
    const all = [...document.querySelectorAll('[id]')].map((el) => el.id)
    return all.filter((id, i) => all.indexOf(id) !== i)
  })
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('button, a[href]')]
      .filter((el) => el.offsetParent !== null && el.getBoundingClientRect().width > 0)
      .filter((el) => el.getBoundingClientRect().height < 16)
      .map((el) => el.textContent ?? ''),
  )
  assert(nameless.length === 0, `controls without a name: ${nameless.join(', ')}`)
  assert(nested === 0, `${nested} controls sit inside another control`)
  assert(ids.length === 0, `ids used twice: ${ids.join(', ')}`)
  assert(sideways <= 0, `the page scrolls sideways by ${sideways}`)
  assert(small.length === 0, `targets too small to hit: ${small.join(', ')}`)
}
