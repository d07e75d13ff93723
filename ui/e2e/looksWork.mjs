// looksWork.mjs: pictures of workspaces, the ops page and the Monitor in both
// themes and every width, from scenes that never change, to be looked at beside
// the mocks. Controls without a name and pages that scroll sideways fail.
//
//   node e2e/looksWork.mjs [folder for the pictures] [part of a scene's name]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startWorkScenes } from '../test/workScenes.mjs'
import { audit } from './audit.mjs'
import { launchBrowser, shots } from './harness.mjs'

const out = process.argv[2] ?? shots
const only = process.argv[3] ?? ''
mkdirSync(out, { recursive: true })
const widths = [
  [1440, 900],
  [420, 900],
  [2560, 1300],
]

/** What is looked at, where it is, and how one gets there. */
const scenes = [
  [
    'workspace',
    '/workspaces/w-harbor',
    async (page) => {
      await page.locator('[data-pane="t-tests"] [data-begun="true"]').waitFor()
      await page.locator('[data-pane="t-server"] [data-begun="true"]').waitFor()
      await page.getByRole('region', { name: /^Permission required/ }).waitFor()
    },
  ],
  [
    'workspace-empty',
    '/workspaces/w-docs',
    async (page) => page.getByText('Nothing is open in this workspace.').waitFor(),
  ],
  [
    'workspace-new',
    '/workspaces/w-harbor',
    async (page) => {
      await page.getByRole('button', { name: 'New workspace' }).click()
      await page.getByRole('radio', { name: /^Shell/ }).waitFor()
    },
  ],
  ['ops', '/ops', async (page) => page.getByRole('row', { name: /^.*sidecar/ }).waitFor()],
  [
    'ops-sidecar',
    '/ops/sidecar',
    async (page) => page.getByRole('button', { name: /^Reset/ }).waitFor(),
  ],
  [
    'ops-log',
    '/ops',
    async (page) => {
      await page.getByRole('tab', { name: 'Log' }).click()
      await page.getByText('sidecar exited').waitFor()
    },
  ],
  [
    'ops-windows',
    '/ops',
    async (page) => {
      await page.getByRole('tab', { name: 'Windows' }).click()
      await page.getByRole('cell', { name: /viewer:5/ }).waitFor()
    },
  ],
  [
    'monitor',
    '/monitor',
    async (page) => page.getByRole('link', { name: /bash/ }).first().waitFor(),
  ],
  [
    'monitor-terminal',
    '/monitor/terminals/t-tests',
    async (page) => page.locator('[data-begun="true"]').waitFor(),
  ],
  [
    'monitor-tree',
    '/monitor/actors/all',
    async (page) => page.getByRole('row', { name: /sidecar/ }).waitFor(),
  ],
]

const service = await startWorkScenes()
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
    for (const [name, path, reach] of scenes) {
      if (!name.includes(only)) continue
      const label = `${name}-${width}-${colorScheme}`
      try {
        await page.goto(`${service.base}${path}`)
        await reach(page)
        await audit(page)
        console.log(`ok    ${label}`)
      } catch (e) {
        failed++
        console.log(
          `FAIL  ${label}\n      ${String(e.message ?? e)
            .split('\n')
            .slice(0, 6)
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
