// speed.mjs: how quick a conversation is, against a page that shows the same
// text and nothing else, in the same run and browser. The service is the
// mock's, so that only the page is measured.
//
//   node e2e/speed.mjs [seconds of streaming, 30]
import { startMock } from '../test/mock.mjs'
import { launchBrowser } from './harness.mjs'

const streamMs = Number(process.argv[2] ?? 30) * 1000
const perSecond = 2000
const tickMs = 20
const words = 'The lease is granted once and its deadline is fixed then. '
/** What a model writes: paragraphs, a list now and then, some code. */
const piece = (i) =>
  i % 400 === 399
    ? '\n\n```go\nfunc main() {\n\tprintln("x")\n}\n```\n\n'
    : i % 60 === 59
      ? '\n\n- **one** item with `code`\n- another\n\n'
      : words.slice((i * 6) % 50, ((i * 6) % 50) + 6)

const history = (n) =>
  Array.from({ length: n }, (_, i) =>
    i % 2 === 0
      ? {
          id: `m-${i}`,
          role: 'user',
          content: `question ${i}: what about the lease?`,
          timestamp: 1,
        }
      : {
          id: `t-${i}`,
          turn_id: `t-${i}`,
          role: 'assistant',
          content: `answer ${i} with **bold** words.\n\n- one\n- two\n`,
          timestamp: 1,
          outcome: 'done',
          tool_calls: [
            { id: `x-${i}`, name: 'bash', status: 'done', input: '{"command":"ls"}', content: 'a' },
          ],
          parts: [
            { type: 'tool', id: `x-${i}` },
            { type: 'text', length: `answer ${i} with **bold** words.\n\n- one\n- two\n`.length },
          ],
        },
  )
const streaming = {
  id: 't-live',
  turn_id: 't-live',
  role: 'assistant',
  content: '',
  timestamp: 1,
  is_streaming: true,
  parts: [],
  tool_calls: [],
}

const mock = await startMock({
  seed: ({ create }) => {
    create({ session_id: 'short', extra: { messages: history(20) } })
    create({ session_id: 'long', extra: { messages: history(2000) } })
    for (const id of ['live', 'live-long'])
      create({
        session_id: id,
        extra: {
          status: 'active',
          turn_id: 't-live',
          messages: [...history(id === 'live' ? 20 : 2000), streaming],
        },
      })
    return []
  },
})
const browser = await launchBrowser()
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
const page = await context.newPage()
await page.goto(mock.url)
const message = page.getByRole('textbox', { name: 'Message' })
const rows = []
let failed = 0
const report = (name, value, limit, unit) => {
  const ok = value <= limit
  if (!ok) failed++
  rows.push(
    `${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(58)} ${value.toFixed(2)}${unit} of ${limit}${unit}`,
  )
}
const percentile = (list, p) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * p)]

/** From the click in the list to the last message on screen; in ms. */
async function firstPaint(id, text) {
  await page.goto(`${mock.base}/agents/new`)
  await page.getByRole('textbox').first().waitFor()
  return page.evaluate(
    ([path, wanted]) =>
      new Promise((resolve) => {
        const began = performance.now()
        history.pushState(null, '', path)
        dispatchEvent(new PopStateEvent('popstate'))
        const look = () => {
          const log = document.querySelector('[role="log"]')
          if (log?.textContent?.includes(wanted))
            requestAnimationFrame(() => resolve(performance.now() - began))
          else requestAnimationFrame(look)
        }
        look()
      }),
    [`/agents/${id}`, text],
  )
}

/** From the key to the frame that shows it; in ms. */
async function typing(target) {
  await target.focus()
  await page.evaluate(() => {
    globalThis.took = []
    document.addEventListener(
      'keydown',
      () => {
        const began = performance.now()
        requestAnimationFrame(() => {
          const channel = new MessageChannel()
          channel.port1.onmessage = () => globalThis.took.push(performance.now() - began)
          channel.port2.postMessage(0)
        })
      },
      { capture: true },
    )
  })
  await page.keyboard.type('a sentence that is typed letter by letter, twice over. '.repeat(2), {
    delay: 15,
  })
  return page.evaluate(() => globalThis.took)
}

const devtools = await context.newCDPSession(page)
// Time on the processor, so that a busy machine changes nothing.
await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
/** How long the page's main thread has been at work; in ms. */
async function busy() {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return (metrics.find((m) => m.name === 'TaskDuration')?.value ?? 0) * 1000
}

/** Frames, tasks over 50 ms and processor time while something streams. */
async function watch(work) {
  await page.evaluate(() => {
    globalThis.seen = { frames: 0, long: 0, stop: false }
    const count = () => {
      globalThis.seen.frames++
      if (!globalThis.seen.stop) requestAnimationFrame(count)
    }
    requestAnimationFrame(count)
    new PerformanceObserver((l) => (globalThis.seen.long += l.getEntries().length)).observe({
      entryTypes: ['longtask'],
    })
  })
  const before = await busy()
  await work()
  const cpu = (await busy()) - before
  const seen = await page.evaluate(() => {
    globalThis.seen.stop = true
    return { frames: globalThis.seen.frames, long: globalThis.seen.long }
  })
  return { ...seen, cpu: cpu / seen.frames }
}

const deltas = Array.from({ length: Math.ceil((streamMs / 1000) * perSecond) }, (_, i) => piece(i))
/** Sends the deltas on time, those of one tick together. */
async function stream(send) {
  const began = Date.now()
  for (let at = 0; at < deltas.length;) {
    const due = Math.min(deltas.length, Math.floor(((Date.now() - began) / 1000) * perSecond))
    if (due > at) await send(deltas.slice(at, due))
    at = Math.max(at, due)
    await new Promise((r) => setTimeout(r, tickMs))
  }
}

// The first visit loads chunks; what is compared comes after it.
await firstPaint('short', 'answer 19')
await page.waitForTimeout(500)
const best = async (id, text) => {
  const times = []
  for (let i = 0; i < 5; i++) times.push(await firstPaint(id, text))
  return percentile(times, 0.5)
}
const shortPaint = await best('short', 'answer 19')
const longPaint = await best('long', 'answer 1999')
report('first paint, 2,000 messages against 20', longPaint / shortPaint, 2, 'x')

await page.goto(`${mock.base}/agents/short`)
await message.waitFor()
const shortTyping = percentile(await typing(message), 0.95)
await page.goto(`${mock.base}/agents/long`)
await page.getByText('answer 1999').waitFor()
const longTyping = percentile(await typing(message), 0.95)
report('typing p95, 2,000 messages against 20', longTyping / shortTyping, 1.5, 'x')

await page.setContent(
  '<pre id="out" style="height:800px;overflow:auto;white-space:pre-wrap"></pre>',
)
const floor = await watch(() =>
  stream((batch) =>
    page.evaluate((text) => {
      const out = document.getElementById('out')
      out.append(text)
      out.scrollTop = out.scrollHeight
    }, batch.join('')),
  ),
)
for (const id of ['live', 'live-long']) {
  await page.goto(`${mock.base}/agents/${id}`)
  await page.getByText(id === 'live' ? 'answer 19' : 'answer 1999').waitFor()
  await page.waitForTimeout(300)
  const ours = await watch(() =>
    stream(async (batch) => mock.publishAll(`api-agent.chunk.${id}`, batch, 't-live')),
  )
  const name = `${perSecond} deltas/s for ${streamMs / 1000} s, ${id === 'live' ? 20 : 2000} messages`
  report(`${name}: floor frames per frame of ours`, floor.frames / ours.frames, 1 / 0.9, 'x')
  report(`${name}: processor time a frame`, ours.cpu, 16.6, ' ms')
  report(`${name}: tasks over 50 ms beyond the floor`, ours.long - floor.long, 0, '')
}
rows.push(
  `      first paint ${shortPaint.toFixed(0)} and ${longPaint.toFixed(0)} ms, typing ${shortTyping.toFixed(1)} and ${longTyping.toFixed(1)} ms, floor ${floor.frames} frames, ${floor.long} long tasks`,
)
console.log(rows.join('\n'))
await browser.close()
await mock.close()
process.exit(failed === 0 ? 0 : 1)
