// What the tests with the real OpenAI Agents SDK share. Importing it registers
// the clean-up after each test of the file.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterEach } from 'vitest'

import { Child, scratch, start, type ChildOptions, type Frame } from './child.js'
import { OpenAIServer, type Part, type Reply } from './openai.js'

export const key = 'sk-test-not-a-secret'

/** A model of each API shape. */
export const shapes = [
  ['responses', 'gpt-5.2'],
  ['chat', 'gpt-4.1'],
] as const

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

export interface OpenAIRig {
  child: Child
  server: OpenAIServer
  /** Holds the project and nothing else. */
  folder: string
  project: string
  open: (id: string, more?: Record<string, unknown>) => void
  /** Answers one prompt. */
  answer: (id: string, toolUseId: string, fields: Record<string, unknown>) => void
  say: (id: string, turnId: string, content: string) => void
}

/** A built sidecar with a server and folders of its own, gone after the test. */
export async function openaiRig(more: ChildOptions = {}): Promise<OpenAIRig> {
  const folder = scratch()
  const project = join(folder.path, 'project')
  mkdirSync(project)
  const server = await OpenAIServer.listen(key, `${key}-2`)
  cleanups.push(folder.remove, () => server.close())
  const child = new Child({
    ...more,
    env: { OPENAI_BASE_URL: server.url, HOME: folder.path, ...more.env },
  })
  cleanups.push(() => child.close())
  await child.ready()
  return {
    child,
    server,
    folder: folder.path,
    project,
    open: (id, fields = {}) =>
      child.send(
        start(id, 'openai-agents', {
          projectPath: project,
          apiKey: key,
          model: 'gpt-5.2',
          ...fields,
        }),
      ),
    answer: (sessionId, toolUseId, fields) =>
      child.send({ type: 'permission_response', sessionId, toolUseId, ...fields }),
    say: (sessionId, turnId, content) =>
      child.send({ type: 'send_message', sessionId, turnId, content }),
  }
}

/** One call, for a reply. */
export function call(id: string, name: string, args: unknown): Part {
  return { call: { id, name, args } }
}

/** A reply that calls one tool. */
export function calls(...parts: Part[]): Reply {
  return { parts }
}

export const types = (frames: readonly Frame[]): string[] => frames.map((f) => f.type)

/** Neighbouring repetitions count once. */
export const shape = (frames: readonly Frame[]): string[] =>
  types(frames).filter((t, i, all) => t !== all[i - 1])

export const last = (frames: readonly Frame[]): Frame => frames.at(-1) ?? { type: 'nothing' }
