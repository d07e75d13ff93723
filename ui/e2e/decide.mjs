// decide.mjs: permissions, plans, review and the transcript, as a person meets
// them. Controls are found by role and name.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { audit } from './audit.mjs'
import { assert } from './harness.mjs'
import { converse, rpc, scriptedProvider, until } from './provider.mjs'

const message = (page) => page.getByRole('textbox', { name: 'Message' })
const transcript = (page) => page.getByRole('log', { name: 'Transcript' })
const review = (page) => page.getByRole('region', { name: 'Review' })
const card = (page, tool = 'bash') =>
  page.getByRole('region', { name: `Permission required: ${tool}` })
const settled = (page, word = 'Idle') =>
  page.locator('main header').getByText(word, { exact: true }).waitFor()
const leaveField = (page) => page.evaluate(() => document.activeElement?.blur())

const lines = (change = {}) =>
  Array.from({ length: 60 }, (_, i) => `${change[i] ?? `line ${i}`}\n`).join('')
const five = { 5: 'five', 15: 'fifteen', 25: 'twenty-five', 35: 'thirty-five', 45: 'forty-five' }

/** A service of its own whose provider plays the steps. */
async function scripted({ bin, freshHome, startService }, steps, work) {
  const provider = await scriptedProvider(steps)
  const home = freshHome()
  let own = await startService({ bin, home })
  const file = (name) => join(own.project, name)
  try {
    await work({
      own,
      provider,
      file,
      read: (name) => readFileSync(file(name), 'utf8'),
      write: (name, text) => writeFileSync(file(name), text),
      restart: async () => {
        await own.stop()
        own = await startService({ bin, home })
        return own
      },
    })
  } finally {
    await own.stop()
    await provider.stop()
  }
}

export const scenarios = [
  [
    'two of five hunks are kept and a comment goes out, with the keys alone',
    async (world) => {
      const steps = [
        { calls: [['write_file', { path: 'five.txt', content: lines(five) }]] },
        { text: 'Written.' },
        { text: 'Understood.' },
      ]
      await scripted(world, steps, async ({ own, provider, read, write }) => {
        write('five.txt', lines())
        const page = await world.open()
        await converse(page, own, 'change it', { provider, approve_writes: true })
        await page.getByRole('region', { name: 'Edit to review: five.txt' }).waitFor()
        await leaveField(page)
        await page.keyboard.press('Alt+r')
        const file = page.getByRole('article', { name: 'five.txt, pending' })
        await file.getByRole('checkbox').nth(4).waitFor()
        // The second and the fourth stay.
        await page.keyboard.press('x')
        for (const key of ['j', 'j', 'x', 'j', 'j', 'x']) await page.keyboard.press(key)
        await file.getByRole('button', { name: /^Keep 2\/5/ }).waitFor()
        await audit(page)
        await page.keyboard.press('k')
        await page.keyboard.press('c')
        await page.getByRole('textbox', { name: 'Comment' }).fill('Say thirty and five.')
        await page.keyboard.press('Enter')
        await page.getByRole('list', { name: 'Comments for the next message' }).waitFor()
        await page.keyboard.press('y')
        await file.waitFor({ state: 'detached' })
        await until(
          () => read('five.txt') === lines({ 15: 'fifteen', 35: 'thirty-five' }),
          'the file does not hold just the two hunks',
        )
        await page.keyboard.press('Escape')
        await review(page).waitFor({ state: 'detached' })
        await settled(page)
        await message(page).focus()
        await page.keyboard.type('One more thing')
        await page.keyboard.press('Enter')
        await transcript(page).getByText('Understood.').waitFor()
        const last = JSON.stringify(provider.asked.at(-1).messages.at(-1))
        assert(last.includes('File comments:'), `the remark did not go out: ${last}`)
        assert(last.includes('five.txt:36 — Say thirty and five.'), last)
        assert(last.includes('One more thing'), last)
        assert(
          (await page.getByRole('list', { name: 'Comments for the next message' }).count()) === 0,
          'the remark still waits',
        )
      })
    },
  ],
  [
    'a hunk is undone after a restart, and a foreign edit is never overwritten',
    async (world) => {
      const steps = [
        { calls: [['write_file', { path: 'five.txt', content: lines(five) }]] },
        { text: 'Written.' },
      ]
      await scripted(world, steps, async ({ own, provider, read, write, restart }) => {
        write('five.txt', lines())
        const page = await world.open()
        const id = await converse(page, own, 'change it', {
          provider,
          permission_mode: 'allow_all',
        })
        await transcript(page).getByText('Written.').waitFor()
        await settled(page)
        // Three ways in: the chip of the edit, the header, the bar.
        await page.getByRole('button', { name: /^five\.txt/ }).click()
        await review(page).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('button', { name: /^Review changes/ }).click()
        await review(page).waitFor()
        await page.keyboard.press('Escape')
        const again = await restart()
        await page.goto(again.url)
        await page.goto(`${again.base}/agents/${id}`)
        await page.getByRole('button', { name: /^1 file/ }).click()
        const file = page.getByRole('article', { name: 'five.txt, applied' })
        await file.getByText('Hunk 5 @ line 46').waitFor()
        await file.getByRole('button', { name: 'Undo', exact: true }).nth(1).click()
        const { 15: _undone, ...four } = five
        await file.getByText('Hunk 5 @ line 46').waitFor({ state: 'detached' })
        assert(read('five.txt') === lines(four), 'the other hunks were not kept')
        // Somebody else writes the file while it is shown.
        const theirs = lines({ ...four, 50: 'theirs' })
        write('five.txt', theirs)
        await file.getByRole('button', { name: 'Undo all' }).click()
        await file.getByText('theirs').waitFor()
        assert(read('five.txt') === theirs, 'a foreign edit was overwritten')
        await file.getByText('changed outside', { exact: true }).waitFor()
      })
    },
  ],
  [
    'Viewed folds a file until its content changes',
    async (world) => {
      const steps = [
        { calls: [['write_file', { path: 'a.txt', content: 'one\n' }]] },
        { text: 'First.' },
        { calls: [['write_file', { path: 'a.txt', content: 'two\n' }]] },
        { text: 'Second.' },
      ]
      await scripted(world, steps, async ({ own, provider, write }) => {
        write('a.txt', 'zero\n')
        const page = await world.open()
        await converse(page, own, 'once', { provider, permission_mode: 'allow_all' })
        await transcript(page).getByText('First.').waitFor()
        await settled(page)
        await page.getByRole('button', { name: /^1 file/ }).click()
        await page.getByRole('checkbox', { name: 'Viewed' }).click()
        await page.getByText('1 of 1 viewed').waitFor()
        await page.reload()
        await page.getByRole('button', { name: /^1 file/ }).click()
        await page.getByText('1 of 1 viewed').waitFor()
        await message(page).fill('again')
        await message(page).press('Enter')
        await page.getByText('0 of 1 viewed').waitFor()
        await page.getByRole('article', { name: 'a.txt, applied' }).getByText('two').waitFor()
      })
    },
  ],
  [
    'three calls at once give three cards, counted, and one word for all',
    async (world) => {
      const steps = [
        {
          calls: [1, 2, 3].map((n) => ['bash', { command: `printf ${n} > said-${n}.txt` }]),
        },
        { text: 'All three.' },
      ]
      await scripted(world, steps, async ({ own, provider, read }) => {
        // F51: each of them can be answered; F45: in either window.
        const a = await world.open()
        const id = await converse(a, own, 'three', { provider })
        const rollup = a.getByRole('group', { name: 'Pending tool permissions' })
        await rollup.getByText('3 pending tool permissions').waitFor()
        const b = await world.open()
        await b.goto(own.url)
        await b.goto(`${own.base}/agents/${id}`)
        await b.getByRole('group', { name: 'Pending tool permissions' }).waitFor()
        await leaveField(b)
        await b.keyboard.press('y')
        await rollup.getByText(/^2 /).waitFor()
        await rollup.getByRole('button', { name: 'Allow all' }).click()
        await transcript(a).getByText('All three.').waitFor()
        await settled(b)
        assert(
          [1, 2, 3].every((n) => read(`said-${n}.txt`) === String(n)),
          'a call did not run',
        )
        assert((await card(a).count()) === 0, 'a card is left')
      })
    },
  ],
  [
    'Y answers nothing in the review while a permission waits',
    async (world) => {
      const steps = [
        {
          calls: [
            ['write_file', { path: 'a.txt', content: 'new\n' }],
            ['bash', { command: 'printf x > ran.txt' }],
          ],
        },
        { text: 'Done with both.' },
      ]
      await scripted(world, steps, async ({ own, provider, read, write }) => {
        write('a.txt', 'old\n')
        const page = await world.open()
        await converse(page, own, 'both', { provider, approve_writes: true })
        await card(page).waitFor()
        await page.getByRole('button', { name: /awaiting review/ }).click()
        const file = page.getByRole('article', { name: 'a.txt, pending' })
        await file.waitFor()
        await leaveField(page)
        await page.keyboard.press('y')
        await page.keyboard.press('n')
        await page.getByText('1 permission waits in the transcript').waitFor()
        assert(await file.isVisible(), 'the edit was answered')
        assert(read('a.txt') === 'old\n', 'the edit was written')
        await page.getByRole('button', { name: 'Show' }).click()
        await card(page).waitFor()
        await page.keyboard.press('n')
        await card(page).waitFor({ state: 'detached' })
        await page.keyboard.press('y')
        await transcript(page).getByText('Done with both.').waitFor()
        await until(() => read('a.txt') === 'new\n', 'the edit was not written')
      })
    },
  ],
  [
    'a pattern is granted, answers the next call, and is taken back',
    async (world) => {
      const ask = { calls: [['bash', { command: 'git status --short' }]] }
      const steps = [ask, { text: 'One.' }, ask, { text: 'Two.' }, ask, { text: 'Three.' }]
      await scripted(world, steps, async ({ own, provider }) => {
        const page = await world.open()
        await converse(page, own, 'first', { provider })
        await card(page).getByRole('button', { name: 'Allow with a wider scope' }).click()
        await page.getByRole('menuitem', { name: /Always allow Bash\(git status:\*\)/ }).click()
        await transcript(page).getByText('One.').waitFor()
        await settled(page)
        await message(page).fill('second')
        await message(page).press('Enter')
        await transcript(page).getByText('Two.').waitFor()
        await settled(page)
        await page.getByRole('button', { name: 'Conversation menu' }).click()
        await page.getByRole('menuitem', { name: 'Stop allowing Bash(git status:*)' }).click()
        await message(page).fill('third')
        await message(page).press('Enter')
        await card(page).waitFor()
        await card(page)
          .getByRole('button', { name: /^Deny N/ })
          .click()
        await transcript(page).getByText('Three.').waitFor()
        await transcript(page).getByText('denied by you').waitFor()
      })
    },
  ],
  [
    'a plan is approved with a key, and plan mode is over',
    async ({ service, open }) => {
      const page = await open()
      await converse(page, service, 'plan the edit', { plan_mode: true })
      await page.getByRole('group', { name: 'Approve and proceed with this plan?' }).waitFor()
      await audit(page)
      await leaveField(page)
      await page.keyboard.press('1')
      await page.getByRole('region', { name: /^Turn 2/ }).waitFor()
      await page.getByRole('button', { name: /^Posture Default/ }).waitFor()
    },
  ],
  [
    'a message is sent again in another way, and another one is rewound',
    async ({ service, open }) => {
      const page = await open()
      const id = await converse(page, service, 'hello there')
      await settled(page)
      await message(page).fill('second message')
      await message(page).press('Enter')
      await page.getByRole('region', { name: 'Turn 2, done' }).waitFor()
      await settled(page)
      await transcript(page).getByText('hello there').hover()
      await page.getByRole('button', { name: 'Edit and resend' }).first().click()
      await page.getByRole('textbox', { name: 'Message to resend' }).fill('good morning')
      await page.keyboard.press('Control+Enter')
      await page.waitForURL((url) => url.pathname !== `/agents/${id}`)
      await transcript(page).getByText('good morning').waitFor()
      await settled(page)
      assert((await page.getByText('second message').count()) === 0, 'the fork holds too much')
      await page.goto(`${service.base}/agents/${id}`)
      await transcript(page).getByText('second message').waitFor()
      await transcript(page).getByText('hello there').hover()
      await page.getByRole('button', { name: 'Restore' }).first().click()
      await page.getByRole('button', { name: 'Restore and re-run' }).click()
      await transcript(page).getByText('second message').waitFor({ state: 'detached' })
      await page.getByRole('region', { name: 'Turn 1, done' }).waitFor()
      await settled(page)
    },
  ],
  [
    'a word is found in a conversation of 2,000 messages, and the reader stays there',
    async ({ service, open }) => {
      const page = await open()
      await page.goto(service.url)
      const messages = Array.from({ length: 2000 }, (_, i) => ({
        role: i % 2 === 0 ? 'user' : 'assistant',
        content: i === 300 ? 'the needle is here' : `message ${i} of many`,
      }))
      await rpc(page, 'start_api_agent_session', {
        session_id: 'find-in-long',
        provider: 'demo',
        model: 'demo',
        project_path: service.project,
        initial_message: '',
        resume_messages: messages,
      })
      await page.goto(`${service.base}/agents/find-in-long`)
      await transcript(page).getByText('message 1999 of many').waitFor()
      assert((await page.getByText('the needle').count()) === 0, 'all of it is in the page')
      await page.keyboard.press('Control+f')
      await page.getByRole('textbox', { name: 'Search in this conversation' }).fill('NEEDLE')
      await page.getByText('1 of 1', { exact: true }).waitFor()
      await transcript(page).getByText('the needle is here').waitFor()
      await page.getByRole('button', { name: /^(Latest|\d+ new)$/ }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('search').waitFor({ state: 'detached' })
      assert(await page.getByText('the needle is here').isVisible(), 'the reader was moved')
    },
  ],
  [
    'the density of the transcript changes with a key, everywhere and for good',
    async ({ service, open }) => {
      const page = await open()
      await converse(page, service, 'run it', { permission_mode: 'allow_all' })
      await settled(page)
      const command = transcript(page).getByRole('button', { name: /echo hello/ })
      await command.waitFor()
      assert((await command.getAttribute('aria-expanded')) === 'false', 'Normal begins open')
      await leaveField(page)
      await page.keyboard.press('Control+Shift+O')
      await transcript(page).locator('button[aria-expanded="true"]').first().waitFor()
      await page.keyboard.press('Control+Shift+O')
      await command.waitFor({ state: 'detached' })
      await transcript(page).getByText('echo hello').waitFor()
      await page.reload()
      await transcript(page).getByText('echo hello').waitFor()
      assert((await command.count()) === 0, 'the density was forgotten')
      await page.keyboard.press('Control+Shift+O')
    },
  ],
]
