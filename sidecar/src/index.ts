// The entry point. Nothing else reads the environment of the process.
//
//   PACKETBENCH_SIDECAR_STATE    a folder for what SDKs keep; else a temporary one
//   PACKETBENCH_SIDECAR_LIVE     Claude children at once, 4
//   PACKETBENCH_SIDECAR_IDLE_MS  a Claude child without a turn is ended after, 300000
//   PACKETBENCH_SIDECAR_STALL_MS a provider may say nothing for, 120000
//   PACKETBENCH_REMOTE_SIDECAR   1 where an SSH launch started this child
//   PACKETBENCH_MCP_PROBE_TIMEOUT_MS  how long an MCP server may take to list its tools, 30000
//   ANTHROPIC_BASE_URL           the model endpoints, where they are not the
//   OPENAI_BASE_URL              vendors' own
//
// stdio first: whatever the others print while they load must not reach stdout.
import './stdio.js'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { serverEnvironment } from './environment.js'
import { fieldsOf, textOf } from './fields.js'
import { createGrants, defaultProbeMs } from './mcp/grant.js'
import { loadSources } from './mcp/sources.js'
import { createClaude } from './providers/claude.js'
import { defaultIdleMs, defaultLive } from './providers/claude/settings.js'
import { createEcho } from './providers/echo.js'
import { createOpenAIAgents, defaultEditMs } from './providers/openaiAgents.js'
import { defaultStallMs } from './providers/stall.js'
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

/** An address of the environment; unset and empty are the same. */
function address(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

const given = process.env['PACKETBENCH_SIDECAR_STATE']
const temporary = given === undefined || given === ''
const stateDir = temporary ? mkdtempSync(join(tmpdir(), 'packetbench-sidecar-')) : given

// These are read when the OpenAI packages are loaded. Tracing would go to the
// vendor whatever the endpoint is, and our log is no place for what a model says.
process.env['OPENAI_AGENTS_DISABLE_TRACING'] = '1'
process.env['OPENAI_AGENTS_DONT_LOG_MODEL_DATA'] = '1'
process.env['OPENAI_AGENTS_DONT_LOG_TOOL_DATA'] = '1'

const stallMs = setting('PACKETBENCH_SIDECAR_STALL_MS', defaultStallMs)

serve({
  version: version(),
  providers: new Map([
    [
      'claude-oauth',
      createClaude({
        stateDir,
        baseUrl: address('ANTHROPIC_BASE_URL'),
        live: setting('PACKETBENCH_SIDECAR_LIVE', defaultLive),
        idleMs: setting('PACKETBENCH_SIDECAR_IDLE_MS', defaultIdleMs),
        stallMs,
        env: process.env,
      }),
    ],
    [
      'openai-agents',
      createOpenAIAgents({
        baseUrl: address('OPENAI_BASE_URL'),
        editMs: defaultEditMs,
        stallMs,
        env: process.env,
      }),
    ],
    ['echo', createEcho],
  ]),
  grantServers: createGrants({
    probeMs: setting('PACKETBENCH_MCP_PROBE_TIMEOUT_MS', defaultProbeMs),
    env: serverEnvironment(process.env),
    now: Date.now,
  }),
  loadSources,
  remote: process.env['PACKETBENCH_REMOTE_SIDECAR'] === '1',
  cleanup: () => {
    if (temporary) rmSync(stateDir, { recursive: true, force: true })
  },
})
