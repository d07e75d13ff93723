// Looking at processes through /proc, so these tests run on Linux only.
import { readdirSync, readFileSync } from 'node:fs'

interface Stat {
  pid: number
  parent: number
  state: string
}

function stat(pid: number): Stat | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent = ''] = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return { pid, parent: Number(parent), state }
  } catch {
    return undefined
  }
}

/** Whether a process is there and no zombie. */
export function running(pid: number): boolean {
  const s = stat(pid)
  return s !== undefined && s.state !== 'Z' && s.state !== 'X'
}

/** The living children of a process: the vendor's programs of a sidecar. */
export function vendors(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => stat(Number(name)))
    .filter((s) => s?.parent === parent)
    .map((s) => s?.pid ?? 0)
    .filter(running)
}

/** The living processes whose command line is exactly these words. */
export function withCommand(...words: string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && commandOf(name) === `${words.join('\0')}\0`)
    .map(Number)
    .filter(running)
}

function commandOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
