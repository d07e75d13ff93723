// workScenes.mjs: a workspace with terminals and a conversation, and a service
// in trouble, to look at. Names, programs and paths are invented. Used by
// e2e/looksWork.mjs and by whoever works on the page: node test/workScenes.mjs [port]
import { fileURLToPath } from 'node:url'
import { startMock } from './mock.mjs'
import { seeds } from './scenes.mjs'

const project = '/home/mira/src/harborline'
const now = Date.now()
const ago = (s) => new Date(now - s * 1000).toISOString()

// --- terminals ----------------------------------------------------------------

const esc = (n, text) => `\x1b[${n}m${text}\x1b[0m`
const prompt = `${esc(32, 'mira@bench')} ${esc(34, '~/src/harborline')} ${esc(90, '(pkt/c-7f3a91)')}\r\n$ `
const screens = {
  't-tests': [
    `${prompt}go test -race -count=5 ./internal/...`,
    `${esc(32, 'ok')}    harborline/internal/bus     2.114s`,
    `${esc(32, 'ok')}    harborline/internal/drain   0.871s`,
    `--- ${esc(31, 'FAIL')}: TestRenew_KeepsLease (0.31s)`,
    `    renew_test.go:88: lease lost after ${esc(33, '2.98s')}, want ${esc(33, '3s')}`,
    `${esc(31, 'FAIL')}  harborline/internal/lease   12.402s`,
    `${esc(32, 'ok')}    harborline/internal/store   3.027s`,
    '',
    `${prompt}git log --oneline -3`,
    `${esc(33, '9c1e2fa')} ${esc(36, '(HEAD -> pkt/c-7f3a91)')} lease: one deadline`,
    `${esc(33, '41b07dd')} ${esc(36, '(main)')} drain: wait for readers`,
    `${esc(33, 'e50a9b3')} ring: drop the spare lock, see https://example.test/ring/41`,
    '',
    prompt,
  ].join('\r\n'),
  't-claude': [
    `${esc(35, '●')} I will look at how the loader walks the include list`,
    '  before I change it.',
    '',
    `${esc(35, '●')} ${esc(1, 'Read')}(config/loader.go)`,
    `  ${esc(90, '└ 212 lines')}`,
    '',
    `${esc(35, '●')} The loader resolves includes twice. One pass is enough`,
    '  if the order is kept.',
    '',
    '> ',
  ].join('\r\n'),
  't-server': Array.from(
    { length: 40 },
    (_, i) =>
      `${esc(90, `14:06:${String(i % 60).padStart(2, '0')}`)} ${i % 9 === 4 ? esc(33, 'WRN') : esc(32, 'INF')} ` +
      (i % 9 === 4
        ? `slow disk ${esc(36, 'fsync=')}212ms`
        : `lease renewed ${esc(36, 'left=')}2.0${i % 10}s`),
  ).join('\r\n'),
}

const terminal = (id, command, more = {}) => ({
  terminal_id: id,
  command,
  args: [],
  cwd: project,
  state: 'running',
  child_pid: 48201,
  cols: 96,
  rows: 24,
  title: '',
  exit_code: null,
  signal: null,
  offset: 0,
  viewers: 1,
  started: ago(4800),
  ...more,
})
const terminals = [
  terminal('t-tests', 'bash', { title: 'tests' }),
  terminal('t-claude', 'claude', { title: 'config loader', child_pid: 48260 }),
  terminal('t-server', 'bash', {
    title: 'go run ./cmd/harborline',
    state: 'ended',
    exit_code: 1,
    child_pid: 0,
  }),
]

/** Size, snapshot, and what a shell would echo. */
function playTerminal(ws, id) {
  const data = (type, offset, text) => {
    const body = Buffer.from(text)
    const head = Buffer.alloc(9)
    head[0] = type
    head.writeBigUInt64BE(BigInt(offset), 1)
    ws.send(Buffer.concat([head, body]))
  }
  const size = (cols, rows) => {
    const frame = Buffer.from([0x13, 0, 0, 0, 0])
    frame.writeUInt16BE(cols, 1)
    frame.writeUInt16BE(rows, 3)
    ws.send(frame)
  }
  const t = terminals.find((x) => x.terminal_id === id)
  if (!t) return ws.close()
  let offset = 0
  size(t.cols, t.rows)
  data(0x11, 0, screens[id] ?? '')
  if (t.state === 'ended') ws.send(Buffer.from([0x12, 0, 0, 0, t.exit_code]))
  ws.on('message', (raw) => {
    const frame = Buffer.from(raw)
    if (frame[0] === 0x01) {
      t.cols = frame.readUInt16BE(1)
      t.rows = frame.readUInt16BE(3)
      size(t.cols, t.rows)
    } else if (frame[0] === 0x00 && frame.length > 1) {
      const text = frame.subarray(1).toString().replaceAll('\r', '\r\n$ ')
      data(0x10, offset, text)
      offset += Buffer.byteLength(text)
    }
  })
}

const presets = [
  ['claude', 'Claude Code', 'agent'],
  ['codex', 'Codex', 'agent'],
  ['bash', 'bash', 'shell', true],
  ['fish', 'fish', 'shell'],
].map(([id, label, kind, usual = false]) => ({
  id,
  label,
  kind,
  command: id,
  args: [],
  path: `/usr/bin/${id}`,
  default: usual,
}))

const pane = (id, kind, more) => ({ id, kind, ref: '', command: '', args: [], name: '', ...more })
const app = {
  'workspace:w-harbor': {
    name: 'harborline',
    project_path: project,
    created: 1,
    panes: [
      pane('t-tests', 'terminal', { command: 'bash', name: 'bash' }),
      pane('p-talk', 'conversation', { ref: 'c-live' }),
      pane('t-claude', 'terminal', { command: 'claude', name: 'Claude Code' }),
      pane('t-server', 'terminal', { command: 'bash', name: 'bash' }),
    ],
    layout: {
      split: 'column',
      shares: [0.53, 0.47],
      parts: [
        {
          split: 'row',
          shares: [0.485, 0.515],
          parts: [{ pane: 't-tests' }, { pane: 'p-talk' }],
        },
        {
          split: 'row',
          shares: [0.485, 0.515],
          parts: [{ pane: 't-claude' }, { pane: 't-server' }],
        },
      ],
    },
  },
  'workspace:w-docs': {
    name: 'packet-docs',
    project_path: '/home/mira/src/packet-docs',
    created: 2,
    panes: [],
  },
}

// --- the live tree ---------------------------------------------------------------

const wobble = (base, n = 30) =>
  Array.from({ length: n }, (_, i) => Math.max(0, base * (1 + 0.4 * Math.sin(i * 1.7 + base))))
const node = (name, kind, more = {}, children = []) => {
  const { rate, ...rest } = more
  return {
    pid: kind === 'application' || kind === 'meta' ? '' : `<A5D9EA6A.0.${1000 + name.length}>`,
    name,
    kind,
    behavior: kind === 'actor' ? `${name.split(':')[0]}.actor` : '',
    state: 'running',
    uptime_s: 22_320,
    mailbox: 0,
    mailbox_max_seen: 61,
    messages_in: 18_402,
    messages_out: 96_117,
    restarts: 0,
    restarts_in_window: 0,
    window_s: 60,
    max_restarts: kind === 'actor' ? 3 : 0,
    limit_reached: false,
    links: 1,
    monitors: 3,
    ...(rate !== undefined && {
      rates: { sample_every: 2, in: wobble(rate), out: wobble(rate), mailbox: [] },
    }),
    ...rest,
    children,
  }
}
const tree = () => ({
  boot_id: 'boot-1',
  time: new Date().toISOString(),
  root: node('packetbench@localhost', 'application', {}, [
    node('app core', 'application', {}, [
      node('core_sup', 'supervisor', {}, [
        node('store', 'actor', { mailbox: 2, rate: 14.2 }),
        node('secret', 'actor', { state: 'sleep' }),
        node('bus', 'actor', { rate: 212 }),
      ]),
    ]),
    node('app agent', 'application', {}, [
      node('agent_sup', 'supervisor', {}, [
        node('sessions_sup', 'supervisor', { rate: 96.4 }, [
          node('conversation:c-live', 'actor', { rate: 41, mailbox: 3, uptime_s: 540 }),
          node('conversation:c-asks', 'actor', {
            rate: 2.5,
            mailbox: 1418,
            uptime_s: 2280,
            alarms: ['mailbox'],
          }),
        ]),
        node('engines_sup', 'supervisor', {}, [
          node('sidecar', 'actor', {
            state: 'down',
            limit_reached: true,
            restarts: 3,
            restarts_in_window: 3,
            uptime_s: 0,
            last_reason: "Error: Cannot find module './registry.js'",
            detail: { protocol: 11 },
          }),
          node('acp:packetcode', 'actor', { rate: 18.1, mailbox: 1, uptime_s: 10_920 }, [
            node('child', 'meta', { detail: { child_pid: 48_377 } }),
          ]),
        ]),
        node('terminals_sup', 'supervisor', {}, [
          node('terminal:t-tests', 'actor', {
            rate: 3.1,
            uptime_s: 4800,
            max_restarts: 0,
            detail: { command: 'bash', child_pid: 48_201 },
          }),
        ]),
      ]),
    ]),
    node('app edge', 'application', {}, [
      node('edge_sup', 'supervisor', {}, [
        node('bridge', 'actor', { detail: { addr: '127.0.0.1:7433' } }),
        node('viewers_sup', 'supervisor', {}, [
          node('viewer:4', 'actor', { rate: 211, uptime_s: 720 }),
        ]),
      ]),
    ]),
    node('app ops', 'application', {}, [
      node('ops_sup', 'supervisor', {}, [node('inspect', 'actor', { rate: 20.5 })]),
    ]),
  ]),
  house: {
    log: {
      up: true,
      first: 1,
      last: 213,
      bytes: 61 << 20,
      max_bytes: 256 << 20,
      in_flight: 0,
      waiting: 0,
      subjects: [],
    },
    windows: [
      {
        viewer: 'viewer:4',
        role: 'owner',
        kind: 'websocket',
        remote: '127.0.0.1:50112',
        subscriptions: 4,
        lag: 0,
        connected_s: 720,
      },
      {
        viewer: 'viewer:5',
        role: 'monitor',
        kind: 'sse',
        remote: '127.0.0.1:50140',
        subscriptions: 1,
        lag: 1204,
        connected_s: 240,
      },
    ],
    alarms: [
      {
        actor: 'conversation:c-asks',
        kind: 'mailbox',
        text: '1,418 messages wait for conversation:c-asks, more than 1,000 for 6 s.',
        since: ago(8),
      },
    ],
    awake: 2,
    stored: 10,
    actors: 41,
    sidecar: { state: 'down', restarts: 3, last_error: 'exit 1' },
    memory_bytes: 90 << 20,
    child_bytes: 210 << 20,
    goroutines: 140,
  },
})

const lines = ['sidecar exited', 'conversation woke', 'slow write', 'sidecar start failed'].map(
  (text, i) => ({
    n: i + 1,
    time: ago(40 - i * 8),
    level: ['warn', 'info', 'warn', 'error'][i],
    text,
    fields: { code: 1, restart: `${i}/3` },
  }),
)

const answers = {
  list_terminals: () => terminals,
  list_terminal_presets: () => presets,
  open_terminal: (p) => {
    terminals.push(
      terminal(p.terminal_id, p.command ?? 'bash', { cols: p.cols, rows: p.rows, cwd: p.cwd }),
    )
    screens[p.terminal_id] = prompt
    return { terminal_id: p.terminal_id }
  },
  close_terminal: (p) => {
    const at = terminals.findIndex((t) => t.terminal_id === p.terminal_id)
    if (at >= 0) terminals.splice(at, 1)
    return {}
  },
  restart_terminal: (p) => terminals.find((t) => t.terminal_id === p.terminal_id),
  get_settings: () => ({ app, providers: {} }),
  set_settings: (p) => {
    for (const [key, value] of Object.entries(p.app ?? {})) {
      if (value === null) delete app[key]
      else app[key] = value
    }
    return { app, providers: {} }
  },
  get_tree: tree,
  get_log: (p) => ({
    lines: lines.filter((l) => l.n > (p.after ?? 0)),
    last: lines.length,
    skipped: false,
    file: '/home/mira/.packetbench/log/service.log',
  }),
  reset_actor: () => ({ state: 'starting' }),
  list_profiles: () => ({ profiles: [], default: 'builtin-default' }),
  list_commands: () => [],
  list_edits: () => [],
  get_project: () => ({
    git: { is_git_repo: true, branch: 'main', is_clean: true, uncommitted_count: 0, warnings: [] },
    mcp: { servers: [], read_errors: [] },
    trusted: true,
    trust_asked: true,
  }),
}

/** Starts the scenes; events of the last minute are there already. */
export async function startWorkScenes(port = 0) {
  const mock = await startMock({ port, seed: seeds, answers, terminal: playTerminal })
  const reasons = ['exit 1', 'exit 1', 'signal 9 (killed)']
  for (const [i, reason] of reasons.entries()) {
    mock.publish('ops.restart', { actor: 'sidecar', reason, count_in_window: i + 1 })
  }
  mock.publish('ops.limit-reached', { supervisor: 'engines_sup', actor: 'sidecar' })
  return mock
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startWorkScenes(Number(process.argv[2] ?? 7433))
  console.log(`PacketBench ready: ${mock.url}`)
}
