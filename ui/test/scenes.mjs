// scenes.mjs: conversations to look at, one for every part of the transcript
// and the review. Names, models and paths are invented. Used by e2e/looks.mjs
// and by whoever works on the page: node test/scenes.mjs [port]
import { fileURLToPath } from 'node:url'
import { startMock } from './mock.mjs'

const project = '/home/mira/src/harborline'
const now = Date.now()

const call = (id, name, input, more = {}) => ({
  id,
  name,
  status: 'done',
  input: JSON.stringify(input),
  content: '',
  ...more,
})
const tools = (calls) => calls.map((c) => ({ type: 'tool', id: c.id }))

const clockBefore = [
  'package lease',
  '',
  'import (',
  '\t"sync"',
  '\t"time"',
  ')',
  '',
  '// Clock tells the time.',
  '//',
  '// A test gives its own.',
  '',
  '// The lease asks it once.',
  '',
  'type Clock interface{ Now() time.Time }',
  '',
  '// System is the clock of the machine.',
  'type System struct {',
  '\tmu  sync.Mutex',
  '\tnow func() time.Time',
  '}',
  '',
  '// NewSystem returns it.',
  'func NewSystem() *System {',
  '\treturn &System{now: time.Now}',
  '}',
  '',
  '// Now is the time at the call.',
  'func (c *System) Now() time.Time {',
  '\treturn c.now()',
  '}',
  '',
].join('\n')
const clockAfter = clockBefore
  .replace(
    'type Clock interface{ Now() time.Time }',
    'type Clock interface {\n\tNow() time.Time\n\t// Deadline is fixed when the lease is granted.\n\tDeadline(ttl time.Duration) time.Time\n}',
  )
  .replace('\treturn c.now()', '\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\treturn c.now()')
const renewBefore = [
  'package lease',
  '',
  'func (r *Renewer) loop(ctx context.Context) error {',
  '\tif r.clock.Now().After(r.lease.Expiry) {',
  '\t\treturn ErrExpired',
  '\t}',
  '\twait := time.Until(r.lease.Expiry) / 3',
  '\treturn r.sleep(ctx, wait)',
  '}',
  '',
].join('\n')
const renewAfter = renewBefore.replace(
  /\tif r\.clock[\s\S]*\/ 3\n/,
  '\tend := r.clock.Deadline(r.lease.TTL)\n\twait := end.Sub(r.clock.Now()) / 3\n',
)

const lookAround = [
  call('l1', 'Read', { file_path: `${project}/internal/lease/renew.go` }),
  call('l2', 'Read', { file_path: `${project}/internal/lease/clock.go` }),
  call('l3', 'Grep', { pattern: 'Deadline' }),
  call('l4', 'Glob', { pattern: 'internal/**/*.go' }),
  call('l5', 'LS', { path: project }),
]
const test = call(
  'sh1',
  'Bash',
  { command: 'go test -race -run TestRenew -count=30 ./internal/lease' },
  {
    status: 'error',
    exit_code: 1,
    stdout: '--- FAIL: TestRenew (0.02s)\n    renew_test.go:41: expired at 1.2 s, want 3 s\nFAIL',
    stderr: 'exit status 1',
  },
)
const edit = call(
  'ed1',
  'Edit',
  { file_path: `${project}/internal/lease/renew.go`, old_string: 'a', new_string: 'b' },
  { lines_added: 24, lines_removed: 17 },
)
const waiting = call(
  'ed2',
  'Edit',
  { file_path: `${project}/internal/lease/clock.go`, old_string: 'a', new_string: 'b' },
  { status: 'running' },
)
const soak = call(
  'ag1',
  'Task',
  { description: 'Soak the lease package', prompt: 'Run the tests of the package 50 times.' },
  { status: 'running' },
)
const ask = call(
  'sh2',
  'Bash',
  { command: 'go test -race -count=50 ./internal/lease/...' },
  { status: 'running' },
)

const plan = [
  { content: 'Reproduce the failure under -race', status: 'completed' },
  { content: 'Find who reads the deadline twice', status: 'completed' },
  { content: 'Give renewal one deadline', status: 'completed' },
  { content: 'Soak the package', activeForm: 'Soaking the lease package', status: 'in_progress' },
  { content: 'Add a regression test with a fake clock', status: 'pending' },
]
const thought =
  'The timer and the caller both read the clock, so a slow machine sees two deadlines.'
const said =
  'Renewal now takes one deadline when the lease is granted and never reads the clock again, so the two can no longer disagree. A sub-agent is soaking the package while I write the regression test'
export const seeds = ({ create }) => {
  const base = { project_path: project, row: 'api-claude-oauth', model: 'claude-sonnet-4-5' }
  const live = [...lookAround, test, edit, waiting, soak, ask]
  create({
    ...base,
    session_id: 'c-live',
    title: 'Flaky lease renewal',
    extra: {
      status: 'active',
      needs_you: 2,
      permission_mode: 'ask_for_risky',
      approve_writes: true,
      plan,
      turn_id: 't-2',
      context: { used: 82400, window: 200000 },
      allow_patterns: ['Bash(go vet:*)'],
      messages: [
        { id: 'm-1', role: 'user', content: 'TestRenew is flaky. Find out why.', timestamp: now },
        {
          id: 't-1',
          role: 'assistant',
          turn_id: 't-1',
          timestamp: now,
          content:
            'It fails about once in thirty runs.\n\nError: Sidecar restarted — please resend your message to continue this conversation.',
          error: 'Sidecar restarted — please resend your message to continue this conversation.',
          outcome: 'error',
        },
        {
          id: 'm-2',
          role: 'user',
          content: 'Go on. Keep the public API as it is.',
          timestamp: now,
        },
        {
          id: 't-2',
          role: 'assistant',
          turn_id: 't-2',
          timestamp: now,
          is_streaming: true,
          thinking: thought,
          content: said,
          tool_calls: live,
          parts: [
            { type: 'thinking', length: thought.length },
            ...tools([...lookAround, test, edit, waiting, soak]),
            { type: 'text', length: said.length },
            ...tools([ask]),
          ],
        },
        {
          id: 'm-3',
          role: 'user',
          content: 'Then add a line to CHANGELOG.md.',
          timestamp: now,
          queued: true,
        },
      ],
      queue: [{ message_id: 'm-3', content: 'Then add a line to CHANGELOG.md.' }],
      pending_permissions: [
        {
          id: 'sh2',
          name: 'Bash',
          arguments: ask.input,
          tier: 'blocking',
          destructive: false,
          allow_pattern: 'Bash(go test:*)',
          opened_at: now - 42_000,
        },
      ],
      pending_edits: [
        {
          id: 'ed2',
          path: `${project}/internal/lease/clock.go`,
          content: clockAfter,
          before: clockBefore,
          opened_at: now - 20_000,
        },
      ],
    },
  })
  const danger = [
    call('d1', 'bash', { command: 'git clean -fdx' }, { status: 'running' }),
    call('d2', 'web_fetch', { url: 'https://example.org/lease' }, { status: 'running' }),
    call('d3', 'mcp__tracker__close_issue', { id: 7 }, { status: 'running' }),
  ]
  const permission = (c, more) => ({
    id: c.id,
    name: c.name,
    arguments: c.input,
    tier: 'blocking',
    destructive: false,
    batch_size: 4,
    opened_at: now - 9000,
    ...more,
  })
  create({
    ...base,
    session_id: 'c-asks',
    title: 'Split the edge config loader',
    extra: {
      status: 'active',
      needs_you: 3,
      turn_id: 't-1',
      messages: [
        { id: 'm-1', role: 'user', content: 'Clean up and close the issue.', timestamp: now },
        {
          id: 't-1',
          role: 'assistant',
          turn_id: 't-1',
          timestamp: now,
          is_streaming: true,
          content: '',
          tool_calls: danger,
          parts: tools(danger),
        },
      ],
      pending_permissions: [
        permission(danger[0], {
          destructive: true,
          allow_pattern: 'Bash(git clean:*)',
          sources: [{ origin: 'web', label: 'web_fetch', locator: 'https://example.org/lease' }],
        }),
        permission(danger[1]),
        permission(danger[2]),
      ],
    },
  })
  const settledPlan =
    'I read the package.\n\n## Plan\n\n1. Give renewal one deadline\n2. Soak the package\n\n## Files to change\n\n- `internal/lease/renew.go`'
  create({
    ...base,
    session_id: 'c-plan',
    title: 'Port the retry budget to v2',
    extra: {
      plan_mode: true,
      permission_mode: 'auto',
      plan: plan.map((p) => ({ ...p, status: 'pending' })),
      messages: [
        { id: 'm-1', role: 'user', content: 'Plan it first.', timestamp: now },
        {
          id: 't-1',
          role: 'assistant',
          turn_id: 't-1',
          timestamp: now,
          content: settledPlan,
          outcome: 'done',
          input_tokens: 5100,
          output_tokens: 812,
        },
      ],
    },
  })
  const todo = call('td', 'TodoWrite', {
    todos: plan.map((p) => ({ content: p.content, status: p.status, activeForm: p.activeForm })),
  })
  const many = [
    call('e1', 'Write', { file_path: `${project}/a.go` }, { lines_added: 40, lines_removed: 2 }),
    call(
      'e2',
      'MultiEdit',
      { file_path: `${project}/b.go` },
      { lines_added: 11, lines_removed: 9 },
    ),
    call('e3', 'Edit', { file_path: `${project}/c.go` }, { lines_added: 10, lines_removed: 7 }),
  ]
  const settled = [
    ...lookAround,
    call('s1', 'Bash', { command: 'npm run build' }, { content: 'built in 2.1 s', exit_code: 0 }),
    call(
      's2',
      'Bash',
      { command: 'make lint' },
      {
        status: 'error',
        exit_code: 2,
        content: Array.from(
          { length: 214 },
          (_, i) => `renew.go:${61 + i}:2: timer never stopped`,
        ).join('\n'),
      },
    ),
    call(
      's3',
      'bash',
      { command: 'curl https://example.org' },
      { status: 'error', denied_by: 'user' },
    ),
    call('s4', 'mcp__docs__search', { query: 'lease' }, { content: '3 pages' }),
    call('s5', 'WebFetch', { url: 'https://example.org/lease' }, { content: 'A page.' }),
    call(
      's6',
      'Task',
      { description: 'Soak test', prompt: 'x' },
      { content: 'It **holds**: 50 of 50 runs.' },
    ),
    todo,
    ...many,
  ]
  const words = 'All of it is done, and the package holds.'
  create({
    ...base,
    session_id: 'c-done',
    title: 'Document drain sequence',
    extra: {
      status: 'done',
      diff_comments: [
        {
          id: 'k1',
          path: 'grant.go',
          line: 22,
          side: 'new',
          text: 'Same constant here, please',
          created_at: now,
        },
      ],
      messages: [
        { id: 'm-1', role: 'user', content: 'Do all of it.', timestamp: now },
        {
          id: 't-1',
          role: 'assistant',
          turn_id: 't-1',
          timestamp: now,
          thinking: thought,
          content: words,
          outcome: 'done',
          input_tokens: 21000,
          output_tokens: 1904,
          tool_calls: settled,
          parts: [
            { type: 'thinking', length: thought.length },
            ...tools(settled),
            { type: 'text', length: words.length },
          ],
        },
        {
          id: 'n-1',
          role: 'system',
          content: 'Switched to the fallback model: overloaded',
          timestamp: now,
        },
      ],
    },
  })
  return []
}

const file = (path, hash, more = {}) => ({
  path,
  state: 'modified',
  hash,
  lines_added: 2,
  lines_removed: 4,
  size_before: 300,
  size_now: 280,
  can_undo: true,
  edited_outside: false,
  view: 'full',
  ...more,
})
const disk = {
  'internal/lease/renew.go': {
    file: file('internal/lease/renew.go', 'h-renew'),
    before: renewBefore,
    now: renewAfter,
  },
  'internal/lease/renew_clock_test.go': {
    file: file('internal/lease/renew_clock_test.go', 'h-test', {
      state: 'new',
      lines_added: 24,
      lines_removed: 0,
      size_before: -1,
      can_undo: false,
      why_not: 'The file did not exist before; delete it to undo it.',
    }),
    before: null,
    now: 'package lease\n\nfunc TestRenewClock(t *testing.T) {\n\tt.Parallel()\n}\n',
  },
  'internal/lease/grant.go': {
    file: file('internal/lease/grant.go', 'h-grant', {
      edited_outside: true,
      can_undo: false,
      why_not: 'Somebody else has changed this file since; undo hunk by hunk.',
    }),
    before: renewBefore,
    now: renewBefore.replace('/ 3', '/ factor'),
  },
}

const answers = {
  list_edits: () => Object.values(disk).map((d) => d.file),
  get_edit: (p) => disk[p.path],
  undo_edit: (p) => ({ ...disk[p.path], now: p.merged_content ?? disk[p.path].before }),
  set_diff_comments: (p, { need, patch }) => {
    patch(need(p.session_id), { diff_comments: p.comments })
    return {}
  },
  respond_edit: (p, { need, what, patch }) => {
    const c = need(p.session_id)
    c.pending_edits = c.pending_edits.filter((e) => e.id !== p.tool_id)
    what(c, 'edit-resolved', { id: p.tool_id, decision: p.decision, by: 'user' })
    patch(c, { needs_you: c.pending_permissions.length + c.pending_edits.length })
    return {}
  },
  get_settings: () => ({}),
  list_profiles: () => ({ profiles: [], default: 'builtin-default' }),
  get_project: () => ({
    git: { is_git_repo: true, branch: 'main', is_clean: false, uncommitted_count: 3, warnings: [] },
    mcp: { servers: [], read_errors: [] },
    trusted: true,
    trust_asked: true,
  }),
  list_commands: () => [],
}

export const startScenes = (port = 0) => startMock({ port, seed: seeds, answers })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startScenes(Number(process.argv[2] ?? 7433))
  console.log(`PacketBench ready: ${mock.url}`)
}
