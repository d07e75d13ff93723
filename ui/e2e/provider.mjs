// provider.mjs: an OpenAI-compatible endpoint of this machine that plays a
// script, and the conversation with it. A step is a text, or calls of tools.
import { createServer } from 'node:http'
import { patience } from './harness.mjs'

/** Plays one step per request; asked holds what each request said. */
export async function scriptedProvider(steps) {
  const asked = []
  let next = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (d) => (body += d))
    request.on('end', () => {
      asked.push(body === '' ? {} : JSON.parse(body))
      const step = steps[next++] ?? { text: 'There is nothing more in the script.' }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const say = (choice) =>
        response.write(
          `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\n`,
        )
      if (step.text) say({ delta: { role: 'assistant', content: step.text } })
      step.calls?.forEach(([name, args], index) =>
        say({
          delta: {
            tool_calls: [
              {
                index,
                id: `call-${next}-${index}`,
                type: 'function',
                function: { name, arguments: JSON.stringify(args) },
              },
            ],
          },
        }),
      )
      say({ delta: {}, finish_reason: step.calls ? 'tool_calls' : 'stop' })
      response.end('data: [DONE]\n\n')
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    asked,
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** A command of the page's own session. */
export async function rpc(page, method, params) {
  const answer = await page.evaluate(
    async ([name, args]) => {
      const reply = await fetch('/rpc', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: args }),
      })
      return reply.json()
    },
    [method, params],
  )
  if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`)
  return answer.result
}

let serial = 0

/** Signs in, starts a conversation and opens it; with a provider, its script. */
export async function converse(page, service, words, { provider, ...more } = {}) {
  const id = `decide-${++serial}`
  await page.goto(service.url)
  if (provider) {
    await rpc(page, 'set_settings', {
      providers: { custom_compat_base_url: provider.url, custom_compat_models: ['script'] },
    })
  }
  await rpc(page, 'start_api_agent_session', {
    session_id: id,
    provider: provider ? 'custom' : 'demo',
    row: provider ? 'api-custom' : 'api-demo',
    model: provider ? 'script' : 'demo',
    project_path: service.project,
    initial_message: words,
    plan_mode: false,
    permission_mode: 'auto',
    ...more,
  })
  await page.goto(`${service.base}/agents/${id}`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  return id
}

/** Waits until something outside the page holds. */
export async function until(holds, sentence) {
  const late = Date.now() + patience
  while (!(await holds())) {
    if (Date.now() > late) throw new Error(sentence)
    await new Promise((r) => setTimeout(r, 25))
  }
}
