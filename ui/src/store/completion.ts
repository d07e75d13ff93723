// The two popovers of a composer: `@` for files, `/` for commands. Pure: where
// one begins, what its list holds, and what a pick leaves of the text.
// Source: ui.md 5.2 and 5.3.

/** An open trigger: the text from start to the caret is replaced by a pick. */
export interface Trigger {
  kind: 'file' | 'command'
  start: number
  end: number
  query: string
}

/** A text after a pick, and where its caret stands. */
export interface Picked {
  text: string
  caret: number
}

/**
 * The trigger under a caret, undefined without one. A trigger begins a word;
 * a slash inside the word makes it a path, and `@` outranks `/` because paths
 * hold slashes.
 */
export function triggerAt(
  text: string,
  caret: number,
  on: { files: boolean; commands: boolean },
): Trigger | undefined {
  const before = text.slice(0, caret)
  const word = /\S*$/.exec(before)?.[0] ?? ''
  const start = caret - word.length
  const query = word.slice(1)
  if (word.startsWith('@')) {
    return on.files ? { kind: 'file', start, end: caret, query } : undefined
  }
  if (!word.startsWith('/') || query.includes('/') || !on.commands) return undefined
  return { kind: 'command', start, end: caret, query }
}

/** Replaces what the trigger covers. */
export function pick(text: string, trigger: Trigger, insertion: string): Picked {
  return {
    text: text.slice(0, trigger.start) + insertion + text.slice(trigger.end),
    caret: trigger.start + insertion.length,
  }
}

/** What a picked path becomes: literal, nothing expands it. */
export const mention = (path: string): string => `@${path} `

/**
 * One row of the `/` popover. builtin runs at once and is cut out of the
 * text; body expands into it; name stays as `/name` for the engine.
 */
export type SlashCommand = { name: string; description: string } & (
  | { kind: 'builtin'; id: BuiltinId }
  | { kind: 'body'; body: string; source: string }
  | { kind: 'engine' }
)

export type BuiltinId =
  'plan' | 'permissions' | 'model' | 'compact' | 'review' | 'history' | 'clear' | 'new' | 'help'

const builtin = (id: BuiltinId, description: string): SlashCommand => ({
  kind: 'builtin',
  id,
  name: id,
  description,
})

/** The nine of a conversation, with their exact words. Source: ui.md 5.3. */
export const builtins: readonly SlashCommand[] = [
  builtin('plan', 'Toggle plan mode (read-only exploration; no edits)'),
  builtin('permissions', 'Change permission mode (auto / ask / allow-all / deny-all)'),
  builtin('model', 'Switch model for this conversation'),
  builtin('compact', 'Trim the local transcript view; backend context is unchanged'),
  builtin('review', 'Spawn a Reviewer subagent on the current staged diff'),
  builtin('history', 'Open conversation history'),
  builtin('clear', 'Clear conversation messages'),
  builtin('new', 'Start a new agent conversation with same settings'),
  builtin('help', 'Show a keybinding cheatsheet'),
]

/** The one list of popover and keys: a name that came first shadows later ones. */
export function merge(...lists: (readonly SlashCommand[])[]): SlashCommand[] {
  const seen = new Set<string>()
  return lists.flat().filter((c) => {
    const name = c.name.toLowerCase()
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}

/** Those whose name begins with the query, in any case. */
export function matching(list: readonly SlashCommand[], query: string): SlashCommand[] {
  const wanted = query.toLowerCase()
  return list.filter((c) => c.name.toLowerCase().startsWith(wanted))
}

/** What the popover says of a command. */
export function describe(c: SlashCommand): string {
  return c.kind === 'body' ? `${c.description} (${c.source})` : c.description
}

/** The placeholder of a chat composer, by what it can do. Source: ui.md 5. */
export function placeholder(can: { files: boolean; commands: boolean }): string {
  const hints = [can.commands ? '/ for commands' : '', can.files ? '@ for files' : ''].filter(
    Boolean,
  )
  return hints.length === 0 ? 'Do anything' : `Do anything — ${hints.join(', ')}`
}
