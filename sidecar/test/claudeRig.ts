// What the tests with the real Claude SDK share. Importing it registers the
// clean-up after each test of the file.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterEach } from 'vitest'

import { Child, scratch, start, type ChildOptions, type Frame } from './child.js'
import { MessagesServer, type Block, type Reply } from './messages.js'

export const key = 'sk-test-not-a-secret'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

export interface Rig {
  child: Child
  server: MessagesServer
  project: string
  state: string
  /** Starts a child with the same state, as the host does after a death. */
  again: (more?: ChildOptions) => Child
  open: (id: string, more?: Record<string, unknown>) => void
}

/** A built sidecar with a server and folders of its own, gone after the test. */
export async function rig(more: ChildOptions = {}): Promise<Rig> {
  const folder = scratch()
  const project = join(folder.path, 'project')
  const state = join(folder.path, 'state')
  mkdirSync(project)
  const server = await MessagesServer.listen(key)
  cleanups.push(folder.remove, () => server.close())
  const again = (extra: ChildOptions = {}): Child => {
    const child = new Child({
      ...extra,
      env: { ANTHROPIC_BASE_URL: server.url, PACKETBENCH_SIDECAR_STATE: state, ...extra.env },
    })
    cleanups.push(() => child.close())
    return child
  }
  const child = again(more)
  await child.ready()
  return {
    child,
    server,
    project,
    state,
    again,
    open: (id, fields = {}) =>
      child.send(start(id, 'claude-oauth', { projectPath: project, apiKey: key, ...fields })),
  }
}

/** A reply that says something and calls one tool. */
export function tool(id: string, name: string, input: unknown, before = 'Working. '): Reply {
  const blocks: Block[] = [
    { type: 'text', text: [before] },
    { type: 'tool_use', id, name, input },
  ]
  return { blocks }
}

export const types = (frames: readonly Frame[]): string[] => frames.map((f) => f.type)

/** Neighbouring repetitions count once. */
export const shape = (frames: readonly Frame[]): string[] =>
  types(frames).filter((t, i, all) => t !== all[i - 1])

export const last = (frames: readonly Frame[]): Frame => frames.at(-1) ?? { type: 'nothing' }
