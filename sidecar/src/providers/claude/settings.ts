// What the Claude child is started with: its environment and its private home.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { vendorEnvironment, type Environment } from '../../environment.js'

/** What the program decides for every Claude session. */
export interface ClaudeSettings {
  /**
   * A folder of ours, made when first needed. Transcripts that a resume needs
   * live below it, so it is the same one after a restart.
   */
  stateDir: string
  /** The model endpoint where it is not the vendor's own. */
  baseUrl: string | undefined
  /** Live children at once. Source: real-parts.md 2 (about 185 MB each). */
  live: number
  /** How long a child without a turn is kept, in ms. */
  idleMs: number
  /** How long a child may say nothing while no call runs, in ms. */
  stallMs: number
  /** The environment of this process. */
  env: Environment
}

/** Defaults: 4 live children, 5 minutes. */
export const defaultLive = 4
export const defaultIdleMs = 5 * 60 * 1000

/** Requests are tried this often again: an unusable key or address shows within 10 s. */
const retries = '2'

/** The whole environment of one child; `env` of the SDK replaces, it does not add. */
export function childEnv(
  settings: ClaudeSettings,
  apiKey: string,
  baseUrl = settings.baseUrl,
): Record<string, string | undefined> {
  const home = join(settings.stateDir, 'claude')
  const config = join(home, '.claude')
  mkdirSync(config, { recursive: true, mode: 0o700 })
  return {
    ...vendorEnvironment(settings.env),
    HOME: home,
    USERPROFILE: home,
    CLAUDE_CONFIG_DIR: config,
    ANTHROPIC_API_KEY: apiKey,
    CLAUDE_ENV_FILE: shellSetup(home, settings.env),
    CLAUDE_CODE_OAUTH_TOKEN: undefined,
    ...(baseUrl === undefined ? {} : { ANTHROPIC_BASE_URL: baseUrl }),
    CLAUDE_AGENT_SDK_CLIENT_APP: 'packetbench',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: retries,
    // MCP tools are offered by name instead of behind a search tool.
    ENABLE_TOOL_SEARCH: 'false',
    // The list tool that gives whole plans.
    CLAUDE_CODE_ENABLE_TASKS: '0',
    // A task that ends after its turn would begin a turn that nobody asked for.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    CLAUDE_CODE_DISABLE_CRON: '1',
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE: '1',
  }
}

/** What the child is told and the commands that it runs are not. */
const kept = ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR', 'CLAUDE_ENV_FILE']

/**
 * The file that the child's Bash tool reads before each command. A command gets
 * the person's own home back (git, ssh and every tool keep their settings there)
 * and no key: its output is read by the model, shown and stored.
 */
function shellSetup(folder: string, env: Environment): string {
  const file = join(folder, 'shell.sh')
  const home = env['HOME']
  const lines = kept.map((name) => `unset ${name}`)
  if (home !== undefined && home !== '') lines.push(`export HOME=${quoted(home)}`)
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  return file
}

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
