// The commands of the ops page.

import type { LogLines, LogLinesParams } from '../contract/gen'
import type { Tree } from '../contract/tree'
import { readLog, readTree } from '../contract/tree'
import type { Link } from './socket'

/** What an operator may do to an actor. */
export type ActorAction = 'reset' | 'stop' | 'start'

export interface OpsCommands {
  tree: () => Promise<Tree>
  log: (params: LogLinesParams) => Promise<LogLines>
  act: (action: ActorAction, name: string) => Promise<void>
}

export function createOpsCommands(link: Pick<Link, 'call'>): OpsCommands {
  const methods = { reset: 'reset_actor', stop: 'stop_actor', start: 'start_actor' } as const
  return {
    tree: async () => readTree(await link.call('get_tree', {})),
    log: async (params) => readLog(await link.call('get_log', { ...params })),
    act: async (action, name) => void (await link.call(methods[action], { name })),
  }
}
