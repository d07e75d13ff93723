// The commands of terminals, and the settings that hold the workspaces.

import type {
  OpenTerminalParams,
  RestartTerminalParams,
  Terminal,
  TerminalPreset,
} from '../contract/gen'
import type * as wire from '../contract/gen'
import type { Method } from '../contract/gen'
import { isRecord, rec } from '../contract/guards'
import { readOpenedTerminal, readPresets, readTerminals } from '../contract/work'
import type { Link } from './socket'

export interface TerminalCommands {
  list: () => Promise<Terminal[]>
  presets: () => Promise<TerminalPreset[]>
  open: (spec: OpenTerminalParams) => Promise<string>
  restart: (spec: RestartTerminalParams) => Promise<void>
  close: (id: string) => Promise<void>
  /** The settings of the app as they are; workspaces are some of them. */
  settings: () => Promise<Record<string, unknown>>
  /** Merges a patch into them; null takes a key away. */
  setSettings: (patch: Record<string, unknown>) => Promise<Record<string, unknown>>
}

export function createTerminalCommands(link: Pick<Link, 'call'>): TerminalCommands {
  const ask = <M extends Method>(method: M, params: wire.Commands[M]['params']) =>
    link.call(method, isRecord(params) ? params : {})
  return {
    list: async () => readTerminals(await ask('list_terminals', {})),
    presets: async () => readPresets(await ask('list_terminal_presets', {})),
    open: async (spec) => readOpenedTerminal(await ask('open_terminal', spec)),
    restart: async (spec) => void (await ask('restart_terminal', spec)),
    close: async (id) => void (await ask('close_terminal', { terminal_id: id })),
    settings: async () => rec(rec(await ask('get_settings', {})).app),
    setSettings: async (app) => rec(rec(await ask('set_settings', { app })).app),
  }
}
