// harness.mjs: a real service in a fresh home, a real browser, and scenarios
// that are told apart by name. Nothing waits for time to pass: every step waits
// for what it needs, with a deadline.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const repository = fileURLToPath(new URL('../../', import.meta.url))
export const shots = fileURLToPath(new URL('./shots/', import.meta.url))

/** How long a step may take before it has failed. In ms. */
export const patience = Number(process.env.E2E_PATIENCE ?? 20_000)

/** The binary under test: PACKETBENCH_BIN, else built from this checkout. */
function binary(scratch) {
  if (process.env.PACKETBENCH_BIN) return process.env.PACKETBENCH_BIN
  const out = join(scratch, process.platform === 'win32' ? 'packetbench.exe' : 'packetbench')
  const built = spawnSync('go', ['build', '-o', out, './apps/packetbench'], {
    cwd: repository,
    encoding: 'utf8',
  })
  if (built.status !== 0) throw new Error(`The program does not build:\n${built.stderr}`)
  return out
}

/** Starts the service and resolves when it has printed its ready line. */
export async function startService({ bin, home, addr = '127.0.0.1:0' }) {
  // No key of this machine may reach it: a fresh one has none.
  const env = { PATH: process.env.PATH, HOME: home, PACKETBENCH_HOME: join(home, 'data') }
  const child = spawn(
    bin,
    ['serve', '--addr', addr, '--nats-addr', '127.0.0.1:0', '--home', join(home, 'data')],
    {
      cwd: join(home, 'project'),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let stderr = ''
  child.stderr.on('data', (d) => (stderr = (stderr + d).slice(-20_000)))
  const url = await new Promise((resolve, reject) => {
    let out = ''
    const late = setTimeout(() => reject(new Error(`no ready line; stderr:\n${stderr}`)), patience)
    child.stdout.on('data', (d) => {
      out += d
      const ready = /PacketBench ready: (\S+)/.exec(out)
      if (!ready) return
      clearTimeout(late)
      resolve(ready[1])
    })
    child.on('exit', (code) =>
      reject(new Error(`the service ended with ${code}; stderr:\n${stderr}`)),
    )
  })
  return {
    url,
    base: new URL(url).origin,
    project: join(home, 'project'),
    run: () => JSON.parse(readFileSync(join(home, 'data', 'run.json'), 'utf8')),
    stderr: () => stderr,
    /** Ends it as a crash does: nothing is said or saved any more. */
    kill: async () => {
      const gone = new Promise((r) => child.once('exit', r))
      child.kill('SIGKILL')
      await gone
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((r) => child.once('exit', r))
      child.kill('SIGTERM')
      const hard = setTimeout(() => child.kill('SIGKILL'), 12_000)
      await gone
      clearTimeout(hard)
    },
  }
}

export async function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Prepares a home with a small project and runs every scenario in turn. */
export async function runAll(scenarios, only, start = startService) {
  const scratch = mkdtempSync(join(tmpdir(), 'packetbench-e2e-'))
  mkdirSync(shots, { recursive: true })
  const bin = start === startService ? binary(scratch) : ''
  const browser = await launchBrowser()
  let passed = 0
  let failed = 0
  let homes = 0
  const freshHome = () => {
    const home = join(scratch, `home-${++homes}`)
    mkdirSync(join(home, 'project'), { recursive: true })
    writeFileSync(join(home, 'project', 'README.md'), '# A project\n')
    return home
  }
  const shared = await start({ bin, home: freshHome() })
  for (const [name, scenario] of scenarios) {
    if (only && !name.includes(only)) continue
    const contexts = []
    const open = async (options = {}) => {
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        ...options,
      })
      contexts.push(context)
      context.setDefaultTimeout(patience)
      const page = await context.newPage()
      page.on('pageerror', (e) => faults.push(e.message))
      return page
    }
    const faults = []
    const began = Date.now()
    try {
      await scenario({ service: shared, open, bin, freshHome, startService: start })
      if (faults.length > 0) throw new Error(`the page threw: ${faults.join('; ')}`)
      passed++
      console.log(`ok    ${name} (${Date.now() - began} ms)`)
    } catch (e) {
      failed++
      console.log(`FAIL  ${name}\n      ${String(e.stack ?? e).replaceAll('\n', '\n      ')}`)
      for (const [i, context] of contexts.entries()) {
        const [page] = context.pages()
        await page
          ?.screenshot({ path: join(shots, `failed-${name.replace(/\W+/g, '-')}-${i}.png`) })
          .catch(() => undefined)
      }
    } finally {
      for (const context of contexts) await context.close()
    }
  }
  await shared.stop()
  await browser.close()
  rmSync(scratch, { recursive: true, force: true })
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(failed === 0 && passed > 0 ? 0 : 1)
}

export function assert(condition, sentence) {
  if (!condition) throw new Error(sentence)
}
