// What a vendor child leaves behind. Its commands run in sessions of their own
// and outlive it when it is killed, so no process group holds them. Each child
// has a mark of its own in its environment instead, which everything that it
// starts inherits.
//
// Linux shows the environment of our own processes in /proc, macOS shows that of
// most of them through ps. Windows shows none: there the host's job object, which
// ends with the host's child, is all there is. A program that drops its
// environment is not found either, and lives on until it ends by itself.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** The variable that holds the mark. */
const NAME = 'PACKETBENCH_VENDOR'

/** How often it is looked at most, and how long it is waited in between, ms. */
const LOOKS = 20
const PAUSE_MS = 20

/** Looks that must find nothing: what forks while the table is read can be missed. */
const EMPTY_LOOKS = 2

/** How long ps may take, ms. */
const PS_MS = 2000

/** One child's mark. */
export class Mark {
  private readonly entry = `${NAME}=${randomUUID()}`

  /** For the environment of the child. */
  get env(): Record<string, string> {
    return { [NAME]: this.entry.slice(NAME.length + 1) }
  }

  /** Ends everything that carries the mark, the child too; what is stuck in the kernel is given up. */
  async endAll(): Promise<void> {
    let empty = 0
    for (let look = 0; look < LOOKS && empty < EMPTY_LOOKS; look += 1) {
      if (look > 0) await pause(PAUSE_MS)
      empty = this.endFound() === 0 ? empty + 1 : 0
    }
  }

  /** The same for the exit of this process, which waits for no promise. */
  endAllNow(): void {
    for (let look = 0, empty = 0; look < LOOKS && empty < EMPTY_LOOKS; look += 1) {
      empty = this.endFound() === 0 ? empty + 1 : 0
    }
  }

  /** Single processes, not groups: a group may hold others, ours holds us. */
  private endFound(): number {
    const found = carriers(this.entry)
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Gone already.
      }
    }
    return found.length
  }
}

function carriers(entry: string): number[] {
  const all =
    process.platform === 'linux'
      ? fromProc(entry)
      : process.platform === 'darwin'
        ? fromPs(entry)
        : []
  return all.filter((pid) => pid > 1 && pid !== process.pid)
}

function fromProc(entry: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && environOf(name).split('\0').includes(entry))
    .map(Number)
}

/** Empty for a zombie, for what is gone, and for what belongs to others. */
function environOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/environ`, 'utf8')
  } catch {
    return ''
  }
}

/** One line a process: its number, then arguments and environment parted by spaces. */
function fromPs(entry: string): number[] {
  try {
    const args = ['-x', '-E', '-ww', '-o', 'pid=,command=']
    return execFileSync('/bin/ps', args, {
      encoding: 'utf8',
      timeout: PS_MS,
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .split('\n')
      .map((line) => line.trim().split(' '))
      .filter((words) => words.includes(entry))
      .map(([pid]) => Number(pid))
      .filter(Number.isInteger)
  } catch {
    return []
  }
}
