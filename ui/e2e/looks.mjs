// looks.mjs: pictures of the conversation and the review in both themes and
// every width, from scenes that never change, to be looked at beside the mocks.
// Controls without a name and pages that scroll sideways fail.
//
//   node e2e/looks.mjs [folder for the pictures]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startScenes } from '../test/scenes.mjs'
import { audit } from './audit.mjs'
import { launchBrowser, shots } from './harness.mjs'

const out = process.argv[2] ?? shots
mkdirSync(out, { recursive: true })
const widths = [
  [1440, 900],
  [420, 900],
  [2560, 1300],
]

/** What is looked at, and how one gets there. */
const scenes = [
  [
    'agents',
    'c-live',
    async (page) => page.getByRole('region', { name: /^Permission required/ }).waitFor(),
  ],
  [
    'review',
    'c-live',
    async (page) => {
      await page.getByRole('button', { name: /awaiting review/ }).click()
      await page.getByRole('article', { name: /renew\.go, applied/ }).waitFor()
      await page.getByText('Hunk 1 @ line 4').waitFor()
      await page.getByRole('checkbox', { name: 'Keep hunk 2' }).click()
    },
  ],
  [
    'review-comment',
    'c-live',
    async (page) => {
      await page.getByRole('button', { name: /awaiting review/ }).click()
      await page.getByText('Hunk 1 @ line 4').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('c')
      await page.getByRole('textbox', { name: 'Comment' }).fill('Name the 3.')
    },
  ],
  [
    'permissions',
    'c-asks',
    async (page) => {
      await page.getByRole('group', { name: 'Pending tool permissions' }).waitFor()
      await page.getByRole('region', { name: 'Permission required: bash' }).scrollIntoViewIfNeeded()
    },
  ],
  [
    'plan',
    'c-plan',
    async (page) => page.getByRole('group', { name: /^Approve and proceed/ }).waitFor(),
  ],
  [
    'cards',
    'c-done',
    async (page) => {
      await page.getByText('make lint').click()
      await page.getByText('Show all 214 lines').waitFor()
    },
  ],
  [
    'resend',
    'c-done',
    async (page) => {
      await page.getByText('Do all of it.').hover()
      await page.getByRole('button', { name: 'Edit and resend' }).click()
    },
  ],
  [
    'find',
    'c-done',
    async (page) => {
      await page.keyboard.press('Control+f')
      await page.getByRole('textbox', { name: 'Search in this conversation' }).fill('package')
    },
  ],
]

const service = await startScenes()
const browser = await launchBrowser()
let failed = 0
for (const colorScheme of ['dark', 'light']) {
  for (const [width, height] of widths) {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width, height },
      reducedMotion: 'reduce',
    })
    context.setDefaultTimeout(15_000)
    const page = await context.newPage()
    page.on('pageerror', (e) => {
      failed++
      console.log(`FAIL  the page threw: ${e.message}`)
    })
    await page.goto(service.url)
    for (const [name, id, reach] of scenes) {
      const label = `${name}-${width}-${colorScheme}`
      try {
        await page.goto(`${service.base}/agents/${id}`)
        await page.getByRole('textbox', { name: 'Message' }).waitFor()
        await reach(page)
        await audit(page)
        console.log(`ok    ${label}`)
      } catch (e) {
        failed++
        console.log(
          `FAIL  ${label}\n      ${String(e.message ?? e)
            .split('\n')
            .slice(0, 4)
            .join('\n      ')}`,
        )
      }
      await page.screenshot({ path: join(out, `${label}.png`) })
    }
    await context.close()
  }
}
await browser.close()
await service.close()
process.exit(failed === 0 ? 0 : 1)
