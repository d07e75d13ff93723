// A Messages API on loopback, strict about what it receives. Which script runs
// is chosen by a word in the last text of the user; the n-th request of that
// turn gets the script's n-th reply, and one beyond its end a short text.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Block =
  | { type: 'text'; text: string[] }
  | { type: 'thinking'; text: string[] }
  | { type: 'tool_use'; id: string; name: string; input: unknown }

export type Reply =
  | { blocks: Block[]; usage?: Record<string, number> }
  /** Streams its words and then keeps the stream open until the client leaves. */
  | { hang: string[] }
  | { status: number; error: string; headers?: Record<string, string> }

/** One request, as it came. */
export interface Ask {
  model: string
  system: string
  texts: string[]
  /** The last text of the user that is no reminder of the client. */
  said: string
  /** Results of tools in the last message of the user. */
  results: { id: string; text: string; isError: boolean }[]
  tools: string[]
  thinking: unknown
  body: Record<string, unknown>
}

interface Content {
  type?: string
  text?: string
  tool_use_id?: string
  content?: unknown
  is_error?: boolean
  id?: string
}

export class MessagesServer {
  readonly asks: Ask[] = []
  /** What a request did wrong; a test ends with none. */
  readonly faults: string[] = []
  /** Streams that the client left before their end. */
  left = 0
  private readonly scripts = new Map<string, Reply[]>()
  private readonly server: Server
  private ids = 0

  private constructor(private readonly key: string) {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch((thrown: unknown) => {
        this.faults.push(String(thrown))
        response.destroy()
      })
    })
  }

  static async listen(key: string): Promise<MessagesServer> {
    const server = new MessagesServer(key)
    await new Promise<void>((resolve) => server.server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
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
    let raw = ''
    request.setEncoding('utf8')
    for await (const piece of request) raw += String(piece)
    // The client looks whether anybody listens before it asks.
    if (request.method === 'HEAD') {
      response.writeHead(200).end()
      return
    }
    if (request.method !== 'POST' || request.url !== '/v1/messages?beta=true') {
      this.faults.push(`unexpected request: ${request.method} ${request.url}`)
      response.writeHead(404).end()
      return
    }
    const body = JSON.parse(raw) as Record<string, unknown>
    const ask = this.read(body)
    if (request.headers['x-api-key'] !== this.key || request.headers.authorization !== undefined) {
      refuse(response, 401, 'invalid x-api-key', 'authentication_error')
      return
    }
    // A change of the model is tried out with one small plain request.
    if (body['stream'] !== true) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          id: 'msg_probe',
          type: 'message',
          role: 'assistant',
          model: ask.model,
          content: [{ type: 'text', text: 'Hi' }],
          stop_reason: 'end_turn',
          stop_sequence: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
      )
      return
    }
    this.asks.push(ask)
    const reply = this.choose(ask, body)
    if ('status' in reply) {
      const type = reply.status === 429 ? 'rate_limit_error' : 'api_error'
      refuse(response, reply.status, reply.error, type, reply.headers)
      return
    }
    const hang = 'hang' in reply
    const blocks: Block[] = hang ? [{ type: 'text', text: reply.hang }] : reply.blocks
    const usage = {
      input_tokens: 120,
      output_tokens: 25,
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: 40,
      ...(hang ? {} : reply.usage),
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const say = (type: string, fields: Record<string, unknown>): void => {
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
    }
    this.ids += 1
    say('message_start', {
      message: {
        id: `msg_${this.ids}`,
        type: 'message',
        role: 'assistant',
        model: ask.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, output_tokens: 1 },
      },
    })
    blocks.forEach((block, index) => {
      stream(say, block, index, hang)
    })
    if (hang) {
      response.on('close', () => {
        this.left += 1
      })
      return
    }
    const tool = blocks.some((b) => b.type === 'tool_use')
    say('message_delta', {
      delta: { stop_reason: tool ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage,
    })
    say('message_stop', {})
    response.end()
  }

  private read(body: Record<string, unknown>): Ask {
    const messages = body['messages'] as { role: string; content: string | Content[] }[]
    if (!Array.isArray(messages)) throw new Error('messages is no list')
    const open = new Set<string>()
    let said = ''
    let results: Ask['results'] = []
    const texts: string[] = []
    for (const message of messages) {
      const blocks: Content[] =
        typeof message.content === 'string'
          ? [{ type: 'text', text: message.content }]
          : message.content
      if (message.role === 'user') results = []
      for (const block of blocks) {
        if (block.type === 'text' && (block.text ?? '').trim() === '') {
          this.faults.push('an empty text block (F14)')
        }
        if (block.type === 'tool_use') open.add(String(block.id))
        if (block.type === 'tool_result') {
          if (!open.delete(String(block.tool_use_id))) {
            this.faults.push(`a result without its call: ${block.tool_use_id}`)
          }
          const text =
            typeof block.content === 'string'
              ? block.content
              : ((block.content as Content[] | undefined) ?? []).map((c) => c.text ?? '').join('\n')
          // The client adds reminders of its own behind a result.
          const own = text.replace(/\s*<system-reminder>[\s\S]*?<\/system-reminder>\s*$/, '')
          results.push({
            id: String(block.tool_use_id),
            text: own,
            isError: block.is_error === true,
          })
        }
        if (message.role === 'user' && block.type === 'text') {
          const text = block.text ?? ''
          if (!text.startsWith('<system-reminder>')) {
            said = text
            texts.push(text)
          }
        }
      }
    }
    if (open.size > 0) this.faults.push(`calls without a result: ${[...open].join(', ')} (F16)`)
    const system = Array.isArray(body['system'])
      ? (body['system'] as Content[]).map((c) => c.text ?? '').join('\n')
      : String(body['system'] ?? '')
    const tools = ((body['tools'] as { name: string }[] | undefined) ?? []).map((t) => t.name)
    return {
      model: String(body['model']),
      system,
      texts,
      said,
      results,
      tools,
      thinking: body['thinking'],
      body,
    }
  }

  private choose(ask: Ask, body: Record<string, unknown>): Reply {
    for (const [word, replies] of this.scripts) {
      if (!ask.said.includes(word)) continue
      const messages = body['messages'] as { role: string; content: string | Content[] }[]
      let after = 0
      for (const message of messages) {
        const text = JSON.stringify(message.content)
        if (message.role === 'user' && text.includes(word)) after = 0
        if (message.role === 'assistant') after += 1
      }
      return (
        replies[after] ?? {
          blocks: [{ type: 'text', text: ['Tool said: ', ...ask.results.map((r) => r.text)] }],
        }
      )
    }
    return { blocks: [{ type: 'text', text: ['Hello ', 'from ', ask.model, '.'] }] }
  }
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  type: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ type: 'error', error: { type, message } }))
}

function stream(
  say: (type: string, fields: Record<string, unknown>) => void,
  block: Block,
  index: number,
  open: boolean,
): void {
  const delta = (d: Record<string, unknown>): void =>
    say('content_block_delta', { index, delta: d })
  switch (block.type) {
    case 'text':
      say('content_block_start', { index, content_block: { type: 'text', text: '' } })
      for (const text of block.text) delta({ type: 'text_delta', text })
      break
    case 'thinking':
      say('content_block_start', {
        index,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      })
      for (const thinking of block.text) delta({ type: 'thinking_delta', thinking })
      delta({ type: 'signature_delta', signature: 'c2ln' })
      break
    case 'tool_use': {
      const { id, name } = block
      const json = JSON.stringify(block.input)
      const half = Math.floor(json.length / 2)
      say('content_block_start', {
        index,
        content_block: { type: 'tool_use', id, name, input: {} },
      })
      delta({ type: 'input_json_delta', partial_json: json.slice(0, half) })
      delta({ type: 'input_json_delta', partial_json: json.slice(half) })
      break
    }
  }
  if (!open) say('content_block_stop', { index })
}
