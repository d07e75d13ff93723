// A host that can be killed: it starts the script it is given, keeps it busy, and
// prints its process id once something came back.
import { spawn } from 'node:child_process'

const child = spawn(process.execPath, [process.argv[2]], {
  stdio: ['pipe', 'pipe', 'pipe'],
  detached: true,
})
child.stderr.resume()
let answered = false
child.stdout.on('data', (bytes) => {
  if (answered || !bytes.includes('chunk')) return
  answered = true
  process.stdout.write(`${child.pid}\n`)
})
const say = (request) => child.stdin.write(`${JSON.stringify(request)}\n`)
const content = 'x'.repeat(10_000)
for (let i = 0; i < 50; i += 1) {
  say({
    type: 'start_session',
    sessionId: `s-${i}`,
    provider: 'echo',
    model: 'm',
    initialMessage: content,
  })
}
setInterval(() => {
  for (let i = 0; i < 50; i += 1) say({ type: 'send_message', sessionId: `s-${i}`, content })
}, 100)
