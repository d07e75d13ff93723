// steer.mjs: launching and steering, told step by step: the launch composer,
// the popovers, profiles, worktrees, the palette, several windows, and a
// service that is killed under an open page.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { audit } from './audit.mjs'
import { assert, shots } from './harness.mjs'
import { rpc, scriptedProvider } from './provider.mjs'

const message = (page) => page.getByRole('textbox', { name: 'Message' })
const task = (page) => page.getByRole('textbox', { name: 'What would you like to work on?' })
const folder = (page) => page.getByRole('combobox', { name: 'Project folder' })
const card = (page) => page.getByRole('region', { name: 'Permission required: bash' })
const transcript = (page) => page.getByRole('log', { name: 'Transcript' })
const list = (page) => page.getByRole('complementary', { name: 'Conversations' })
const launchButton = (page) => page.getByRole('button', { name: /^(Launch|Coming soon)/ })

/** Waits until a control is no longer refused. */
async function enabled(button) {
  await button
    .page()
    .waitForFunction(
      (el) => el?.getAttribute('aria-disabled') === 'false',
      await button.elementHandle(),
    )
}

async function signIn(page, service, path = '/agents/new') {
  await page.goto(service.url)
  await page.goto(service.base + path)
}

/** Starts a demo conversation and waits for its pane. */
async function launch(page, service, words, project = service.project) {
  await signIn(page, service)
  return launchFrom(page, words, project)
}

/** Launches what the open launch screen has chosen. */
async function launchFrom(page, words, project) {
  await folder(page).fill(project)
  await task(page).fill(words)
  await enabled(launchButton(page))
  await launchButton(page).click()
  await page.waitForURL(/\/agents\/c-/)
  await message(page).waitFor()
  return new URL(page.url()).pathname
}

async function settled(page, word = 'Idle') {
  await page.locator('main header').getByText(word, { exact: true }).waitFor()
}

/** The value of a field once it is what is wanted. */
async function holds(field, wanted) {
  await field
    .page()
    .waitForFunction(([el, v]) => el.value === v, [await field.elementHandle(), wanted])
}

/** A git repository with one commit, in a folder with a space. */
function repository(home, name) {
  const dir = join(home, name)
  mkdirSync(join(dir, 'src'), { recursive: true })
  writeFileSync(join(dir, 'README.md'), '# Harborline\n')
  writeFileSync(join(dir, 'src', 'lease.go'), 'package lease\n')
  const git = (...args) => execFileSync('git', ['-C', dir, ...args], { stdio: 'pipe' })
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Mira')
  git('config', 'user.email', 'mira@example.com')
  git('add', '.')
  git('commit', '-q', '-m', 'begin')
  return dir
}

/** A service of its own with a fresh home, ended with the scenario. */
async function alone({ bin, freshHome, startService }, work) {
  const home = freshHome()
  const own = await startService({ bin, home })
  try {
    await work(own, home)
  } finally {
    await own.stop()
  }
}

export const scenarios = [
  [
    'a service killed under an open page comes back without a reload',
    async ({ open, bin, freshHome, startService }) => {
      const home = freshHome()
      const first = await startService({ bin, home })
      let second
      try {
        const page = await open()
        const other = await open()
        const path = await launch(page, first, 'hello there')
        await settled(page)
        await signIn(other, first, path)
        await message(other).fill('half a thought')
        await page.evaluate(() => (window.neverReloaded = true))
        await other.evaluate(() => (window.neverReloaded = true))
        // F41: what is sent while nobody listens waits where it can be seen.
        await first.kill()
        await page.getByRole('main').getByText('Reconnecting…').waitFor()
        await message(page).fill('sent into the gap')
        await message(page).press('Enter')
        await transcript(page).getByText('Not sent yet').waitFor()
        await message(page).fill('typed meanwhile')
        // F40: both windows go on by themselves, with the same cookie.
        second = await startService({ bin, home, addr: new URL(first.base).host })
        for (const w of [page, other]) {
          await w.getByText('Connected', { exact: true }).waitFor()
          await w.getByRole('main').getByText('Reconnecting…').waitFor({ state: 'detached' })
          assert(await w.evaluate(() => window.neverReloaded), 'the page was loaded again')
        }
        // Another start of the service: the message is not sent behind its back.
        await holds(message(page), 'sent into the gap\ntyped meanwhile')
        await page
          .getByText(/The service was started again meanwhile, so this was not sent/)
          .waitFor()
        assert((await message(other).inputValue()) === 'half a thought', 'a draft was lost')
        await message(other).press('Enter')
        await other.getByRole('region', { name: 'Turn 2, done' }).waitFor()
        // F47: the other window has followed since the restart.
        await transcript(page).getByText('half a thought').waitFor()
      } finally {
        await first.stop()
        await second?.stop()
      }
    },
  ],
  [
    'two windows write to one conversation and disturb nobody',
    async ({ service, open }) => {
      const a = await open()
      const path = await launch(a, service, 'two of us')
      await settled(a)
      // A second window of the same browser, with the same storage.
      const b = await a.context().newPage()
      await b.goto(service.base + path)
      await message(a).fill('mine')
      await message(b).fill('theirs')
      await a.getByRole('button', { name: 'Choose a posture' }).click()
      await a.getByRole('menuitemradio', { name: /Manual/ }).click()
      await b.getByRole('button', { name: 'Posture Manual' }).waitFor()
      assert((await message(b).inputValue()) === 'theirs', 'a change of posture took the draft')
      await message(a).press('Enter')
      await transcript(b).getByText('mine').waitFor()
      assert((await message(b).inputValue()) === 'theirs', 'sending in A changed the draft of B')
      await b.reload()
      await holds(message(b), 'theirs')
      // F46: looking somewhere else cancels nothing.
      await b.goto(`${service.base}/agents/new`)
      await a.getByRole('region', { name: 'Turn 2, done' }).waitFor()
      await a.reload()
      await holds(message(a), '')
    },
  ],
  [
    'a file is named with @ and a command expanded with /, by keys alone',
    async (tools) =>
      alone(tools, async (own, home) => {
        const project = repository(home, 'harbor line')
        mkdirSync(join(project, '.packetbench', 'commands'), { recursive: true })
        writeFileSync(
          join(project, '.packetbench', 'commands', 'tidy.md'),
          '---\ndescription: Clean up\n---\nTidy the imports of this package.\n',
        )
        const page = await tools.open()
        await signIn(page, own)
        await folder(page).fill(project)
        await task(page).click()
        await page.keyboard.type('look at @lea')
        await page.getByRole('option', { name: 'src/lease.go' }).waitFor()
        await page.keyboard.press('Tab')
        await holds(task(page), 'look at @src/lease.go ')
        await page.keyboard.type('/ti')
        await page.getByRole('option', { name: /^\/tidy/ }).waitFor()
        await page.keyboard.press('Enter')
        await holds(task(page), 'look at @src/lease.go Tidy the imports of this package.')
        assert(page.url().endsWith('/agents/new'), 'Enter in the list has launched')
        await page.keyboard.press('Enter')
        await page.waitForURL(/\/agents\/c-/)
        await settled(page)
        // The same composer in the chat has the built-in commands too.
        await message(page).click()
        await page.keyboard.type('/')
        await page.getByRole('listbox', { name: 'Commands' }).waitFor()
        await page.getByRole('option', { name: /^\/tidy/ }).waitFor()
        const rows = await page.getByRole('option').allTextContents()
        assert(rows.length === 10 && rows[0].startsWith('/plan'), rows.join(' | '))
        await page.keyboard.press('Escape')
        await page.getByRole('listbox').waitFor({ state: 'detached' })
        await page.keyboard.type('plan')
        // Escape closes it for this word; another one opens it again.
        assert((await page.getByRole('listbox').count()) === 0, 'the list came back by itself')
        await message(page).fill('')
        await page.keyboard.type('/plan')
        await page.getByRole('option', { name: /^\/plan/ }).waitFor()
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Posture Plan' }).waitFor()
        assert((await message(page).inputValue()) === '', 'the command stayed in the text')
        await page.keyboard.press('Enter')
        assert((await transcript(page).locator('.bubble').count()) === 1, 'something was sent')
      }),
  ],
  [
    'a worktree is launched, named in the strip, and what deleting it loses is said',
    async (tools) =>
      alone(tools, async (own, home) => {
        const project = repository(home, 'harbor line')
        const page = await tools.open()
        await signIn(page, own)
        await folder(page).fill(project)
        await page.getByText('main', { exact: true }).waitFor()
        await page.getByRole('button', { name: /^Advanced/ }).click()
        await page.getByRole('radio', { name: 'Worktree' }).click()
        await task(page).fill('edit the file')
        await enabled(launchButton(page))
        await launchButton(page).click()
        await page.waitForURL(/\/agents\/c-/)
        const id = new URL(page.url()).pathname.split('/').at(-1)
        const strip = page.getByRole('group', { name: 'What this conversation works on' })
        await strip.getByText(`pkt/${id}`).waitFor()
        await strip.getByText('harbor line').waitFor()
        await settled(page)
        await list(page).getByRole('region', { name: 'harbor line' }).waitFor()
        await page.getByRole('button', { name: 'Conversation menu' }).click()
        await page.getByRole('menuitem', { name: 'Delete…' }).click()
        const dialog = page.getByRole('dialog', { name: 'Delete conversation?' })
        await dialog
          .getByText('This worktree has UNCOMMITTED CHANGES. They will be permanently lost.')
          .waitFor()
        await dialog.getByText(`pkt/${id}`).waitFor()
        await page.screenshot({ path: join(shots, 'delete-worktree.png') })
        await dialog.getByRole('button', { name: 'Delete and discard changes' }).click()
        await page.waitForURL(/\/agents\/new/)
        // The place is remembered for the next launch.
        assert(
          (await page.getByRole('radio', { name: 'Worktree' }).getAttribute('aria-checked')) ===
            'true',
          'the place of the last launch was forgotten',
        )
      }),
  ],
  [
    'a worktree is landed without the mouse, and a failed merge is told in git’s words',
    async (tools) =>
      alone(tools, async (own, home) => {
        const project = repository(home, 'harbor line')
        const page = await tools.open()
        await signIn(page, own)
        await rpc(page, 'set_settings', { launch_location: 'worktree' })
        await launch(page, own, 'edit the file', project)
        await settled(page)
        const bar = page.getByRole('region', { name: 'Worktree' })
        // The project has a change of its own: git refuses, and says so.
        writeFileSync(join(project, 'README.md'), '# Changed meanwhile\n')
        await bar.getByRole('button', { name: 'Merge back' }).focus()
        await page.keyboard.press('Enter')
        await bar.getByRole('status').waitFor()
        assert(
          !(await bar.getByRole('status').innerText()).startsWith('Landed'),
          'it landed over a change that nobody committed',
        )
        writeFileSync(join(project, 'README.md'), '# Harborline\n')
        await bar.getByRole('button', { name: 'Merge back' }).focus()
        await page.keyboard.press('Enter')
        await bar.getByText(/^Landed pkt\//).waitFor()
        await bar.getByText('Landed', { exact: true }).waitFor()
        assert(existsSync(join(project, 'packetbench-demo.md')), 'the edit is not in the project')
        await audit(page)
      }),
  ],
  [
    'a worktree that cannot be made refuses the launch and keeps the text',
    async (tools) =>
      alone(tools, async (own) => {
        const page = await tools.open()
        await signIn(page, own)
        await folder(page).fill(own.project)
        await page.getByText('not a git repo').waitFor()
        await page.getByRole('button', { name: /^Advanced/ }).click()
        await page.getByRole('radio', { name: 'Worktree' }).click()
        await page.getByText(/a worktree needs one/).waitFor()
        await task(page).fill('nowhere to go')
        await enabled(launchButton(page))
        await launchButton(page).click()
        await page.getByRole('alert').first().waitFor()
        assert(page.url().endsWith('/agents/new'), 'it was launched somewhere')
        assert((await task(page).inputValue()) === 'nowhere to go', 'the text is lost')
      }),
  ],
  [
    'a profile is cloned, edited, picked at a launch and kept',
    async (tools) =>
      alone(tools, async (own) => {
        const page = await tools.open()
        await signIn(page, own, '/settings/profiles')
        await page.getByRole('button', { name: 'Clone Scout' }).click()
        const form = page.getByRole('form', { name: 'Profile Scout (copy)' })
        await form.getByLabel('Name', { exact: true }).fill('Harbor pilot')
        await form.getByLabel('Instructions').fill('Small diffs only.')
        await form.getByLabel('Tools').fill('read_file, grep')
        await page.keyboard.press('Control+Enter')
        const mine = page.getByRole('group', { name: 'Harbor pilot' })
        await mine.getByText(/^2 tools/).waitFor()
        await audit(page)
        // Another window has it too, and picks it.
        const b = await tools.open()
        await signIn(b, own)
        await b.getByRole('button', { name: /^Advanced/ }).click()
        await b.getByRole('button', { name: 'Profile Default' }).click()
        await b.getByRole('menuitemradio', { name: /Harbor pilot/ }).click()
        await folder(b).fill(own.project)
        await task(b).fill('hello')
        await enabled(launchButton(b))
        await launchButton(b).click()
        await b.waitForURL(/\/agents\/c-/)
        await settled(b)
        await page.reload()
        await mine
          .getByRole('button', { name: 'Harbor pilot is the default', pressed: true })
          .waitFor()
        await mine.getByRole('button', { name: 'Edit Harbor pilot' }).click()
        await page.getByRole('button', { name: 'Delete…' }).click()
        await page.getByRole('button', { name: 'Delete Harbor pilot' }).click()
        await mine.waitFor({ state: 'detached' })
        // The default falls back to the built-in one.
        await page.getByRole('button', { name: 'Default is the default', pressed: true }).waitFor()
      }),
  ],
  [
    'a queued message is taken back, changed, and sent in its turn',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run and wait')
      await card(page).waitFor()
      await message(page).fill('first thouhgt')
      await message(page).press('Enter')
      const queued = transcript(page).locator('.bubble.queued')
      await queued.getByRole('button', { name: 'Edit' }).click()
      await holds(message(page), 'first thouhgt')
      await queued.waitFor({ state: 'detached' })
      await message(page).fill('first thought')
      await message(page).press('Enter')
      await queued.getByText('first thought').waitFor()
      await page.evaluate(() => document.activeElement?.blur())
      await page.keyboard.press('y')
      await page.getByRole('region', { name: 'Turn 2, done' }).waitFor()
      assert((await transcript(page).getByText('first thouhgt').count()) === 0, 'it went out twice')
    },
  ],
  [
    'Cancel 1 denies what is parked and the turn goes on',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run something')
      await card(page).waitFor()
      await page.getByRole('button', { name: 'Cancel 1' }).click()
      await card(page).waitFor({ state: 'detached' })
      await page.getByRole('region', { name: 'Turn 1, done' }).waitFor()
    },
  ],
  [
    'everything is reached by keys: launch, palette, what waits, settings',
    async ({ service, open }) => {
      const page = await open()
      await signIn(page, service, '/settings/appearance')
      await page.getByRole('radiogroup', { name: 'Theme' }).waitFor()
      await page.keyboard.press('Alt+n')
      await task(page).waitFor()
      await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
      await page.keyboard.press('Alt+p')
      await page.waitForFunction(() => document.activeElement?.id === 'project-folder')
      await page.keyboard.press('Control+a')
      await page.keyboard.type(service.project)
      await page.keyboard.press('Escape')
      // Past the link of the notice that nothing is set up.
      await page.keyboard.press('Tab')
      await page.keyboard.press('Tab')
      await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
      await page.keyboard.type('run what waits for me')
      await enabled(launchButton(page))
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/agents\/c-/)
      const path = new URL(page.url()).pathname
      await card(page).waitFor()
      // Away, and back to what waits, from inside a field.
      await page.keyboard.press('Control+Shift+Digit1')
      await page.waitForURL(/\/agents$/)
      await page.waitForFunction(() => /^\(\d+\) /.test(document.title))
      await page.keyboard.press('Alt+j')
      await page.waitForURL((url) => url.pathname !== '/agents')
      await page.keyboard.press('Control+k')
      const palette = page.getByRole('dialog', { name: 'Command palette' })
      await palette.getByRole('combobox').waitFor()
      await page.keyboard.type('what waits for me')
      await palette
        .getByRole('option', { name: /run what waits for me/ })
        .first()
        .waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(service.base + path)
      await palette.waitFor({ state: 'detached' })
      await page.keyboard.press('Control+k')
      await palette.getByRole('combobox').waitFor()
      // Y is a letter in here and answers nothing.
      await page.keyboard.type('y')
      await page.keyboard.press('Escape')
      await palette.waitFor({ state: 'detached' })
      await card(page).waitFor()
      await page.evaluate(() => document.activeElement?.blur())
      await page.keyboard.press('n')
      await settled(page)
      await page.keyboard.press('?')
      await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
      await page.keyboard.press('/')
      await page.waitForFunction(() => document.activeElement?.id === 'settings-search')
      await page.keyboard.type('sidecar')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Reset the sidecar' }).waitFor()
    },
  ],
  [
    'the history finds what was said',
    async ({ service, open }) => {
      const page = await open()
      const path = await launch(page, service, 'mention the albatross once')
      await settled(page)
      await page.goto(`${service.base}/history`)
      await page.getByRole('textbox', { name: 'Search everything that was said' }).fill('ALBATROSS')
      const found = page.getByRole('list', { name: 'Found' })
      await found.getByText('albatross').first().waitFor()
      await audit(page)
      await found.getByRole('link').first().click()
      await page.waitForURL(service.base + path)
    },
  ],
  [
    'an end elsewhere is marked unread, counted in the title, and told once',
    async (tools) =>
      alone(tools, async (own) => {
        const page = await tools.open({ permissions: ['notifications'] })
        await page.context().addInitScript(() => {
          window.told = []
          window.Notification = class {
            static permission = 'granted'
            static requestPermission = () => Promise.resolve('granted')
            constructor(title, { body }) {
              window.told.push(`${title}: ${body}`)
            }
            close() {}
          }
        })
        await signIn(page, own, '/settings/notifications')
        await page.getByRole('switch', { name: 'Desktop notifications' }).click()
        await page.getByRole('switch', { name: /^Only while PacketBench/, checked: true }).click()
        const path = await launch(page, own, 'run for the news')
        await card(page).waitFor()
        const second = await page.context().newPage()
        await second.goto(`${own.base}/agents/new`)
        await list(second).getByRole('region', { name: 'Needs you' }).waitFor()
        await second.waitForFunction(() => document.title.startsWith('(1) '))
        // Both look elsewhere while it ends.
        await page.getByRole('link', { name: /New agent/ }).click()
        await task(page).waitFor()
        const third = await tools.open()
        await third.goto(own.url)
        await third.goto(own.base + path)
        await card(third)
          .getByRole('button', { name: /^Allow Y/ })
          .click()
        await list(second).getByRole('img', { name: 'unread' }).waitFor()
        await list(page).getByRole('img', { name: 'unread' }).waitFor()
        await second.waitForFunction(() => !document.title.startsWith('('))
        const told = [...(await page.evaluate(() => told)), ...(await second.evaluate(() => told))]
        assert(
          told.filter((t) => t.startsWith('Session Complete')).length <= 1 && told.length >= 1,
          told.join(' | '),
        )
        assert(new Set(told).size === told.length, `told twice: ${told.join(' | ')}`)
        await list(second)
          .getByRole('link', { name: /run for the news/ })
          .click()
        await list(second).getByRole('img', { name: 'unread' }).waitFor({ state: 'detached' })
        await list(page).getByRole('img', { name: 'unread' }).waitFor({ state: 'detached' })
      }),
  ],
  [
    'the look changes in every window of the browser, and stays',
    async ({ service, open }) => {
      const a = await open({ colorScheme: 'dark' })
      await signIn(a, service, '/settings/appearance')
      const b = await a.context().newPage()
      await b.goto(`${service.base}/agents/new`)
      await task(b).waitFor()
      const theme = (page, wanted) =>
        page.waitForFunction((t) => document.documentElement.dataset.theme === t, wanted)
      await theme(b, 'dark')
      await a.getByRole('radio', { name: 'Light' }).click()
      await a.getByRole('radio', { name: 'Cozy' }).click()
      await theme(a, 'light')
      await theme(b, 'light')
      await b.reload()
      await theme(b, 'light')
      assert(
        (await b.evaluate(() => document.documentElement.dataset.density)) === 'cozy',
        'the rows are not cozy',
      )
      await a.getByRole('radio', { name: 'System' }).click()
      await theme(b, 'dark')
    },
  ],
  [
    '/review shows a Reviewer the diff; /compact and /clear trim the view and say so',
    async (tools) =>
      alone(tools, async (own, home) => {
        const project = repository(home, 'harbor line')
        writeFileSync(join(project, 'src', 'lease.go'), 'package lease\n\nvar renewed = true\n')
        const provider = await scriptedProvider([
          { text: 'One.' },
          { text: 'Two.' },
          { text: 'Three.' },
          { text: 'Nothing to complain about.' },
        ])
        try {
          const page = await tools.open()
          await signIn(page, own)
          await rpc(page, 'set_settings', {
            providers: { custom_compat_base_url: provider.url, custom_compat_models: ['eye'] },
          })
          await page.reload()
          await page.getByRole('button', { name: /^Provider/ }).click()
          await page.getByRole('option', { name: /^Custom endpoint/ }).click()
          await launchFrom(page, 'first words', project)
          await transcript(page).getByText('One.').waitFor()
          for (const [words, answer] of [
            ['second words', 'Two.'],
            ['third words', 'Three.'],
          ]) {
            await settled(page)
            await message(page).fill(words)
            await message(page).press('Enter')
            await transcript(page).getByText(answer).waitFor()
          }
          await settled(page)
          const run = async (command) => {
            await message(page).click()
            await page.keyboard.type(`/${command}`)
            await page.getByRole('option', { name: new RegExp(`^/${command}`) }).waitFor()
            await page.keyboard.press('Enter')
          }
          await run('compact')
          const bar = page.getByText(/Only the local view was trimmed: 2 earlier messages/)
          await bar.waitFor()
          await transcript(page).getByText('first words').waitFor({ state: 'detached' })
          await page.reload()
          await bar.waitFor()
          await run('clear')
          await transcript(page).getByText('Three.').waitFor({ state: 'detached' })
          await page.getByRole('button', { name: 'Show all' }).click()
          await transcript(page).getByText('first words').waitFor()
          await run('review')
          await transcript(page).getByText('Nothing to complain about.').waitFor()
          const asked = JSON.stringify(provider.asked.at(-1))
          assert(asked.includes('+var renewed = true'), 'the Reviewer has not seen the diff')
          await page.getByRole('button', { name: 'Posture Plan' }).waitFor()
        } finally {
          await provider.stop()
        }
      }),
  ],
  [
    'a key is tried from the Settings, and the provider’s answer shown',
    async (tools) =>
      alone(tools, async (own) => {
        const server = createServer((request, response) => {
          const good = request.headers.authorization === 'Bearer sk-good-key-1234'
          response.writeHead(good ? 200 : 401, { 'content-type': 'application/json' })
          response.end(good ? '{"data":[]}' : '{"error":{"message":"no such key"}}')
        })
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
        try {
          const page = await tools.open()
          await signIn(page, own, '/settings/providers')
          await rpc(page, 'set_settings', {
            providers: {
              named_provider_base_urls: { openai: `http://127.0.0.1:${server.address().port}/v1` },
            },
          })
          const key = page.getByRole('group', { name: 'OpenAI', exact: true })
          const store = async (value) => {
            await key.getByRole('textbox', { name: 'OpenAI API key' }).fill(value)
            await key.getByRole('button', { name: 'Save' }).click()
            await key.getByText(new RegExp(`ends in ${value.slice(-4)}`)).waitFor()
            await key.getByRole('button', { name: 'Test' }).click()
          }
          await store('sk-bad-key-9999')
          await key.locator('[role=status].red').waitFor()
          await store('sk-good-key-1234')
          await key.locator('[role=status].green').waitFor()
          assert(!(await page.content()).includes('sk-good'), 'the page still holds the key')
          await audit(page)
        } finally {
          await new Promise((resolve) => server.close(resolve))
        }
      }),
  ],
  [
    'an image over 5 MB is refused in view, a small one goes out',
    async (tools) =>
      alone(tools, async (own) => {
        const provider = await scriptedProvider([{ text: 'Hello.' }, { text: 'A picture.' }])
        try {
          const page = await tools.open()
          await signIn(page, own)
          await rpc(page, 'set_settings', {
            providers: { custom_compat_base_url: provider.url, custom_compat_models: ['eye'] },
          })
          await page.reload()
          await page.getByRole('button', { name: /^Provider/ }).click()
          await page.getByRole('option', { name: /^Custom endpoint/ }).click()
          await folder(page).fill(own.project)
          await task(page).fill('hello')
          await enabled(launchButton(page))
          await launchButton(page).click()
          await page.waitForURL(/\/agents\/c-/)
          await settled(page)
          const paste = (name, bytes) =>
            message(page).evaluate(
              (el, [n, size]) => {
                const data = new DataTransfer()
                data.items.add(new File([new Uint8Array(size)], n, { type: 'image/png' }))
                el.dispatchEvent(
                  new ClipboardEvent('paste', {
                    clipboardData: data,
                    bubbles: true,
                    cancelable: true,
                  }),
                )
              },
              [name, bytes],
            )
          await paste('big.png', 5 * 1024 * 1024 + 1)
          await page.getByRole('alert').getByText('big.png is larger than 5 MB').waitFor()
          await paste('small.png', 200)
          await page.getByRole('button', { name: 'Remove small.png' }).waitFor()
          await page.getByRole('button', { name: 'Remove big.png' }).click()
          await message(page).fill('what is this')
          await message(page).press('Enter')
          await transcript(page)
            .getByText(/small\.png/)
            .waitFor()
          await transcript(page).getByText('A picture.').waitFor()
          assert(
            JSON.stringify(provider.asked.at(-1)).includes('data:image/png;base64,'),
            'the provider has not got the picture',
          )
        } finally {
          await provider.stop()
        }
      }),
  ],
  [
    'an input method’s Enter sends nothing',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'compose')
      await settled(page)
      const client = await page.context().newCDPSession(page)
      await message(page).focus()
      await client.send('Input.imeSetComposition', {
        text: 'にほん',
        selectionStart: 3,
        selectionEnd: 3,
      })
      await message(page).dispatchEvent('keydown', { key: 'Enter', keyCode: 229 })
      await client.send('Input.insertText', { text: '日本' })
      await holds(message(page), '日本')
      assert((await transcript(page).locator('.bubble').count()) === 1, 'the composition was sent')
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Turn 2, done' }).waitFor()
    },
  ],
  [
    'launching and steering look right in both themes at every width',
    async (tools) =>
      alone(tools, async (own, home) => {
        const project = repository(home, 'harborline')
        for (const colorScheme of ['dark', 'light']) {
          for (const [width, height] of [
            [1440, 900],
            [420, 900],
            [2560, 1300],
          ]) {
            const page = await tools.open({ colorScheme, viewport: { width, height } })
            // Names and places are the same in both themes.
            const shot = async (name) => {
              if (colorScheme === 'dark') await audit(page)
              await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`) })
            }
            await signIn(page, own)
            await folder(page).fill(project)
            await page.getByText('main', { exact: true }).waitFor()
            await task(page).fill(
              'TestRenew_KeepsLease is flaky. Find out why and fix it. Start in @src/lease.go',
            )
            await shot('steer-launch')
            await page.getByRole('button', { name: /^Advanced/ }).click()
            await page.getByRole('radio', { name: 'Manual' }).click()
            await page.getByRole('button', { name: /^Provider/ }).click()
            await page.getByRole('listbox', { name: 'Provider' }).waitFor()
            await shot('steer-launch-open')
            await task(page).fill('look at @')
            await page.getByRole('option', { name: 'README.md' }).waitFor()
            await shot('steer-files')
            for (const group of [
              'agents',
              'providers',
              'profiles',
              'appearance',
              'notifications',
              'engines',
              'shortcuts',
            ]) {
              await page.goto(`${own.base}/settings/${group}`)
              await page.locator('.set-body :is(.set, .key, .card, table)').first().waitFor()
              if (group === 'profiles') {
                await page.getByRole('article', { name: 'Scout' }).waitFor()
                const edit = page.getByRole('button', { name: /^Edit/ }).first()
                if ((await edit.count()) === 0) {
                  await page.getByRole('button', { name: 'Clone Scout' }).click()
                  await page.getByRole('form').waitFor()
                } else await edit.click()
              }
              await shot(`steer-settings-${group}`)
            }
            await page.goto(`${own.base}/agents/new`)
            await task(page).waitFor()
            await page.keyboard.press('Control+k')
            await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
            await page.getByRole('option').first().waitFor()
            await page.screenshot({
              path: join(shots, `steer-palette-${width}-${colorScheme}.png`),
            })
            await page.keyboard.press('Escape')
            await launch(page, own, 'run it', project)
            await page.getByRole('heading', { name: /run it/ }).waitFor()
            await message(page).click()
            await page.keyboard.type('/')
            await page.getByRole('option', { name: /^\/help/ }).waitFor()
            await shot('steer-commands')
            await page.goto(`${own.base}/history`)
            await page
              .getByRole('list', { name: 'Conversations' })
              .getByRole('link')
              .first()
              .waitFor()
            await shot('steer-history')
          }
        }
      }),
  ],
]
