// Values for tests: a conversation in which nothing happened yet.

import type { Conversation, Message } from '../src/contract/model'

export function sampleMessage(change: Partial<Message> = {}): Message {
  return {
    id: 'm-1',
    role: 'user',
    content: '',
    thinking: '',
    timestamp: 1,
    turn_id: '',
    error: '',
    is_streaming: false,
    queued: false,
    tool_calls: [],
    parts: [],
    attachments: [],
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    ...change,
  }
}

export function sampleConversation(change: Partial<Conversation> = {}): Conversation {
  return {
    session_id: 'c-1',
    title: 'Sample',
    row: 'api-demo',
    provider: 'demo',
    model: 'demo',
    project_path: '/p',
    status: 'idle',
    archived: false,
    pinned: false,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    needs_you: 0,
    queued: 0,
    retired_notice: '',
    messages: [],
    pending_permissions: [],
    pending_edits: [],
    queue: [],
    plan: [],
    posture: { plan_mode: false, permission_mode: 'auto', approve_writes: false },
    allow_patterns: [],
    diff_comments: [],
    turn_id: '',
    stopping: false,
    profile: '',
    memory_context_enabled: false,
    capabilities: {
      permissionModes: ['auto', 'ask_for_risky', 'allow_all', 'deny_all'],
      canGateWrites: true,
      canPlanMode: true,
      models: [
        { value: 'demo', label: 'Demo', contextWindow: 32000, price: { input: 0, output: 0 } },
      ],
      modelsAreAuthoritative: true,
      fileMentions: true,
      slashCommands: true,
      imageAttachments: true,
      remote: false,
      canRename: true,
      canFork: true,
      canCancelTurn: true,
    },
    ...change,
  }
}
