// The provider that repeats what it is told. The conformance tests of the
// transport are written against it, so its every text and pause is fixed.
// Source: sidecar-protocol.md 12.1.
import type { EditAnswer } from '../protocol.js'
import type { Emit, PostureMode, ProviderFactory, ProviderSession, Turn } from './types.js'

/** Between two chunks, in ms. */
const PAUSE_MS = 50

/** Answers commands, which open no turn of the registry. */
const unguarded: Turn = { id: undefined }

/**
 * Cuts text into three pieces of ceil(length / 3) UTF-16 units, filled up with
 * empty ones. Deliberate: a cut inside a surrogate pair moves behind it, since a
 * delta never ends inside a character.
 */
export function cut(text: string): string[] {
  const size = Math.ceil(text.length / 3)
  const pieces: string[] = []
  let from = 0
  for (let i = 1; i <= 3; i += 1) {
    let to = Math.min(text.length, Math.max(from, i * size))
    if (splitsPair(text, to)) to += 1
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000
}

class Echo implements ProviderSession {
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly initialMessage: string,
    private readonly emit: Emit,
  ) {}

  async start(turn: Turn): Promise<void> {
    if (this.initialMessage !== '') this.repeat(turn, this.initialMessage)
  }

  sendMessage(turn: Turn, content: string): void {
    this.repeat(turn, content)
  }

  respondEdit(answer: EditAnswer): void {
    this.say(unguarded, `[echo] edit_response: ${answer.toolUseId}\n`)
  }

  setPermissionMode(mode: PostureMode): void {
    this.say(unguarded, `[echo] set_permission_mode: ${mode}\n`)
  }

  setModel(model: string): void {
    this.say(unguarded, `[echo] set_model: ${model}\n`)
  }

  retry(turn: Turn): void {
    this.say(turn, '[echo] retry\n')
  }

  cancel(): void {
    clearTimeout(this.timer)
  }

  close(): void {
    clearTimeout(this.timer)
  }

  private say(turn: Turn, text: string): void {
    this.emit({ type: 'chunk', text }, turn)
    this.emit({ type: 'done', inputTokens: 0, outputTokens: 0 }, turn)
  }

  private repeat(turn: Turn, text: string): void {
    clearTimeout(this.timer)
    const pieces = cut(text)
    const next = (i: number): void => {
      this.emit({ type: 'chunk', text: pieces[i] ?? '' }, turn)
      if (i < pieces.length - 1) {
        this.timer = setTimeout(() => next(i + 1), PAUSE_MS)
        return
      }
      this.emit({ type: 'done', inputTokens: text.length, outputTokens: text.length }, turn)
    }
    next(0)
  }
}

/** The `echo` provider. */
export const createEcho: ProviderFactory = (options, emit) => new Echo(options.initialMessage, emit)
