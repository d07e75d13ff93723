// Loading a vendor SDK when a session first needs it. The SDKs are not part of
// the program: the person who wants one installs it.

/** Which set of packages a provider needs; the name that `--sdk` takes. */
export type SdkName = 'claude' | 'openai'

const title: Record<SdkName, string> = {
  claude: 'The Claude Agent SDK',
  openai: 'The OpenAI Agents SDK',
}

/** The sentence for a missing SDK; it names the command that mends it. */
export function missingSdk(name: SdkName): string {
  return `${title[name]} is not installed. Run: packetbench sidecar install --sdk ${name}`
}

/** Thrown by loadSdk when the packages are not there. Its message is missingSdk. */
export class MissingSdkError extends Error {
  constructor(name: SdkName, options?: ErrorOptions) {
    super(missingSdk(name), options)
    this.name = 'MissingSdkError'
  }
}

/**
 * Runs a dynamic import, as in `loadSdk('openai', () => import('openai'))`.
 * A package that cannot be found is a MissingSdkError; other failures pass.
 */
export async function loadSdk<T>(name: SdkName, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND') {
      throw new MissingSdkError(name, { cause })
    }
    throw cause
  }
}
