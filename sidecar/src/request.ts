// Decodes one line of stdin into a checked request. null counts as absent,
// unknown fields are ignored. Source: sidecar-protocol.md 1 and 2.
import type {
  AnsweredBy,
  EditAnswer,
  ImageAttachment,
  InjectedTurn,
  McpServerConfig,
  PermissionAnswer,
  PermissionMode,
  ResumeMessage,
  StartRequest,
  WorkspaceRef,
} from './protocol.js'
import type { PostureMode } from './providers/types.js'

/** One request, checked. */
export type Request = { sessionId: string } & (
  | { type: 'start_session'; start: StartRequest }
  | {
      type: 'send_message'
      content: string
      attachments: ImageAttachment[]
      turnId: string | undefined
    }
  | { type: 'permission_response'; answer: PermissionAnswer }
  | { type: 'edit_response'; answer: EditAnswer }
  | { type: 'cancel' }
  | { type: 'close_session' }
  | { type: 'set_permission_mode'; mode: PostureMode }
  | { type: 'set_approve_writes'; approveWrites: boolean }
  | { type: 'set_model'; model: string }
  | { type: 'retry'; turnId: string | undefined }
  | { type: 'cancel_pending_tools' }
  | { type: 'inject_user_turn'; injected: InjectedTurn; turnId: string | undefined }
)

/**
 * What a line turned out to be. `refused` names a session, so it is answered
 * there; `dropped` does not, so it is only logged.
 */
export type Decoded =
  | { kind: 'blank' }
  | { kind: 'request'; request: Request }
  | { kind: 'refused'; sessionId: string; request: string; message: string }
  | { kind: 'dropped'; why: string }

type Fields = Record<string, unknown>

class FieldError extends Error {}

const strict = new TextDecoder('utf-8', { fatal: true })

/** Decodes one line, without its line break. It never throws. */
export function decodeRequest(line: Buffer): Decoded {
  let text: string
  try {
    text = strict.decode(line)
  } catch {
    return { kind: 'dropped', why: 'a request is not valid UTF-8' }
  }
  if (text.trim() === '') return { kind: 'blank' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The text is not repeated: it may hold a key.
    return { kind: 'dropped', why: 'a request is not valid JSON' }
  }
  if (!isFields(value)) return { kind: 'dropped', why: 'a request is not a JSON object' }
  const { type, sessionId } = value
  if (typeof sessionId !== 'string' || sessionId === '') {
    return { kind: 'dropped', why: `a request names no session: ${String(type).slice(0, 64)}` }
  }
  if (typeof type !== 'string') return { kind: 'dropped', why: 'a request has no type' }
  try {
    const request = decode(type, sessionId, value)
    if (request !== undefined) return { kind: 'request', request }
    return { kind: 'refused', sessionId, request: type, message: `Unknown request type: ${type}` }
  } catch (thrown) {
    if (!(thrown instanceof FieldError)) throw thrown
    return { kind: 'refused', sessionId, request: type, message: thrown.message }
  }
}

function decode(type: string, sessionId: string, f: Fields): Request | undefined {
  const field = new Reader(type, f)
  switch (type) {
    case 'start_session':
      return { type, sessionId, start: decodeStart(field) }
    case 'send_message':
      return {
        type,
        sessionId,
        content: field.text('content'),
        attachments: field.list('attachments', attachment),
        turnId: field.optionalText('turnId'),
      }
    case 'permission_response':
      return {
        type,
        sessionId,
        answer: {
          toolUseId: field.text('toolUseId'),
          decision: field.oneOf('decision', decisions),
          reason: field.optionalText('reason'),
          by: field.optionalOneOf('by', answeredBy) ?? 'user',
        },
      }
    case 'edit_response':
      return {
        type,
        sessionId,
        answer: {
          toolUseId: field.text('toolUseId'),
          approved: field.bool('approved'),
          mergedContent: field.optionalText('mergedContent'),
        },
      }
    case 'set_permission_mode':
      return { type, sessionId, mode: field.mode('mode', postures) }
    case 'set_approve_writes':
      return { type, sessionId, approveWrites: field.bool('approveWrites') }
    case 'set_model':
      return { type, sessionId, model: field.text('model') }
    case 'retry':
      return { type, sessionId, turnId: field.optionalText('turnId') }
    case 'inject_user_turn':
      return {
        type,
        sessionId,
        injected: {
          content: field.text('content'),
          source: field.oneOf('source', sources),
          trigger: trigger(f['trigger']),
          maxOutputTokens: field.optionalNumber('maxOutputTokens'),
        },
        turnId: field.optionalText('turnId'),
      }
    case 'cancel':
    case 'close_session':
    case 'cancel_pending_tools':
      return { type, sessionId }
    default:
      return undefined
  }
}

function decodeStart(field: Reader): StartRequest {
  return {
    provider: field.text('provider'),
    model: field.text('model'),
    systemPrompt: field.optionalText('systemPrompt') ?? '',
    allowedTools: field.list('allowedTools', (v) => (typeof v === 'string' ? v : undefined)),
    mcpServers: field.servers('mcpServers'),
    mcpTrustSnapshot: field.optionalList('mcpTrustSnapshot'),
    projectPath: field.optionalText('projectPath') ?? '',
    initialMessage: field.optionalText('initialMessage') ?? '',
    turnId: field.optionalText('turnId'),
    apiKey: field.optionalText('apiKey'),
    baseUrl: field.optionalText('baseUrl'),
    resume: field.optionalText('resume'),
    thinkingEnabled: field.optionalBool('thinkingEnabled'),
    planMode: field.optionalBool('planMode'),
    attachments: field.list('attachments', attachment),
    resumeMessages: field.list('resumeMessages', resumeMessage),
    permissionMode: field.optionalMode('permissionMode') ?? 'ask_for_risky',
    approveWrites: field.optionalBool('approveWrites'),
    workspace: field.workspace('workspace'),
    sourceMcpFromFs: field.optionalBool('sourceMcpFromFs'),
  }
}

const decisions = ['approve', 'allow_once', 'allow_always', 'deny'] as const
const answeredBy: readonly AnsweredBy[] = ['user', 'policy', 'timeout', 'cancel']
const sources = ['user', 'wake_trigger'] as const
const roles = ['user', 'assistant', 'system'] as const
const modes: readonly PermissionMode[] = ['auto', 'ask_for_risky', 'allow_all', 'deny_all']
const postures: readonly PostureMode[] = [
  ...modes,
  'plan',
  'default',
  'acceptEdits',
  'bypassPermissions',
  'dontAsk',
]

/** What an SDK's own name counts as. Source: sidecar-protocol.md 12.2, permission mode. */
export function permissionModeOf(mode: Exclude<PostureMode, 'plan'>): PermissionMode {
  switch (mode) {
    case 'default':
      return 'ask_for_risky'
    case 'acceptEdits':
      return 'auto'
    case 'bypassPermissions':
      return 'allow_all'
    case 'dontAsk':
      return 'deny_all'
    case 'auto':
    case 'ask_for_risky':
    case 'allow_all':
    case 'deny_all':
      return mode
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function attachment(value: unknown): ImageAttachment | undefined {
  if (!isFields(value)) return undefined
  const { media_type, data_base64 } = value
  return isText(media_type) && isText(data_base64) ? { media_type, data_base64 } : undefined
}

function resumeMessage(value: unknown): ResumeMessage | undefined {
  if (!isFields(value)) return undefined
  const role = roles.find((r) => r === value['role'])
  const content = value['content']
  return role !== undefined && isText(content) ? { role, content } : undefined
}

function trigger(value: unknown): InjectedTurn['trigger'] {
  if (!isFields(value)) return undefined
  return { kind: isText(value['kind']) ? value['kind'] : undefined, payload: value['payload'] }
}

class Reader {
  constructor(
    private readonly type: string,
    private readonly f: Fields,
  ) {}

  text(name: string): string {
    return this.optionalText(name) ?? this.refuse(name, 'a string')
  }

  optionalText(name: string): string | undefined {
    const v = this.f[name]
    if (v === undefined || v === null) return undefined
    return isText(v) ? v : this.refuse(name, 'a string')
  }

  bool(name: string): boolean {
    const v = this.f[name]
    return typeof v === 'boolean' ? v : this.refuse(name, 'true or false')
  }

  optionalBool(name: string): boolean {
    const v = this.f[name]
    return v === undefined || v === null ? false : this.bool(name)
  }

  optionalNumber(name: string): number | undefined {
    const v = this.f[name]
    if (v === undefined || v === null) return undefined
    return typeof v === 'number' ? v : this.refuse(name, 'a number')
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T {
    return this.optionalOneOf(name, values) ?? this.refuse(name, `one of ${values.join(', ')}`)
  }

  optionalOneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const v = this.f[name]
    if (v === undefined || v === null) return undefined
    return values.find((x) => x === v) ?? this.refuse(name, `one of ${values.join(', ')}`)
  }

  mode(name: string, values: readonly PostureMode[]): PostureMode {
    const v = this.text(name)
    const known = values.find((m) => m === v)
    if (known === undefined) throw new FieldError(`Unknown permission mode: ${v}`)
    return known
  }

  optionalMode(name: string): PermissionMode | undefined {
    if (this.optionalText(name) === undefined) return undefined
    const m = this.mode(name, postures)
    // A start says plan in a field of its own.
    if (m === 'plan') throw new FieldError('Unknown permission mode: plan')
    return permissionModeOf(m)
  }

  optionalList(name: string): unknown[] | undefined {
    const v = this.f[name]
    if (v === undefined || v === null) return undefined
    return Array.isArray(v) ? v : this.refuse(name, 'a list')
  }

  list<T>(name: string, item: (value: unknown) => T | undefined): T[] {
    return (this.optionalList(name) ?? []).map(
      (v) => item(v) ?? this.refuse(name, 'a list of the right things'),
    )
  }

  servers(name: string): Record<string, McpServerConfig> {
    const v = this.f[name]
    if (v === undefined || v === null) return {}
    if (!isFields(v)) return this.refuse(name, 'an object')
    const servers: Record<string, McpServerConfig> = {}
    for (const [server, config] of Object.entries(v)) {
      const given = withoutNulls(config)
      if (!isServer(given)) return this.refuse(`${name}.${server}`, 'a server configuration')
      servers[server] = given
    }
    return servers
  }

  workspace(name: string): WorkspaceRef | undefined {
    const v = this.f[name]
    if (v === undefined || v === null) return undefined
    if (!isFields(v) || !isText(v['kind'])) return this.refuse(name, 'a workspace')
    const path = v['projectPath']
    return isText(path) ? { kind: v['kind'], projectPath: path } : { kind: v['kind'] }
  }

  private refuse(name: string, what: string): never {
    throw new FieldError(`Invalid ${this.type}: ${name} must be ${what}.`)
  }
}

function withoutNulls(value: unknown): unknown {
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== null))
}

function isServer(value: unknown): value is McpServerConfig {
  if (!isFields(value)) return false
  const text = (name: string): boolean => value[name] === undefined || isText(value[name])
  const texts = (v: unknown): boolean =>
    v === undefined || (isFields(v) && Object.values(v).every(isText))
  const { args } = value
  return (
    text('type') &&
    text('command') &&
    text('url') &&
    texts(value['env']) &&
    texts(value['headers']) &&
    (args === undefined || (Array.isArray(args) && args.every(isText)))
  )
}
