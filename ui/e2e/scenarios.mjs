// scenarios.mjs: what a person does with the page, told step by step. Controls
// are found by role and name, as a person who cannot see finds them.
import { existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { audit } from './audit.mjs'
import { assert, shots } from './harness.mjs'

const message = (page) => page.getByRole('textbox', { name: 'Message' })
const card = (page) => page.getByRole('region', { name: 'Permission required: bash' })
const transcript = (page) => page.getByRole('log', { name: 'Transcript' })

const cutOff = (page) => page.getByRole('main').getByText('Reconnecting…')

/** Starts a demo conversation and waits for its pane. */
async function launch(page, service, words, mode) {
  await page.goto(service.url)
  await page.goto(`${service.base}/agents/new`)
  if (mode) {
    const advanced = page.getByRole('button', { name: /^Advanced/ })
    if ((await advanced.getAttribute('aria-expanded')) !== 'true') await advanced.click()
    await page.getByRole('radio', { name: mode }).click()
  }
  await page.getByRole('combobox', { name: 'Project folder' }).fill(service.project)
  await page.getByRole('textbox', { name: 'What would you like to work on?' }).fill(words)
  const button = page.getByRole('button', { name: /^Launch/ })
  await page.waitForFunction(
    (el) => el?.getAttribute('aria-disabled') === 'false',
    await button.elementHandle(),
  )
  await button.click()
  await page.waitForURL(/\/agents\/c-/)
  await message(page).waitFor()
  return new URL(page.url()).pathname
}

/** Waits until no turn runs and says how it stands. */
async function settled(page, word = 'Idle') {
  await page.locator('main header').getByText(word, { exact: true }).waitFor()
}

async function count(locator, n) {
  await locator
    .page()
    .waitForFunction(
      ([el, want]) => el.querySelectorAll('.bubble').length === want,
      [await transcript(locator.page()).elementHandle(), n],
    )
}

/** A WebSocket of the page in the test's hand: cut it, keep it cut, let it be. */
async function holdSocket(page) {
  const held = { cut: false, live: new Set() }
  await page.routeWebSocket(/\/ws$/, (ws) => {
    if (held.cut) {
      ws.close()
      return
    }
    ws.connectToServer()
    held.live.add(ws)
  })
  return {
    cut: async () => {
      held.cut = true
      for (const ws of held.live) await ws.close()
      held.live.clear()
    },
    mend: () => {
      held.cut = false
    },
  }
}

/** An OpenAI-compatible endpoint of this machine that says one sentence. */
async function fakeEndpoint(words) {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const say = (choice) =>
      response.write(`data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\n`)
    say({ delta: { role: 'assistant', content: words } })
    say({ delta: {}, finish_reason: 'stop' })
    response.end('data: [DONE]\n\n')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

export const scenarios = [
  [
    'a fresh machine is offered the demo',
    async ({ service, open }) => {
      const page = await open()
      await page.goto(service.url)
      assert(!page.url().includes('token'), 'the token stayed in the address')
      assert(
        (await page.evaluate(() => document.cookie)) === '',
        'the page can read the cookie that signs it in',
      )
      await page
        .getByText('No provider is set up yet — this demo runs offline. Add a key in Settings.')
        .waitFor()
      await page.getByRole('button', { name: 'Provider Offline demo (scripted)' }).click()
      const shelf = page.getByRole('listbox', { name: 'Provider' })
      for (const group of ['Anthropic', 'OpenAI', 'Other']) {
        await shelf.getByRole('group', { name: group }).waitFor()
      }
      // A row that is not ready may be looked at, and says what is missing.
      await shelf.getByRole('option', { name: /^Claude \(API\)/ }).click()
      await page.getByRole('textbox', { name: 'What would you like to work on?' }).fill('x')
      const button = page.getByRole('button', { name: 'Launch' })
      assert(
        (await button.getAttribute('aria-disabled')) === 'true',
        'Launch is enabled without a key',
      )
      assert(((await button.getAttribute('title')) ?? '').length > 6, 'Launch does not say why')
    },
  ],
  [
    'a conversation of 2,000 messages opens at its end and takes typing',
    async ({ service, open }) => {
      const page = await open()
      await page.goto(service.url)
      // F76: only what is near the view is in the page, however long it is.
      const history = Array.from({ length: 2000 }, (_, i) => ({
        role: i % 2 === 0 ? 'user' : 'assistant',
        content: i % 2 === 0 ? `question ${i}` : `answer ${i} with **bold** words`,
      }))
      const answer = await page.evaluate(
        async ([project, messages]) => {
          const reply = await fetch('/rpc', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({
              jsonrpc: '2.0',
              id: 1,
              method: 'start_api_agent_session',
              params: {
                session_id: 'long-history',
                provider: 'demo',
                model: 'demo',
                project_path: project,
                initial_message: '',
                resume_messages: messages,
              },
            }),
          })
          return reply.json()
        },
        [service.project, history],
      )
      assert(answer.result?.session_id === 'long-history', JSON.stringify(answer))
      await page.goto(`${service.base}/agents/long-history`)
      await transcript(page).getByText('answer 1999').waitFor()
      await message(page).fill('still quick to type into')
      const mounted = await transcript(page).evaluate((el) => el.querySelectorAll('.bubble').length)
      assert(mounted > 0 && mounted < 200, `${mounted} messages are in the page`)
      await message(page).fill('')
    },
  ],
  [
    'a prompt is answered in a second window',
    async ({ service, open }) => {
      const a = await open()
      const path = await launch(a, service, 'Please run a command')
      await card(a).waitFor()
      const b = await open()
      await b.goto(service.url)
      await b.goto(service.base + path)
      await card(b).waitFor()
      // F47: what was typed in the first window is in the second.
      await transcript(b).getByText('Please run a command').waitFor()
      // F45: one answer, and both windows know.
      await card(b)
        .getByRole('button', { name: /^Allow Y/ })
        .click()
      await a.getByText('Answered in another window').waitFor()
      await card(a).waitFor({ state: 'detached' })
      await settled(a)
      await settled(b)
      await transcript(a).getByText('exit 0').waitFor()
      assert(
        !(await b.getByText('Answered in another window').isVisible()),
        'B took its own answer for another’s',
      )
    },
  ],
  [
    'a reload keeps the prompt, and Y answers it',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run it')
      await card(page).waitFor()
      await page.reload()
      await card(page).waitFor()
      // Typing a y is typing.
      await message(page).fill('')
      await message(page).press('y')
      assert(await card(page).isVisible(), 'a typed y answered the prompt')
      await message(page).fill('')
      await page.evaluate(() => document.activeElement?.blur())
      await page.keyboard.press('y')
      await card(page).waitFor({ state: 'detached' })
      await settled(page)
    },
  ],
  [
    'a reload shows what the events had shown',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run and edit please')
      await card(page).waitFor()
      await page.evaluate(() => document.activeElement?.blur())
      await page.keyboard.press('y')
      await settled(page)
      const shown = () => transcript(page).innerText()
      await page.waitForFunction(
        (el) => el.querySelector('.md') !== null,
        await transcript(page).elementHandle(),
      )
      const live = await shown()
      await page.reload()
      await page.locator('.md').first().waitFor()
      await page.waitForFunction(
        ([el, want]) => el.innerText === want,
        [await transcript(page).elementHandle(), live],
      )
    },
  ],
  [
    'a denial with a reason goes on with the turn',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run something')
      await card(page).getByRole('button', { name: 'with reason…' }).click()
      await page.getByRole('textbox', { name: 'Reason' }).fill('not today')
      await page.getByRole('button', { name: 'Deny & steer' }).click()
      await card(page).waitFor({ state: 'detached' })
      await transcript(page).getByText('denied by you').waitFor()
      await settled(page)
    },
  ],
  [
    'a dropped connection catches up and sends once',
    async ({ service, open }) => {
      const page = await open()
      const socket = await holdSocket(page)
      await launch(page, service, 'run before the cut')
      await card(page).waitFor()
      await socket.cut()
      await cutOff(page).waitFor()
      // F41: what is typed while cut off waits where one can see it.
      await message(page).fill('sent while away')
      await message(page).press('Enter')
      await transcript(page).getByText('Not sent yet').waitFor()
      // Meanwhile somebody else answers, and the turn goes on.
      const b = await open()
      await b.goto(service.url)
      await b.goto(service.base + new URL(page.url()).pathname)
      await card(b)
        .getByRole('button', { name: /^Allow Y/ })
        .click()
      await settled(b)
      socket.mend()
      await page.getByText('Reconnected. Nothing was lost.').waitFor()
      await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
      // F38: the missed part of the turn is there without a reload.
      await card(page).waitFor({ state: 'detached' })
      await transcript(page).getByText('Not sent yet').waitFor({ state: 'detached' })
      await settled(b)
      await settled(page)
      assert(
        (await transcript(b).getByText('sent while away', { exact: true }).count()) === 1,
        'the message arrived twice, or not at all',
      )
    },
  ],
  [
    'a message during a turn is queued and goes in its turn',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run first')
      await card(page).waitFor()
      await message(page).fill('and then this')
      await message(page).press('Enter')
      await transcript(page).getByText('(queued)').waitFor()
      await page.evaluate(() => document.activeElement?.blur())
      await page.keyboard.press('y')
      await transcript(page).getByText('(queued)').waitFor({ state: 'detached' })
      await count(transcript(page), 2)
      await settled(page)
      await page.getByRole('region', { name: 'Turn 2, done' }).waitFor()
    },
  ],
  [
    'Stop ends the turn and drops the queue',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'run until stopped')
      await card(page).waitFor()
      await message(page).fill('never')
      // Y and N are letters in here, and are not offered as keys.
      assert(!(await page.locator('.answer-keys').first().isVisible()), 'a field offers Y and N')
      await message(page).press('Enter')
      await transcript(page).getByText('(queued)').waitFor()
      await page.evaluate(() => document.activeElement?.blur())
      await page.locator('.answer-keys').first().waitFor()
      await page.getByRole('button', { name: 'Stop turn' }).click()
      await settled(page)
      await page.getByText('Stopped.', { exact: true }).waitFor()
      await count(transcript(page), 1)
      assert((await message(page).inputValue()) === 'never', 'the queued text is lost')
      await card(page).waitFor({ state: 'detached' })
    },
  ],
  [
    'an edit waits for review and is kept',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'hello')
      await settled(page)
      await page.getByRole('button', { name: 'Choose a posture' }).click()
      await page.getByRole('menuitemcheckbox', { name: /Approve writes/ }).click()
      await page.getByRole('button', { name: /approve writes on/ }).waitFor()
      await message(page).fill('edit the file')
      await message(page).press('Enter')
      const edit = page.getByRole('region', { name: /^Edit to review/ })
      await edit.getByRole('button', { name: /^Keep/ }).click()
      await edit.waitFor({ state: 'detached' })
      await settled(page)
      assert(existsSync(join(service.project, 'packetbench-demo.md')), 'the file was not written')
    },
  ],
  [
    'a failed turn says so and offers to retry',
    async ({ service, open }) => {
      const page = await open()
      await launch(page, service, 'fail, would you')
      await settled(page, 'Failed')
      await page.getByText('Last turn failed.').waitFor()
      await page.getByRole('button', { name: 'Retry' }).click()
      // What the answer had before the failing request is kept as turn 1.
      await page.getByRole('region', { name: 'Turn 2, failed' }).waitFor()
      await page.getByRole('region', { name: 'Turn 1, failed, retried' }).waitFor()
      await count(transcript(page), 1)
    },
  ],
  [
    'a key is saved in Settings, shown by its end, and makes its row ready',
    async ({ open, bin, freshHome, startService }) => {
      const own = await startService({ bin, home: freshHome() })
      try {
        const page = await open()
        await page.goto(own.url)
        await page.getByRole('link', { name: 'Settings' }).first().click()
        const key = page.getByRole('group', { name: 'Anthropic' })
        await key.getByText('No key is stored.').waitFor()
        await key.getByRole('textbox', { name: 'Anthropic API key' }).fill('sk-ant-test-abcd1234')
        await key.getByRole('button', { name: 'Save' }).click()
        await key.getByText(/ends in 1234/).waitFor()
        assert(
          !(await page.content()).includes('abcd1234'),
          'the page still holds the key after it was saved',
        )
        await page.goto(`${own.base}/agents/new`)
        // One key makes both Anthropic rows ready; the SDK's comes first where it is installed.
        await page.getByRole('button', { name: /^Provider Claude( Agent SDK)? \(API\)/ }).waitFor()
        await page.goto(`${own.base}/settings`)
        await key.getByRole('button', { name: 'Remove' }).click()
        await key.getByRole('button', { name: 'Remove the key' }).click()
        await key.getByText('No key is stored.').waitFor()
        await audit(page)
      } finally {
        await own.stop()
      }
    },
  ],
  [
    'a custom endpoint is set in Settings, becomes ready and answers',
    async ({ open, bin, freshHome, startService }) => {
      const fake = await fakeEndpoint('Hello from the fake endpoint.')
      const own = await startService({ bin, home: freshHome() })
      try {
        const page = await open()
        await page.goto(own.url)
        await page.goto(`${own.base}/settings`)
        const url = page.getByRole('textbox', { name: 'Custom endpoint base URL' })
        await url.fill('ftp://nowhere')
        await page.getByRole('button', { name: 'Save Custom endpoint base URL' }).click()
        await page.getByRole('alert').waitFor()
        assert((await url.getAttribute('aria-invalid')) === 'true', 'the field is not marked')
        await url.fill(fake.url)
        await page.getByRole('button', { name: 'Save Custom endpoint base URL' }).click()
        await page.getByText('Saved.').waitFor()
        const models = page.getByRole('textbox', { name: 'Custom endpoint models' })
        await models.fill('fake-small\nfake-big')
        await page.getByRole('button', { name: 'Save Custom endpoint models' }).click()
        await page.getByText('Saved.').nth(1).waitFor()
        await audit(page)
        await page.reload()
        await page.waitForFunction((el) => el.value !== '', await url.elementHandle())
        assert((await url.inputValue()) === fake.url, 'the URL is not what was saved')
        await page.goto(`${own.base}/agents/new`)
        await page.getByRole('button', { name: /^Provider/ }).click()
        await page.getByRole('option', { name: /^Custom endpoint.*Ready/ }).click()
        assert(
          (await page.getByText(/No provider is set up yet/).count()) === 0,
          'a ready custom endpoint counts for nothing',
        )
        await page.getByRole('textbox', { name: 'What would you like to work on?' }).fill('hi')
        const project = page.getByRole('combobox', { name: 'Project folder' })
        await project.fill(join(own.project, 'is-not-there'))
        await page.getByRole('button', { name: /^Launch/ }).click()
        await page.locator('#project-error').waitFor()
        assert((await project.getAttribute('aria-invalid')) === 'true', 'the folder is not marked')
        assert(
          !(await page.locator('#project-error').innerText()).includes('project_path'),
          'a name of the wire is shown',
        )
        await project.fill(own.project)
        await page.locator('#project-error').waitFor({ state: 'detached' })
        await page.getByRole('button', { name: /^Launch/ }).click()
        await transcript(page).getByText('Hello from the fake endpoint.').waitFor()
        await page.goto(`${own.base}/settings`)
        await page.getByRole('button', { name: 'Reset Custom endpoint base URL' }).click()
        await page.getByText('Back to the default.').waitFor()
      } finally {
        await own.stop()
        await fake.stop()
      }
    },
  ],
  [
    'a prompt that a crash interrupted says so',
    async ({ open, bin, freshHome, startService }) => {
      const home = freshHome()
      const first = await startService({ bin, home })
      let second
      try {
        const page = await open()
        const path = await launch(page, first, 'run into a restart')
        await card(page).waitFor()
        await first.kill()
        second = await startService({ bin, home })
        await page.goto(second.url)
        await page.goto(second.base + path)
        await transcript(page).locator('.tool').getByText('interrupted').waitFor()
        await page.getByRole('region', { name: 'Turn 1, interrupted' }).waitFor()
      } finally {
        await first.stop()
        await second?.stop()
      }
    },
  ],
  [
    'rename, archive and delete',
    async ({ service, open }) => {
      const page = await open()
      const path = await launch(page, service, 'short one')
      await settled(page)
      const menu = page.getByRole('button', { name: 'Conversation menu' })
      await menu.click()
      await page.getByRole('menuitem', { name: /^Rename/ }).click()
      await page.getByRole('textbox', { name: 'Title' }).fill('A better title')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'A better title' }).waitFor()
      await menu.click()
      await page.getByRole('menuitem', { name: 'Archive' }).click()
      await page.getByRole('status').getByText('Archived', { exact: true }).waitFor()
      await page.locator('main header').getByText('Archived', { exact: true }).waitFor()
      await page.getByRole('tab', { name: /^Archived/ }).click()
      const list = page.getByRole('complementary', { name: 'Conversations' })
      await list.getByRole('link', { name: /A better title/ }).waitFor()
      await menu.click()
      await page.getByRole('menuitem', { name: 'Delete…' }).click()
      await page
        .getByRole('dialog', { name: 'Delete conversation?' })
        .getByRole('button', { name: 'Delete' })
        .click()
      await page.waitForURL(/\/agents\/new/)
      await page.goto(service.base + path)
      await page.getByText('Conversation not found').waitFor()
    },
  ],
  [
    'a Monitor watches and has no control',
    async ({ service, open }) => {
      const page = await open()
      const path = await launch(page, service, 'run for the monitor')
      await card(page).waitFor()
      const watcher = await open()
      await watcher.goto(`${service.base}/?token=${service.run().monitor_token}`)
      await watcher.goto(service.base + path.replace('/agents/', '/monitor/'))
      await watcher.getByText('Read-only Monitor').waitFor()
      await card(watcher).waitFor()
      assert((await watcher.getByRole('textbox').count()) === 0, 'there is something to type into')
      assert(
        (await watcher.getByRole('button', { name: /Allow|Deny|Stop|Send/ }).count()) === 0,
        'there is an answer to give',
      )
      await page.evaluate(() => document.activeElement?.blur())
      await page.keyboard.press('n')
      await card(watcher).waitFor({ state: 'detached' })
      await settled(page)
    },
  ],
  [
    'a page that was signed out says how to come back',
    async ({ open, bin, freshHome, startService }) => {
      const home = freshHome()
      const first = await startService({ bin, home })
      let second
      try {
        const page = await open()
        await launch(page, first, 'hello there')
        await settled(page)
        await first.stop()
        // F40: the page goes on trying, visibly.
        await cutOff(page).waitFor()
        // Without its key the next start knows no page of before.
        rmSync(join(home, 'data', 'page.key'))
        second = await startService({ bin, home, addr: new URL(first.base).host })
        await page.getByText('packetbench url').waitFor()
        await page.goto(second.url)
        const list = page.getByRole('complementary', { name: 'Conversations' })
        await list.getByRole('link', { name: /hello there/ }).click()
        await transcript(page).getByText('hello there').waitFor()
      } finally {
        await first.stop()
        await second?.stop()
      }
    },
  ],
  [
    'a reader who scrolled up is not moved',
    async ({ service, open }) => {
      const page = await open({ viewport: { width: 900, height: 420 } })
      await launch(page, service, 'one')
      await settled(page)
      for (const words of ['two', 'three']) {
        await message(page).fill(words)
        await message(page).press('Enter')
        await page.getByRole('region', { name: `Turn ${words === 'two' ? 2 : 3}, done` }).waitFor()
      }
      const log = page.locator('.log')
      await log.evaluate((el) => (el.scrollTop = 40))
      await page.getByRole('button', { name: /^(Latest|\d+ new)$/ }).waitFor()
      const before = await log.evaluate((el) => el.scrollTop)
      await message(page).fill('four')
      await message(page).press('Enter')
      await page.getByRole('button', { name: /^\d+ new$/ }).waitFor()
      await settled(page)
      const after = await log.evaluate((el) => el.scrollTop)
      assert(Math.abs(after - before) < 4, `the view moved from ${before} to ${after}`)
      await page.getByRole('button', { name: /new$/ }).click()
      await page.getByRole('button', { name: /^(Latest|\d+ new)$/ }).waitFor({ state: 'detached' })
    },
  ],
  [
    'roles, names and widths, in both themes',
    async ({ service, open }) => {
      for (const colorScheme of ['dark', 'light']) {
        for (const [width, height] of [
          [1440, 900],
          [420, 900],
          [360, 740],
        ]) {
          const page = await open({ colorScheme, viewport: { width, height } })
          const shot = (name) =>
            page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`) })
          const path = await launch(page, service, 'run it for the picture')
          await card(page).waitFor()
          assert(
            (await page.evaluate(() => document.documentElement.dataset.theme)) === colorScheme,
            'the theme is not the system’s',
          )
          await audit(page)
          await shot('conversation')
          await page.evaluate(() => document.activeElement?.blur())
          await page.keyboard.press('y')
          await settled(page)
          await page.getByText(/exit 0/).waitFor()
          await shot('answered')
          await page.goto(`${service.base}/agents/new`)
          await page.getByRole('button', { name: /^Provider/ }).click()
          await page.getByRole('listbox', { name: 'Provider' }).waitFor()
          await audit(page)
          await shot('launch')
          await page.goto(`${service.base}/settings`)
          await page.getByRole('textbox', { name: 'Custom endpoint models' }).waitFor()
          await audit(page)
          await shot('settings')
          await page.getByRole('textbox', { name: 'Custom endpoint models' }).focus()
          await shot('settings-end')
          await page.goto(`${service.base}/agents`)
          await page.getByRole('navigation', { name: 'Views' }).waitFor()
          await page
            .getByRole('complementary', { name: 'Conversations' })
            .getByRole('link')
            .first()
            .waitFor()
          await audit(page)
          await shot('list')
          await page.goto(service.base + path)
          await message(page).waitFor()
          await page.getByRole('button', { name: 'Choose a posture' }).click()
          await page.getByRole('menuitemradio', { name: /Yolo/ }).waitFor()
          await audit(page)
          await shot('posture')
        }
      }
    },
  ],
]
