// The entry point. Nothing else reads the environment of the process.
//
//   PACKETBENCH_SIDECAR_STATE    a folder for what SDKs keep; else a temporary one
//   PACKETBENCH_SIDECAR_LIVE     Claude children at once, 4
//   PACKETBENCH_SIDECAR_IDLE_MS  a Claude child without a turn is ended after, 300000
//   PACKETBENCH_REMOTE_SIDECAR   1 where an SSH launch started this child
//   ANTHROPIC_BASE_URL           the model endpoint, where it is not the vendor's own
//
// stdio first: whatever the others print while they load must not reach stdout.
import './stdio.js'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { fieldsOf, textOf } from './fields.js'
import { createClaude } from './providers/claude.js'
import { defaultIdleMs, defaultLive } from './providers/claude/settings.js'
import { createEcho } from './providers/echo.js'
import { serve } from './serve.js'

function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  )
  return textOf(fieldsOf(manifest)?.['version']) ?? 'unknown'
}

/** A positive whole number of the environment; anything else is the default. */
function setting(name: string, otherwise: number): number {
  const value = Number(process.env[name])
  return Number.isInteger(value) && value > 0 ? value : otherwise
}

const given = process.env['PACKETBENCH_SIDECAR_STATE']
const temporary = given === undefined || given === ''
const stateDir = temporary ? mkdtempSync(join(tmpdir(), 'packetbench-sidecar-')) : given
const baseUrl = process.env['ANTHROPIC_BASE_URL']

serve({
  version: version(),
  providers: new Map([
    [
      'claude-oauth',
      createClaude({
        stateDir,
        baseUrl: baseUrl === '' ? undefined : baseUrl,
        live: setting('PACKETBENCH_SIDECAR_LIVE', defaultLive),
        idleMs: setting('PACKETBENCH_SIDECAR_IDLE_MS', defaultIdleMs),
        env: process.env,
      }),
    ],
    ['echo', createEcho],
  ]),
  // Gap: issue 3. Until the trust filter of src/mcp is in, no server is granted,
  // which is what an empty snapshot means.
  grantServers: () =>
    Promise.resolve({
      servers: {},
      decide: () => ({ allowed: false, reason: 'This MCP server was not granted.' }),
    }),
  loadSources: () => Promise.resolve({ servers: {}, sources: [], readErrors: [] }),
  remote: process.env['PACKETBENCH_REMOTE_SIDECAR'] === '1',
  cleanup: () => {
    if (temporary) rmSync(stateDir, { recursive: true, force: true })
  },
})
