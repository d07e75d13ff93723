// The built sidecar as a child process, as the host has it: frames in, frames
// out. Every wait has a deadline and none of them sleeps.
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** One event of the child, as it came. */
export interface Frame {
  type: string
  sessionId?: string
  turnId?: string
  [key: string]: unknown
}

export const entry = fileURLToPath(new URL('../dist/index.js', import.meta.url))

export interface ChildOptions {
  env?: Record<string, string>
  /** Arguments of node, ahead of the script. */
  node?: string[]
  script?: string
  /** A program with its arguments that runs node in its turn, as strace does. */
  under?: string[]
}

/** A folder of its own for one test, removed by its remove(). */
export function scratch(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'pb-sidecar-test-'))
  return {
    path,
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  }
}

export class Child {
  readonly frames: Frame[] = []
  /** Lines of stdout that are no frames; there must be none. */
  readonly strays: string[] = []
  stderr = ''
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  private readonly process: ChildProcessByStdio<Writable, Readable, Readable>
  private readonly watchers = new Set<() => void>()

  constructor(options: ChildOptions = {}) {
    const [command = '', ...args] = [
      ...(options.under ?? []),
      process.execPath,
      ...(options.node ?? []),
      options.script ?? entry,
    ]
    this.process = spawn(command, args, {
      env: { PATH: process.env['PATH'] ?? '', ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, as the host makes it.
      detached: true,
    })
    let rest = ''
    this.process.stdout.setEncoding('utf8')
    this.process.stdout.on('data', (piece: string) => {
      const lines = (rest + piece).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.take(line)
      for (const watch of [...this.watchers]) watch()
    })
    this.process.stderr.setEncoding('utf8')
    this.process.stderr.on('data', (piece: string) => {
      this.stderr += piece
      for (const watch of [...this.watchers]) watch()
    })
    this.process.stdin.on('error', () => {})
    this.exited = new Promise((resolve) => {
      this.process.on('close', (code, signal) => {
        resolve({ code, signal })
        for (const watch of [...this.watchers]) watch()
      })
    })
  }

  get pid(): number {
    return this.process.pid ?? 0
  }

  private take(line: string): void {
    try {
      this.frames.push(JSON.parse(line) as Frame)
    } catch {
      this.strays.push(line)
    }
  }

  send(request: Record<string, unknown>): void {
    this.write(`${JSON.stringify(request)}\n`)
  }

  write(bytes: string | Buffer): void {
    this.process.stdin.write(bytes)
  }

  endInput(): void {
    this.process.stdin.end()
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** Ends the whole group, as the host does with a child that does not leave. */
  killGroup(): void {
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch {
      // Gone already.
    }
  }

  /** Resolves with the first value that is not undefined, looked for after everything that arrives. */
  async until<T>(look: () => T | undefined, what: string, ms = 30_000): Promise<T> {
    const first = look()
    if (first !== undefined) return first
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.watchers.delete(watch)
        reject(
          new Error(
            `${what}: nothing within ${ms} ms\nframes: ${this.frames.map((f) => JSON.stringify(f).slice(0, 400)).join('\n')}\nstderr: ${this.stderr.slice(-2000)}`,
          ),
        )
      }, ms)
      const watch = (): void => {
        const found = look()
        if (found === undefined) return
        clearTimeout(timer)
        this.watchers.delete(watch)
        resolve(found)
      }
      this.watchers.add(watch)
    })
  }

  /** The n-th frame (from 1) that matches. */
  frame(match: (f: Frame) => boolean, what: string, n = 1, ms?: number): Promise<Frame> {
    return this.until(() => this.frames.filter(match)[n - 1], what, ms)
  }

  ready(): Promise<Frame> {
    return this.frame((f) => f.type === 'ready', 'ready')
  }

  /** Frames of one session. */
  of(sessionId: string): Frame[] {
    return this.frames.filter((f) => f.sessionId === sessionId)
  }

  /** Waits for the end of a turn and returns everything of the session since `from`. */
  async turn(sessionId: string, turnId: string, ms?: number): Promise<Frame[]> {
    await this.frame(
      (f) => f.sessionId === sessionId && f.turnId === turnId && terminal(f),
      `end of ${turnId} of ${sessionId}`,
      1,
      ms,
    )
    return this.of(sessionId).filter((f) => f.turnId === turnId)
  }

  /** Closes as the host does and gives the exit code. */
  async close(): Promise<number | null> {
    this.endInput()
    const timer = setTimeout(() => this.killGroup(), 10_000)
    const { code } = await this.exited
    clearTimeout(timer)
    this.killGroup()
    return code
  }
}

export function terminal(f: Frame): boolean {
  return f.type === 'done' || (f.type === 'error' && f['request'] === undefined)
}

export function textOf(frames: readonly Frame[]): string {
  return frames
    .filter((f) => f.type === 'chunk')
    .map((f) => String(f['text']))
    .join('')
}

/** A start_session with everything that is required. */
export function start(
  sessionId: string,
  provider: string,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    type: 'start_session',
    sessionId,
    provider,
    model: 'claude-sonnet-4-5',
    systemPrompt: '',
    allowedTools: [],
    mcpServers: {},
    projectPath: '',
    initialMessage: '',
    ...more,
  }
}
