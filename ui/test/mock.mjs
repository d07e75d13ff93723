// mock.mjs: a small stand-in for the service, for working on the page without
// one. It speaks the same doors (cookie, /ws, /rpc) and plays scripted turns.
// Not shipped, and no test of the product relies on it alone.
//
//   node test/mock.mjs [port]
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocketServer } from 'ws'

const dist = process.env.PACKETBENCH_DIST ?? fileURLToPath(new URL('../dist/', import.meta.url))
const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const token = 'mock-token'

/**
 * answers are methods of a scene's own, in place of those that are here;
 * terminal plays the stream of one, on a socket.
 */
export async function startMock({
  port = 0,
  seed = () => [],
  bootId = 'boot-1',
  answers: own = {},
  terminal = (ws) => ws.close(),
} = {}) {
  const log = []
  const subs = new Map()
  let nextSub = 1
  const conversations = new Map()
  const timers = new Set()
  const answers = new Map()

  const caps = {
    permissionModes: ['auto', 'ask_for_risky', 'allow_all', 'deny_all'],
    canGateWrites: true,
    canPlanMode: true,
    models: [
      { label: 'Claude Sonnet 4.5', value: 'claude-sonnet-4-5', contextWindow: 200000 },
      { label: 'Claude Haiku 4.5', value: 'claude-haiku-4-5', contextWindow: 200000 },
    ],
    modelsAreAuthoritative: true,
    fileMentions: true,
    slashCommands: true,
    imageAttachments: true,
    canRename: true,
    canFork: true,
    canCancelTurn: true,
  }
  const row = (id, label, group, transport, status, hint, models = caps.models) => ({
    row: id,
    label,
    group,
    transport,
    provider: `provider of ${id}`,
    models,
    badge: { status, hint },
    capabilities: { ...caps, models },
  })
  let providers = [
    row('api-claude-oauth', 'Claude Agent SDK (API)', 'Anthropic', 'sidecar', 'ready', ''),
    row('api-claude', 'Claude (API)', 'Anthropic', 'in-process', 'ready', ''),
    row(
      'api-openai',
      'OpenAI (API)',
      'OpenAI',
      'in-process',
      'missing_key',
      'No OpenAI key is stored. Run `packetbench key set api-key-openai`.',
    ),
    row(
      'api-openai-agents',
      'OpenAI Agents SDK (API)',
      'OpenAI',
      'sidecar',
      'missing_key',
      'No OpenAI key is stored. Run `packetbench key set api-key-openai`.',
    ),
    row(
      'api-openrouter',
      'OpenRouter',
      'Other',
      'in-process',
      'missing_key',
      'No OpenRouter key is stored. Run `packetbench key set api-key-openrouter`.',
    ),
    row(
      'api-minimax',
      'MiniMax (Token Plan)',
      'Other',
      'in-process',
      'missing_key',
      'No MiniMax key is stored. Run `packetbench key set api-key-minimax`.',
    ),
    row(
      'api-ollama',
      'Ollama (Local)',
      'Other',
      'in-process',
      'service_down',
      'Nothing answers on http://localhost:11434',
      [],
    ),
    row(
      'api-packetcode',
      'PacketCode (ACP)',
      'Other',
      'acp',
      'missing_key',
      'The engine packetcode was not found.',
      [],
    ),
    row(
      'api-custom',
      'Custom endpoint (OpenAI-compatible)',
      'Other',
      'in-process',
      'missing_key',
      'No base URL is set.',
      [],
    ),
    row('api-demo', 'Offline demo (scripted)', 'Other', 'in-process', 'ready', '', [
      { label: 'demo', value: 'demo', contextWindow: 32000 },
    ]),
  ]

  const matches = (pattern, subject) => {
    const p = pattern.split('.')
    const s = subject.split('.')
    return (
      p.every((t, i) => (t === '>' ? i < s.length : t === '*' ? s[i] !== undefined : t === s[i])) &&
      (p.at(-1) === '>' || p.length === s.length)
    )
  }
  /** Events of one subject in one frame, as the service sends what waits. */
  const publishAll = (subject, list, turn = '') => {
    const events = list.map((data) => {
      const time = new Date().toISOString()
      const e = { seq: log.length + 1, time, subject, ...(turn && { turn }), data }
      log.push(e)
      return e
    })
    for (const [id, sub] of subs)
      if (sub.subjects.some((p) => matches(p, subject))) sub.push(id, events)
  }
  const publish = (subject, data, turn = '') => publishAll(subject, [data], turn)
  const kind = (c, k, data, turn) => publish(`api-agent.${k}.${c.session_id}`, data, turn)
  const what = (c, w, data, turn) => publish(`conversation.${w}.${c.session_id}`, data, turn)
  const patch = (c, change) => {
    Object.assign(c, change, { updated_at: new Date().toISOString() })
    what(c, 'updated', { ...change, updated_at: c.updated_at })
  }
  const after = (ms, f) => {
    const t = setTimeout(() => {
      timers.delete(t)
      f()
    }, ms)
    timers.add(t)
  }
  const wait = (ms) => new Promise((r) => after(ms, r))

  const create = (p) => {
    const now = new Date().toISOString()
    const c = {
      session_id: p.session_id,
      title: p.title ?? (p.initial_message ?? '').slice(0, 40),
      row: p.row ?? 'api-demo',
      provider: p.provider ?? 'demo',
      model: p.model ?? 'demo',
      project_path: p.project_path ?? '/home/mira/src/harborline',
      status: 'idle',
      archived: false,
      pinned: false,
      created_at: now,
      updated_at: now,
      needs_you: 0,
      queued: 0,
      plan_mode: p.plan_mode ?? false,
      permission_mode: p.permission_mode ?? 'ask_for_risky',
      approve_writes: false,
      allowed_tools: [],
      allow_patterns: [],
      thinking_enabled: false,
      messages: [],
      pending_permissions: [],
      pending_edits: [],
      queue: [],
      plan: [],
      plan_approved: false,
      plan_ready: false,
      capabilities: caps,
      n: 0,
      ...p.extra,
    }
    conversations.set(c.session_id, c)
    return c
  }
  const live = (c) => c.messages.findLast((m) => m.is_streaming)
  const grow = (c, type, text) => {
    const m = live(c)
    const key = type === 'text' ? 'content' : 'thinking'
    m[key] += text
    const last = m.parts.at(-1)
    if (last?.type === type) last.length += text.length
    else m.parts.push({ type, length: text.length })
    kind(c, type === 'text' ? 'chunk' : 'thinking', type === 'text' ? text : { text }, m.turn_id)
  }
  const tool = (c, id, name, input) => {
    const m = live(c)
    m.tool_calls.push({ id, name, status: 'running', input })
    m.parts.push({ type: 'tool', id })
    kind(c, 'tool-start', { id, name, input }, m.turn_id)
  }
  const result = (c, id, content, is_error = false) => {
    const m = live(c)
    const t = m.tool_calls.find((x) => x.id === id)
    Object.assign(t, { status: is_error ? 'error' : 'done', content })
    kind(c, 'tool-result', { id, name: t.name, content, is_error, input: t.input }, m.turn_id)
  }
  const ask = (c, id, name, args, more = {}) => {
    const m = live(c)
    const open = {
      id,
      tier: 'blocking',
      destructive: false,
      allow_pattern: 'Bash(echo hello:*)',
      sources: [],
      ...more,
    }
    c.pending_permissions.push({ ...open, name, arguments: args, opened_at: Date.now() })
    what(c, 'prompt-opened', open, m.turn_id)
    kind(c, 'permission-request', { id, name, arguments: args }, m.turn_id)
    patch(c, { needs_you: c.pending_permissions.length })
    return new Promise((resolve) => answers.set(`${c.session_id}/${id}`, resolve))
  }
  const resolvePrompt = (c, id, decision, by = 'user') => {
    const at = c.pending_permissions.findIndex((p) => p.id === id)
    if (at < 0) return false
    c.pending_permissions.splice(at, 1)
    what(c, 'prompt-resolved', { id, decision, by })
    patch(c, { needs_you: c.pending_permissions.length })
    answers.get(`${c.session_id}/${id}`)?.(decision)
    return true
  }
  const user = (c, content, queued = false, id = `m-${++c.n}`) => {
    c.messages = c.messages.filter((m) => m.id !== id)
    c.messages.push({ id, role: 'user', content, timestamp: Date.now(), queued })
    what(c, 'user-turn', { message_id: id, content, attachments: [], queued })
    return id
  }
  const finish = (c, cancelled) => {
    const m = live(c)
    if (!m) return
    m.is_streaming = false
    m.outcome = cancelled ? 'cancelled' : 'done'
    m.input_tokens = 1200
    m.output_tokens = 340
    for (const t of m.tool_calls) if (t.status === 'running') t.status = 'error'
    kind(
      c,
      'done',
      {
        input_tokens: 1200,
        output_tokens: 340,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
        cancelled,
      },
      m.turn_id,
    )
    what(c, 'turn-ended', { turn_id: m.turn_id, outcome: m.outcome })
    patch(c, { status: 'idle', context: { used: 13000, window: 32000 } })
    const next = !cancelled && c.queue.shift()
    if (next) {
      what(c, 'queue-changed', { items: c.queue })
      user(c, next.content, false, next.message_id)
      void turn(c, next.content)
    }
  }
  const turn = async (c, text) => {
    const id = `t-${(c.turns = (c.turns ?? 0) + 1)}`
    c.messages.push({
      id,
      role: 'assistant',
      turn_id: id,
      content: '',
      thinking: '',
      timestamp: Date.now(),
      is_streaming: true,
      parts: [],
      tool_calls: [],
    })
    what(c, 'turn-started', { turn_id: id })
    patch(c, { status: 'active' })
    c.cancelled = false
    const on = () => live(c)?.turn_id === id && !c.cancelled
    const say = async (type, words) => {
      for (const piece of words.match(/.{1,12}/gs) ?? []) {
        if (!on()) return
        grow(c, type, piece)
        await wait(15)
      }
    }
    await say(
      'thinking',
      'The person wants to see how a turn looks. A short look around comes first.',
    )
    if (!on()) return
    kind(c, 'thinking-stop', null, id)
    tool(c, `${id}-ls`, 'list_directory', '{"path":"."}')
    await wait(60)
    if (!on()) return
    result(c, `${id}-ls`, 'README.md\ngo.mod')
    await say(
      'text',
      'This is a **scripted** answer with `code` and a list:\n\n- one\n- two\n\n```go\nfunc main() {\n\tprintln("hello") // a comment\n}\n```\n\n',
    )
    if (/run/.test(text) && on()) {
      tool(c, `${id}-sh`, 'bash', '{"command":"echo hello"}')
      const decision = await ask(c, `${id}-sh`, 'bash', '{"command":"echo hello"}', {
        destructive: /danger/.test(text),
      })
      if (!on()) return
      if (decision === 'deny')
        result(c, `${id}-sh`, 'User denied permission for this tool call.', true)
      else result(c, `${id}-sh`, 'hello')
    }
    if (/slow/.test(text))
      for (let i = 0; i < 200 && on(); i++) await say('text', `Line ${i} of a long answer.\n\n`)
    await say('text', 'That is all.')
    if (on()) finish(c, false)
  }

  const fail = (code, message, data) => {
    throw { code, message, data }
  }
  const need = (id) => conversations.get(id) ?? fail(-32004, `No active session: ${id}`)
  const summary = ({
    messages: _m,
    pending_permissions: _p,
    pending_edits: _e,
    queue: _q,
    plan: _l,
    capabilities: _c,
    ...rest
  }) => rest
  const methods = {
    get_session: () => ({
      role: 'owner',
      boot_id: bootId,
      version: 'mock',
      project_path: '/home/mira/src/harborline',
      head: log.length,
    }),
    list_conversations: () => [...conversations.values()].map(summary),
    get_conversation: (p) => ({
      conversation: structuredClone(need(p.session_id)),
      seq: log.length,
    }),
    list_providers: () => providers,
    get_sidecar_status: () => ({
      state: 'ready',
      restarts: 0,
      last_error: null,
      protocol_version: 11,
      pid: 1,
      version: '1',
      lifetime: {},
    }),
    start_api_agent_session: (p) => {
      const c = create(p)
      what(c, 'created', summary(c))
      user(c, p.initial_message)
      void turn(c, p.initial_message)
      return { session_id: c.session_id, turn_id: 't-1' }
    },
    send_api_agent_message: (p) => {
      const c = need(p.session_id)
      if (!live(c)) {
        const id = user(c, p.message)
        void turn(c, p.message)
        return { message_id: id, queued: false }
      }
      const id = user(c, p.message, true)
      c.queue.push({ message_id: id, content: p.message })
      what(c, 'queue-changed', { items: c.queue })
      return { message_id: id, queued: true }
    },
    cancel_api_agent_session: (p) => {
      const c = need(p.session_id)
      c.cancelled = true
      c.queue = []
      c.messages = c.messages.filter((m) => !m.queued)
      what(c, 'queue-changed', { items: [] })
      for (const q of [...c.pending_permissions]) resolvePrompt(c, q.id, 'deny', 'cancel')
      after(150, () => finish(c, true))
      return {}
    },
    respond_permission: (p) =>
      resolvePrompt(need(p.session_id), p.tool_id, p.decision)
        ? {}
        : fail(-32010, 'This prompt was already answered.', { by: 'user' }),
    set_plan_mode: (p) => posture(need(p.session_id), { plan_mode: p.enabled }),
    set_permission_mode: (p) => posture(need(p.session_id), { permission_mode: p.mode }),
    set_approve_writes: (p) => posture(need(p.session_id), { approve_writes: p.enabled }),
    change_model: (p) => (patch(need(p.session_id), { model: p.new_model }), {}),
    rename_conversation: (p) => (patch(need(p.session_id), { title: p.title }), {}),
    archive_conversation: (p) => (patch(need(p.session_id), { archived: p.archived }), {}),
    pin_conversation: (p) => (patch(need(p.session_id), { pinned: p.pinned }), {}),
    delete_conversation: (p) => {
      const c = need(p.session_id)
      conversations.delete(p.session_id)
      what(c, 'deleted', {})
      return {}
    },
  }
  const posture = (c, change) => {
    Object.assign(c, change)
    what(c, 'posture-changed', {
      plan_mode: c.plan_mode,
      permission_mode: c.permission_mode,
      approve_writes: c.approve_writes,
    })
    return {}
  }
  for (const c of seed({ create })) void c

  const authorised = (req) => (req.headers.cookie ?? '').includes(`pb=${token}`)
  const server = createServer(async (req, res) => {
    const url = new URL(req.url, 'http://x')
    if (url.searchParams.get('token') === token) {
      res
        .writeHead(303, {
          'set-cookie': `pb=${token}; HttpOnly; SameSite=Strict; Path=/`,
          location: '/',
        })
        .end()
      return
    }
    if (!authorised(req)) return void res.writeHead(401).end('Run `packetbench url`.')
    if (url.pathname === '/rpc') return void res.writeHead(200).end('{}')
    const file = normalize(url.pathname).replace(/^\/+/, '')
    const name = extname(file) in types ? file : 'index.html'
    try {
      const body = await readFile(join(dist, name))
      res
        .writeHead(200, {
          'content-type': types[extname(name)],
          'content-security-policy':
            "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'",
        })
        .end(body)
    } catch {
      res.writeHead(404).end()
    }
  })
  const sockets = new Set()
  const wss = new WebSocketServer({ noServer: true })
  server.on('upgrade', (req, socket, head) => {
    if (!authorised(req)) return void socket.destroy()
    const [, id] = /^\/ws\/terminal\/([\w-]+)/.exec(req.url) ?? []
    if (id) return void wss.handleUpgrade(req, socket, head, (ws) => terminal(ws, id))
    wss.handleUpgrade(req, socket, head, (ws) => {
      sockets.add(ws)
      const mine = new Set()
      ws.on('close', () => {
        sockets.delete(ws)
        for (const id of mine) subs.delete(id)
      })
      const send = (m) => ws.readyState === 1 && ws.send(JSON.stringify({ jsonrpc: '2.0', ...m }))
      ws.on('message', (raw) => {
        const { id, method, params } = JSON.parse(raw)
        try {
          let result
          if (method === 'subscribe') {
            const sub = `s${nextSub++}`
            const past =
              params.since === 'new'
                ? []
                : log.filter(
                    (e) =>
                      e.seq >= (params.since === 'all' ? 0 : params.since) &&
                      params.subjects.some((p) => matches(p, e.subject)),
                  )
            mine.add(sub)
            subs.set(sub, {
              subjects: params.subjects,
              push: (s, events) => send({ method: 'event', params: { subscription: s, events } }),
            })
            send({ id, result: { subscription: sub, head: log.length } })
            if (past.length) send({ method: 'event', params: { subscription: sub, events: past } })
            return
          }
          if (method === 'unsubscribe') {
            subs.delete(params.subscription)
            result = {}
          } else if (own[method]) result = own[method](params, { need, what, patch })
          else if (methods[method]) result = methods[method](params)
          else fail(-32601, `Unknown method: ${method}`)
          send({ id, result })
        } catch (e) {
          send({ id, error: e.code ? e : { code: -32603, message: String(e) } })
        }
      })
    })
  })
  await new Promise((r) => server.listen(port, '127.0.0.1', r))
  const base = `http://127.0.0.1:${server.address().port}`
  return {
    url: `${base}/?token=${token}`,
    base,
    publish,
    publishAll,
    conversations,
    setProviders: (f) => {
      providers = f(providers)
    },
    dropSockets: () => {
      for (const ws of sockets) ws.terminate()
    },
    close: async () => {
      for (const t of timers) clearTimeout(t)
      for (const ws of sockets) ws.terminate()
      await new Promise((r) => server.close(r))
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock({ port: Number(process.argv[2] ?? 7433) })
  console.log(`PacketBench ready: ${mock.url}`)
}
