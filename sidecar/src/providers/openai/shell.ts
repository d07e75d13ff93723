// Shell commands, each in a process group of its own, so that what one started
// can be ended with it. A command that left something running keeps its group
// until the turn is cancelled, the session closes, or this process ends.
//
// Source: tools-permissions.md 1 (bash), sidecar-protocol.md 12.3 (Kill).
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'

import { commandEnvironment, type Environment } from '../../environment.js'
import { reason } from '../../log.js'

/** Seconds a command may take, unless it asks for more. Source: sidecar-protocol.md 9. */
export const DEFAULT_SECONDS = 30
export const MAX_SECONDS = 120

/** Both streams together, bytes. Source: tools-permissions.md 1. */
export const MAX_OUTPUT_BYTES = 262_144

/** What stderr keeps of it when stdout alone would fill it: why a command failed is mostly there. */
const STDERR_SHARE = 65_536

/** How long the output of a command is waited for once its shell has ended, ms. */
const SETTLE_MS = 200

const CUT = '\n[output truncated]'

/** How a command ended. */
export interface CommandResult {
  readonly stdout: string
  readonly stderr: string
  /** -1 where a signal ended it. */
  readonly exitCode: number
  /** A sentence where it did not end by itself, or never began. */
  readonly failure: string | undefined
}

// Ended with this process whatever happens.
const living = new Set<Shell>()
process.on('exit', () => {
  for (const shell of living) shell.endAll()
})

/** The commands of one session. */
export class Shell {
  private readonly groups = new Set<number>()

  constructor(
    private readonly dir: string,
    private readonly env: Environment,
  ) {}

  /** Runs a command line in the project folder; it never throws. */
  run(command: string, seconds: number, signal: AbortSignal): Promise<CommandResult> {
    if (signal.aborted) return Promise.resolve(unstarted('The command was cancelled.'))
    let child: ChildProcess
    try {
      child = start(command, this.dir, commandEnvironment(this.env, this.dir))
    } catch (thrown) {
      return Promise.resolve(unstarted(`The command could not be started: ${reason(thrown)}`))
    }
    const { pid } = child
    if (pid !== undefined) {
      this.groups.add(pid)
      living.add(this)
    }
    return new Promise((resolve) => {
      const stdout = new Collector(MAX_OUTPUT_BYTES)
      const stderr = new Collector(MAX_OUTPUT_BYTES)
      child.stdout?.on('data', (bytes: Buffer) => stdout.add(bytes))
      child.stderr?.on('data', (bytes: Buffer) => stderr.add(bytes))
      let failure: string | undefined
      let exitCode = -1
      let settle: NodeJS.Timeout | undefined
      const stop = (why: string): void => {
        failure ??= why
        if (pid !== undefined) endGroup(pid)
      }
      const abort = (): void => stop('The command was cancelled, with everything it started.')
      const timer = setTimeout(() => {
        stop(
          `The command did not end within ${seconds} s and was ended, with everything it started. Give a longer timeout, at most ${MAX_SECONDS}.`,
        )
      }, seconds * 1000)
      signal.addEventListener('abort', abort, { once: true })
      let finished = false
      const finish = (): void => {
        if (finished) return
        finished = true
        clearTimeout(timer)
        clearTimeout(settle)
        signal.removeEventListener('abort', abort)
        // A program in the background may hold them open for ever.
        child.stdout?.destroy()
        child.stderr?.destroy()
        if (pid !== undefined) this.forgetIfGone(pid)
        const kept = stderr.text(
          stdout.size > MAX_OUTPUT_BYTES - STDERR_SHARE ? STDERR_SHARE : MAX_OUTPUT_BYTES,
        )
        const room = MAX_OUTPUT_BYTES - Buffer.byteLength(kept)
        resolve({ stdout: stdout.text(room), stderr: kept, exitCode, failure })
      }
      child.once('error', (thrown) => {
        failure ??= `The command could not be started: ${reason(thrown)}`
        finish()
      })
      child.once('exit', (code) => {
        exitCode = code ?? -1
        clearTimeout(timer)
        settle = setTimeout(finish, SETTLE_MS)
      })
      child.once('close', finish)
    })
  }

  /** Ends whatever commands of this session have left running. */
  endAll(): void {
    for (const pid of this.groups) endGroup(pid)
    this.groups.clear()
    living.delete(this)
  }

  /** Keeping the number of an empty group would end a stranger one day. */
  private forgetIfGone(pid: number): void {
    if (alive(pid)) return
    this.groups.delete(pid)
    if (this.groups.size === 0) living.delete(this)
  }
}

function unstarted(failure: string): CommandResult {
  return { stdout: '', stderr: '', exitCode: -1, failure }
}

const windows = process.platform === 'win32'

function start(command: string, cwd: string, env: Record<string, string>): ChildProcess {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  if (windows) {
    const args = ['/d', '/s', '/c', `"${command}"`]
    return spawn('cmd.exe', args, {
      cwd,
      env,
      stdio,
      windowsHide: true,
      windowsVerbatimArguments: true,
    })
  }
  return spawn('sh', ['-c', command], { cwd, env, stdio, detached: true })
}

function endGroup(pid: number): void {
  if (pid <= 1) return
  if (windows) {
    spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { windowsHide: true })
    return
  }
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(windows ? pid : -pid, 0)
    return true
  } catch {
    return false
  }
}

/** Keeps the beginning of a stream and counts the rest. */
class Collector {
  size = 0
  private readonly pieces: Buffer[] = []

  constructor(private readonly most: number) {}

  add(bytes: Buffer): void {
    const room = this.most - this.size
    if (room > 0) this.pieces.push(bytes.subarray(0, room))
    this.size += bytes.length
  }

  text(most: number): string {
    return capped(Buffer.concat(this.pieces), Math.min(most, this.most), this.size)
  }
}

/** The text of at most that many bytes, cut between characters and marked where it was cut. */
export function capped(bytes: Buffer, most: number, size = bytes.length): string {
  if (size <= most) return bytes.toString('utf8')
  let end = Math.max(0, Math.min(bytes.length, most - CUT.length))
  // Not inside a character: those bytes begin with 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString('utf8') + CUT
}
