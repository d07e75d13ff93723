// The messages that go into one long-lived query, and what they are made of.
import type { SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'

import type { ImageAttachment, InjectedTurn, ResumeMessage } from '../../protocol.js'

/** What a turn says. */
export interface Content {
  readonly text: string
  readonly attachments: readonly ImageAttachment[]
}

/** A queue that is read as an async iterable; end() lets the reader finish. */
export class Prompt implements AsyncIterable<SDKUserMessage> {
  private readonly queue: SDKUserMessage[] = []
  private wake: (() => void) | undefined
  private ended = false

  push(message: SDKUserMessage): void {
    this.queue.push(message)
    this.wake?.()
  }

  end(): void {
    this.ended = true
    this.wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SDKUserMessage> {
    for (;;) {
      const next = this.queue.shift()
      if (next !== undefined) {
        yield next
        continue
      }
      if (this.ended) return
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }
}

const mediaTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const

/**
 * The message of a turn: pictures first, then the text; an empty text is left
 * out, because the provider refuses empty blocks (faults.md F14).
 */
export function userMessage(content: Content): SDKUserMessage {
  const pictures = content.attachments.map((a) => {
    const mediaType = mediaTypes.find((t) => t === a.media_type)
    if (mediaType === undefined) {
      throw new Error(
        `The picture type ${a.media_type} is not supported. Attach a JPEG, PNG, GIF or WebP.`,
      )
    }
    return {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: mediaType, data: a.data_base64 },
    }
  })
  const words = content.text === '' ? [] : [{ type: 'text' as const, text: content.text }]
  return {
    type: 'user',
    message: { role: 'user', content: [...pictures, ...words] },
    parent_tool_use_id: null,
  }
}

/** The text with an earlier transcript ahead of it, for a session the SDK does not know. */
export function withHistory(text: string, history: readonly ResumeMessage[]): string {
  const messages = history
    .filter((m) => m.content.trim() !== '')
    .map((m) => `<message role="${m.role}">\n${m.content}\n</message>`)
  if (messages.length === 0) return text
  return `<conversation_history>\n${messages.join('\n')}\n</conversation_history>\n\n${text}`
}

/** What an injected turn says: the user's words as they are, an event in a tag of its own. */
export function injectedText(injected: InjectedTurn): string {
  if (injected.source === 'user') return injected.content
  const kind = (injected.trigger?.kind ?? 'user').replace(/["<>]/g, '')
  return `<wake_trigger source="wake_trigger" kind="${kind}">${injected.content}</wake_trigger>`
}
