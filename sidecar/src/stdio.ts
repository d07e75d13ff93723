// Takes stdout away from everybody else. Import it before anything that may
// print: from then on console.log and process.stdout.write of any package end
// up on stderr, and only `frames` reaches the host.
import { log, reason } from './log.js'

const stdout = process.stdout
const write = stdout.write.bind(stdout)
stdout.write = process.stderr.write.bind(process.stderr)

// A host that was killed takes stderr with it. Without a listener the failed
// write is an exception, whose handler writes to stderr.
process.stderr.on('error', () => {})

let broken = false
let pending = 0
let waiting: (() => void)[] = []
let onBroken: () => void = () => {}

stdout.on('error', (error) => {
  if (broken) return
  broken = true
  log(`stdout is gone: ${reason(error)}`)
  release()
  onBroken()
})

function release(): void {
  const ready = waiting
  waiting = []
  for (const resolve of ready) resolve()
}

/** The one writer of stdout. Lines leave in the order in which they came. */
export const frames = {
  /** Queues one line, without its line break; lines are dropped once the host is gone. */
  send(line: string): void {
    if (broken) return
    pending += 1
    write(`${line}\n`, () => {
      pending -= 1
      if (pending === 0) release()
    })
  },
  /** Resolves when every line so far has left the process, or the host is gone. */
  room(): Promise<void> {
    if (pending === 0 || broken) return Promise.resolve()
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  },
  /** Calls back when stdout breaks: without a reader there is nothing left to do. */
  whenBroken(callback: () => void): void {
    onBroken = callback
  },
}
