// What the model is sent again at each turn. The provider keeps no session of
// its own, so the list of items is the memory, and it has to stay one that the
// API accepts: every call with its result, no reasoning without what it led to.
import type { AgentInputItem } from '@openai/agents'

import type { ImageAttachment, ResumeMessage } from '../../protocol.js'

/** What a turn says. */
export interface Content {
  readonly text: string
  readonly attachments: readonly ImageAttachment[]
}

const mediaTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** The message of a turn: pictures first. It throws for a picture that cannot be sent. */
export function userItem({ text, attachments }: Content): AgentInputItem {
  const pictures = attachments.map(({ media_type, data_base64 }) => {
    if (!mediaTypes.includes(media_type)) {
      throw new Error(
        `The picture type ${media_type} is not supported. Attach a JPEG, PNG, GIF or WebP.`,
      )
    }
    return {
      type: 'input_image' as const,
      image: `data:${media_type};base64,${data_base64}`,
    }
  })
  const words = text === '' ? [] : [{ type: 'input_text' as const, text }]
  return { role: 'user', content: [...pictures, ...words] }
}

/** An answer of the model as an item. */
export function assistantItem(text: string): AgentInputItem {
  return { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
}

/** An earlier transcript; blank messages are left out. */
export function resumedItems(messages: readonly ResumeMessage[]): AgentInputItem[] {
  return messages
    .filter((m) => m.content.trim() !== '')
    .map((m) => {
      switch (m.role) {
        case 'user':
          return userItem({ text: m.content, attachments: [] })
        case 'assistant':
          return assistantItem(m.content)
        case 'system':
          return { role: 'system', content: m.content }
      }
    })
}

/**
 * The items of a turn that ended anyhow, so that the next one can be sent: calls
 * without a result get `output`, and reasoning that led to nothing is dropped.
 */
export function repaired(items: readonly AgentInputItem[], output: string): AgentInputItem[] {
  const out: AgentInputItem[] = []
  const open = new Map<string, AgentInputItem>()
  const flush = (): void => {
    out.push(...open.values())
    open.clear()
  }
  for (const item of items) {
    if (item.type === 'function_call') {
      open.set(item.callId, {
        type: 'function_call_result',
        callId: item.callId,
        name: item.name,
        status: 'completed',
        output: { type: 'text', text: output },
      })
    } else if (item.type === 'function_call_result') {
      open.delete(item.callId)
    } else {
      flush()
    }
    out.push(item)
  }
  flush()
  while (out.at(-1)?.type === 'reasoning') out.pop()
  return out
}
