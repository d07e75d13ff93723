// OpenAI's two APIs on loopback, strict about what they receive. Which script
// runs is chosen by a word in the last text of the user; the n-th request of
// that turn gets the script's n-th reply, and one beyond its end a short text
// that quotes the results of the tools.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Part =
  | { reasoning: string[] }
  | { text: string[] }
  | { refusal: string[] }
  | { call: { id: string; name: string; args: unknown } }

export type Reply =
  | { parts: Part[]; usage?: { input: number; output: number; cached: number; reasoning: number } }
  /** Streams its words and then keeps the stream open until the client leaves. */
  | { hang: string[] }
  /** Takes the request and never answers, not even with headers. */
  | { silent: true }
  /** Streams its words and then ends as if that were all. */
  | { cut: string[] }
  /** Fails inside the stream. */
  | { failed: string }
  | { status: number; error: string; headers?: Record<string, string> }

/** One request, as it came, in terms that both APIs share. */
export interface Ask {
  api: 'responses' | 'chat'
  model: string
  instructions: string
  /** Texts of the user and of the assistant, in order. */
  turns: { role: string; text: string }[]
  /** The last text of the user. */
  said: string
  /** Results of tools behind it. */
  results: { id: string; text: string }[]
  images: string[]
  tools: string[]
  body: Record<string, unknown>
}

type Json = Record<string, unknown>

export class OpenAIServer {
  readonly asks: Ask[] = []
  /** What a request did wrong; a test ends with none. */
  readonly faults: string[] = []
  /** Streams that the client left before their end. */
  left = 0
  /** Requests, refused ones too. */
  requests = 0
  private readonly scripts = new Map<string, Reply[]>()
  private readonly server: Server
  private ids = 0

  private constructor(private readonly keys: readonly string[]) {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch((thrown: unknown) => {
        this.faults.push(String(thrown))
        response.destroy()
      })
    })
  }

  static async listen(...keys: string[]): Promise<OpenAIServer> {
    const server = new OpenAIServer(keys)
    await new Promise<void>((resolve) => server.server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`
  }

  on(word: string, ...replies: Reply[]): this {
    this.scripts.set(word, replies)
    return this
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1
    let raw = ''
    request.setEncoding('utf8')
    for await (const piece of request) raw += String(piece)
    const api =
      request.url === '/v1/responses'
        ? 'responses'
        : request.url === '/v1/chat/completions'
          ? 'chat'
          : undefined
    if (request.method !== 'POST' || api === undefined) {
      this.faults.push(`unexpected request: ${request.method} ${request.url}`)
      response.writeHead(404).end()
      return
    }
    const key = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (!this.keys.includes(key)) {
      refuse(response, 401, `Incorrect API key provided: ${key.slice(0, 6)}****.`)
      return
    }
    const body = JSON.parse(raw) as Json
    const ask = api === 'responses' ? this.readResponses(body) : this.readChat(body)
    this.check(ask)
    this.asks.push(ask)
    const reply = this.choose(ask)
    if ('status' in reply) {
      refuse(response, reply.status, reply.error, reply.headers)
      return
    }
    if ('silent' in reply) {
      response.on('close', () => {
        this.left += 1
      })
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    this.ids += 1
    if (api === 'responses') streamResponses(response, ask, reply, this.ids)
    else streamChat(response, ask, reply, this.ids)
    if ('hang' in reply) {
      response.on('close', () => {
        this.left += 1
      })
      return
    }
    response.end()
  }

  private check(ask: Ask): void {
    const { body } = ask
    const fault = (what: string): void => {
      this.faults.push(`${ask.api}: ${what}`)
    }
    if (body['stream'] !== true) fault('no stream was asked for')
    for (const name of ask.tools) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) fault(`the name of a tool: ${name}`)
    }
    if (new Set(ask.tools).size !== ask.tools.length) fault('two tools of one name')
    for (const turn of ask.turns) {
      if (turn.text.trim() === '') fault(`an empty text of ${turn.role} (F14)`)
    }
  }

  private readResponses(body: Json): Ask {
    const input = body['input']
    if (!Array.isArray(input)) throw new Error('input is no list')
    const ask = blank('responses', body)
    ask.instructions = String(body['instructions'] ?? '')
    ask.tools = list(body['tools']).map((t) => String(t['name']))
    const open = new Map<string, string>()
    let before = ''
    for (const item of list(input)) {
      const type = String(item['type'] ?? 'message')
      if (before === 'reasoning' && !['message', 'function_call', 'reasoning'].includes(type)) {
        this.faults.push(`responses: reasoning is followed by ${type}`)
      }
      before = type
      if (type === 'function_call') open.set(String(item['call_id']), String(item['name']))
      else if (type === 'function_call_output') {
        const id = String(item['call_id'])
        if (!open.delete(id)) this.faults.push(`responses: a result without its call: ${id}`)
        ask.results.push({ id, text: textIn(item['output']) })
      } else if (type === 'message') {
        if (open.size > 0) {
          this.faults.push(`responses: calls without a result: ${[...open].join(', ')} (F16)`)
        }
        message(ask, String(item['role']), item['content'])
      }
    }
    if (before === 'reasoning') this.faults.push('responses: reasoning is the last item')
    if (open.size > 0) this.faults.push(`responses: open calls: ${[...open].join(', ')} (F16)`)
    return ask
  }

  private readChat(body: Json): Ask {
    const ask = blank('chat', body)
    ask.tools = list(body['tools']).map((t) => String((t['function'] as Json)['name']))
    const options = body['stream_options'] as Json | undefined
    if (options?.['include_usage'] !== true) this.faults.push('chat: usage was not asked for')
    const open = new Set<string>()
    for (const item of list(body['messages'])) {
      const role = String(item['role'])
      if (role === 'tool') {
        const id = String(item['tool_call_id'])
        if (!open.delete(id)) this.faults.push(`chat: a result without its call: ${id}`)
        ask.results.push({ id, text: textIn(item['content']) })
        continue
      }
      if (open.size > 0) {
        this.faults.push(`chat: calls without a result: ${[...open].join(', ')} (F16)`)
      }
      for (const call of list(item['tool_calls'])) open.add(String(call['id']))
      if (role === 'system' && ask.turns.length === 0 && ask.instructions === '') {
        ask.instructions = textIn(item['content'])
      } else if (item['content'] !== null && item['content'] !== undefined) {
        message(ask, role, item['content'])
      }
    }
    if (open.size > 0) this.faults.push(`chat: open calls: ${[...open].join(', ')} (F16)`)
    return ask
  }

  private choose(ask: Ask): Reply {
    for (const [word, replies] of this.scripts) {
      if (!ask.said.includes(word)) continue
      return (
        replies[rounds(ask)] ?? {
          parts: [{ text: ['Tool said: ', ...ask.results.map((r) => `[${r.text}]`)] }],
        }
      )
    }
    return { parts: [{ text: ['Hello ', 'from ', ask.model, '.'] }] }
  }
}

function blank(api: Ask['api'], body: Json): Ask {
  return {
    api,
    model: String(body['model']),
    instructions: '',
    turns: [],
    said: '',
    results: [],
    images: [],
    tools: [],
    body,
  }
}

function message(ask: Ask, role: string, content: unknown): void {
  const text = textIn(content)
  ask.turns.push({ role, text })
  if (role !== 'user') return
  ask.said = text
  ask.results = []
  for (const part of Array.isArray(content) ? list(content) : []) {
    const url = part['image_url']
    if (typeof url === 'string') ask.images.push(url)
    else if (url !== undefined) ask.images.push(String((url as Json)['url']))
  }
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : ''))
    .join('')
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : []
}

/** How many answers with calls there were since the user spoke. */
function rounds(ask: Ask): number {
  const items = ask.api === 'responses' ? list(ask.body['input']) : list(ask.body['messages'])
  let n = 0
  let inResults = false
  for (const item of items) {
    const result = item['type'] === 'function_call_output' || item['role'] === 'tool'
    if (item['role'] === 'user') n = 0
    if (result && !inResults) n += 1
    inResults = result
  }
  return n
}

function refuse(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message: text, type: 'error', code: null, param: null } }))
}

type Streamed = Exclude<Reply, { status: number }>

function partsOf(reply: Streamed): Part[] {
  if ('parts' in reply) return reply.parts
  if ('hang' in reply) return [{ text: reply.hang }]
  if ('cut' in reply) return [{ text: reply.cut }]
  return []
}

function usageOf(reply: Streamed): {
  input: number
  output: number
  cached: number
  reasoning: number
} {
  const usual = { input: 50, output: 9, cached: 10, reasoning: 2 }
  return 'parts' in reply ? (reply.usage ?? usual) : usual
}

function streamResponses(to: ServerResponse, ask: Ask, reply: Streamed, n: number): void {
  let sequence = 0
  const say = (type: string, fields: Json): void => {
    to.write(
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`,
    )
    sequence += 1
  }
  const output: Json[] = []
  const response = (status: string, more: Json = {}): Json => ({
    id: `resp_${n}`,
    object: 'response',
    created_at: 1700000000,
    model: ask.model,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    instructions: null,
    metadata: {},
    temperature: 1,
    top_p: 1,
    error: null,
    incomplete_details: null,
    status,
    output,
    ...more,
  })
  say('response.created', { response: response('in_progress') })
  say('response.in_progress', { response: response('in_progress') })
  if ('failed' in reply) {
    const error = { code: 'server_error', message: reply.failed }
    say('response.failed', { response: response('failed', { error }) })
    return
  }
  const open = !('parts' in reply)
  partsOf(reply).forEach((part, index) => {
    const item = streamItem(say, part, `${n}_${index}`, index, open)
    if (!open) {
      say('response.output_item.done', { output_index: index, item })
      output.push(item)
    }
  })
  if (open) return
  const u = usageOf(reply)
  say('response.completed', {
    response: response('completed', {
      usage: {
        input_tokens: u.input,
        input_tokens_details: { cached_tokens: u.cached },
        output_tokens: u.output,
        output_tokens_details: { reasoning_tokens: u.reasoning },
        total_tokens: u.input + u.output,
      },
    }),
  })
}

function streamItem(
  say: (type: string, fields: Json) => void,
  part: Part,
  id: string,
  output_index: number,
  open: boolean,
): Json {
  const added = (item: Json): void => say('response.output_item.added', { output_index, item })
  if ('reasoning' in part) {
    const item_id = `rs_${id}`
    added({ id: item_id, type: 'reasoning', summary: [] })
    part.reasoning.forEach((delta, i) => {
      if (i === 0) {
        say('response.reasoning_summary_part.added', {
          item_id,
          output_index,
          summary_index: 0,
          part: { type: 'summary_text', text: '' },
        })
      }
      say('response.reasoning_summary_text.delta', {
        item_id,
        output_index,
        summary_index: 0,
        delta,
      })
    })
    const text = part.reasoning.join('')
    return { id: item_id, type: 'reasoning', summary: [{ type: 'summary_text', text }] }
  }
  if ('call' in part) {
    const item_id = `fc_${id}`
    const args =
      typeof part.call.args === 'string' ? part.call.args : JSON.stringify(part.call.args)
    const item = { id: item_id, type: 'function_call', call_id: part.call.id, name: part.call.name }
    added({ ...item, arguments: '', status: 'in_progress' })
    const half = Math.floor(args.length / 2)
    for (const delta of [args.slice(0, half), args.slice(half)]) {
      say('response.function_call_arguments.delta', { item_id, output_index, delta })
    }
    say('response.function_call_arguments.done', {
      item_id,
      output_index,
      name: part.call.name,
      arguments: args,
    })
    return { ...item, arguments: args, status: 'completed' }
  }
  const item_id = `msg_${id}`
  const refused = 'refusal' in part
  const words = refused ? part.refusal : part.text
  const at = { item_id, output_index, content_index: 0 }
  added({ id: item_id, type: 'message', role: 'assistant', status: 'in_progress', content: [] })
  say('response.content_part.added', {
    ...at,
    part: refused
      ? { type: 'refusal', refusal: '' }
      : { type: 'output_text', text: '', annotations: [], logprobs: [] },
  })
  for (const delta of words) {
    if (refused) say('response.refusal.delta', { ...at, delta })
    else say('response.output_text.delta', { ...at, delta, logprobs: [] })
  }
  const text = words.join('')
  const whole = refused
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] }
  if (!open) {
    if (!refused) say('response.output_text.done', { ...at, text, logprobs: [] })
    say('response.content_part.done', { ...at, part: whole })
  }
  return { id: item_id, type: 'message', role: 'assistant', status: 'completed', content: [whole] }
}

function streamChat(to: ServerResponse, ask: Ask, reply: Streamed, n: number): void {
  const chunk = (fields: Json): void => {
    to.write(
      `data: ${JSON.stringify({
        id: `chatcmpl-${n}`,
        object: 'chat.completion.chunk',
        created: 1700000000,
        model: ask.model,
        ...fields,
      })}\n\n`,
    )
  }
  const delta = (d: Json, finish_reason: string | null = null): void =>
    chunk({ choices: [{ index: 0, delta: d, finish_reason }] })
  if ('failed' in reply) {
    to.write(
      `data: ${JSON.stringify({ error: { message: reply.failed, code: 'server_error' } })}\n\n`,
    )
    return
  }
  delta({ role: 'assistant', content: '' })
  let calls = 0
  for (const part of partsOf(reply)) {
    if ('reasoning' in part) {
      for (const reasoning_content of part.reasoning) delta({ reasoning_content })
    } else if ('text' in part) {
      for (const content of part.text) delta({ content })
    } else if ('refusal' in part) {
      for (const refusal of part.refusal) delta({ refusal })
    } else {
      const { id, name, args } = part.call
      const json = typeof args === 'string' ? args : JSON.stringify(args)
      const half = Math.floor(json.length / 2)
      const call = (f: Json): void => delta({ tool_calls: [{ index: calls, ...f }] })
      call({ id, type: 'function', function: { name, arguments: '' } })
      call({ function: { arguments: json.slice(0, half) } })
      call({ function: { arguments: json.slice(half) } })
      calls += 1
    }
  }
  if (!('parts' in reply)) return
  delta({}, calls > 0 ? 'tool_calls' : 'stop')
  const u = usageOf(reply)
  chunk({
    choices: [],
    usage: {
      prompt_tokens: u.input,
      completion_tokens: u.output,
      total_tokens: u.input + u.output,
      prompt_tokens_details: { cached_tokens: u.cached },
      completion_tokens_details: { reasoning_tokens: u.reasoning },
    },
  })
  to.write('data: [DONE]\n\n')
}
