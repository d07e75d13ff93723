// Which of our environment what we start may see. Keys arrive in start_session
// and are in no environment of ours; what a person has in theirs stays there.

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Marks by which the host finds what a killed sidecar left behind (faults.md F22);
 * every program that we start carries them.
 */
const marks = ['PACKETBENCH_BOOT_ID', 'PACKETBENCH_HOME', 'PACKETBENCH_GROUP']

const passed: ReadonlySet<string> = new Set([
  'PATH',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'SHELL',
  'USER',
  'LOGNAME',
  'TMPDIR',
  'TMP',
  'TEMP',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  // Windows cannot start a program without these.
  'SystemRoot',
  'SYSTEMROOT',
  'ComSpec',
  'COMSPEC',
  'PATHEXT',
  'SystemDrive',
  'ProgramFiles',
  'ProgramData',
  ...marks,
])

const homes: ReadonlySet<string> = new Set(['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'])

/**
 * By name, so that nothing the service or its user has in the environment (other
 * keys, a token of a logged-in command line) reaches a vendor's program.
 */
export function vendorEnvironment(env: Environment): Record<string, string> {
  return only(env, (name) => passed.has(name) || name.startsWith('LC_'))
}

/** What an MCP server sees below its own `env`: the above, and the person's home. */
export function serverEnvironment(env: Environment): Record<string, string> {
  return only(env, (name) => passed.has(name) || homes.has(name) || name.startsWith('LC_'))
}

/**
 * What a shell command sees: the person's environment without our settings and
 * without anything that may hold a key of a model.
 */
export function commandEnvironment(env: Environment, dir: string): Record<string, string> {
  const kept = only(env, (name) => {
    if (marks.includes(name)) return true
    if (/^(PACKETBENCH|OPENAI|ANTHROPIC|CLAUDE)_/i.test(name)) return false
    return !/(API_?KEY|AUTH_TOKEN|OAUTH_TOKEN)$/i.test(name) && name !== 'OLDPWD'
  })
  return { ...kept, PWD: dir }
}

function only(env: Environment, keep: (name: string) => boolean): Record<string, string> {
  const out: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && keep(name)) out[name] = value
  }
  return out
}
