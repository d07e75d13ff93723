// The commands a window sends, typed. Errors are CallError; sentences come
// from the service and are shown as they are.

import type * as wire from '../contract/gen'
import { CodeBadParams } from '../contract/gen'
import type { KeyInfo, Method } from '../contract/gen'
import {
  isRecord,
  readEditedFiles,
  readEditedText,
  readKeys,
  readProviders,
  readProviderSettings,
  readSidecar,
  readSnapshot,
  readSummaries,
} from '../contract/guards'
import type { Attachment, Decision, DiffComment, PermissionMode } from '../contract/gen'
import type {
  EditedFile,
  EditedText,
  PlanChoice,
  ProviderRow,
  ProviderSettings,
  SidecarStatus,
  Snapshot,
  Summary,
} from '../contract/model'
import type { Link } from './socket'
import { CallError } from './socket'

export interface StartRequest {
  session_id: string
  provider: string
  row: string
  model: string
  project_path: string
  initial_message: string
  plan_mode: boolean
  permission_mode: PermissionMode
  attachments?: Attachment[]
  /** The id of a profile; absent means the default one. */
  profile?: string
  /** Whether edits land on a fresh branch. */
  worktree?: boolean
  approve_writes?: boolean
}

export interface Commands {
  listConversations: () => Promise<Summary[]>
  getConversation: (id: string) => Promise<Snapshot>
  listProviders: () => Promise<ProviderRow[]>
  getSidecarStatus: () => Promise<SidecarStatus>
  start: (request: StartRequest) => Promise<void>
  send: (id: string, message: string, attachments: Attachment[]) => Promise<void>
  cancel: (id: string) => Promise<void>
  changeModel: (id: string, model: string) => Promise<void>
  setPlanMode: (id: string, enabled: boolean) => Promise<void>
  setPermissionMode: (id: string, mode: PermissionMode) => Promise<void>
  setApproveWrites: (id: string, enabled: boolean) => Promise<void>
  respondPermission: (
    id: string,
    toolId: string,
    decision: Decision,
    more?: { reason?: string; allow_pattern?: string },
  ) => Promise<void>
  respondEdit: (
    id: string,
    toolId: string,
    decision: 'apply' | 'reject',
    merged?: string,
  ) => Promise<void>
  cancelPending: (id: string) => Promise<void>
  approvePlan: (id: string, choice: PlanChoice) => Promise<void>
  retry: (id: string, model?: string) => Promise<void>
  removeQueued: (id: string, messageId: string) => Promise<void>
  rename: (id: string, title: string) => Promise<void>
  archive: (id: string, archived: boolean) => Promise<void>
  pin: (id: string, pinned: boolean) => Promise<void>
  /** Deletes a conversation; what was left behind of its worktree, in words. */
  remove: (id: string) => Promise<string>
  removePattern: (id: string, pattern: string) => Promise<void>
  /** What the conversation has written so far, compared with the disk now. */
  listEdits: (id: string) => Promise<EditedFile[]>
  getEdit: (id: string, path: string) => Promise<EditedText>
  /** Restores a file whose text has that hash; merged is what is kept of it. */
  undoEdit: (id: string, path: string, hash: string, merged?: string) => Promise<EditedText>
  /** Replaces the remarks that wait for the next message. */
  setDiffComments: (id: string, comments: DiffComment[]) => Promise<void>
  /** Sends a text in the place of an earlier message, in a conversation of its own. */
  fork: (id: string, messageId: string, newId: string, message: string) => Promise<void>
  /** Drops what came after a message and runs it again. */
  restore: (id: string, messageId: string) => Promise<void>
  resetActor: (name: string) => Promise<void>
  listKeys: () => Promise<KeyInfo[]>
  setKey: (account: string, value: string) => Promise<void>
  deleteKey: (account: string) => Promise<void>
  getProviderSettings: () => Promise<ProviderSettings>
  /** Merges a patch into the settings of the providers; null clears. */
  setProviderSettings: (patch: object) => Promise<ProviderSettings>
}

/**
 * The sentence of a refused parameter without the name the wire has for it;
 * undefined when the refusal is of another one.
 */
export function refusalOf(e: unknown, field: string): string | undefined {
  if (!(e instanceof CallError) || e.code !== CodeBadParams) return undefined
  const prefix = `${field}: `
  if (!e.message.startsWith(prefix)) return undefined
  const words = e.message.slice(prefix.length)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A sentence for a person: the service's own, or what to do without one. */
export function sentence(e: unknown): string {
  if (e instanceof CallError && e.code === 0) {
    return 'The service did not answer. It is tried again by itself; nothing was changed here.'
  }
  if (e instanceof Error && e.message !== '') return e.message
  return 'That did not work and no reason was given. Try it again.'
}

export function createCommands(link: Pick<Link, 'call'>): Commands {
  // The contract types the parameters; the result is read by the guards.
  const ask = <M extends Method>(method: M, params: wire.Commands[M]['params']) =>
    link.call(method, isRecord(params) ? params : {})
  const run = async <M extends Method>(
    method: M,
    params: wire.Commands[M]['params'],
  ): Promise<void> => {
    await ask(method, params)
  }
  return {
    listConversations: async () => readSummaries(await ask('list_conversations', {})),
    getConversation: async (id) => readSnapshot(await ask('get_conversation', { session_id: id })),
    listProviders: async () => readProviders(await ask('list_providers', {})),
    getSidecarStatus: async () => readSidecar(await ask('get_sidecar_status', {})),
    start: (request) => run('start_api_agent_session', request),
    send: (id, message, attachments) =>
      run('send_api_agent_message', {
        session_id: id,
        message,
        ...(attachments.length > 0 && { attachments }),
      }),
    cancel: (id) => run('cancel_api_agent_session', { session_id: id }),
    changeModel: (id, model) => run('change_model', { session_id: id, new_model: model }),
    setPlanMode: (id, enabled) => run('set_plan_mode', { session_id: id, enabled }),
    setPermissionMode: (id, mode) => run('set_permission_mode', { session_id: id, mode }),
    setApproveWrites: (id, enabled) => run('set_approve_writes', { session_id: id, enabled }),
    respondPermission: (id, toolId, decision, more = {}) =>
      run('respond_permission', { session_id: id, tool_id: toolId, decision, ...more }),
    respondEdit: (id, toolId, decision, merged) =>
      run('respond_edit', {
        session_id: id,
        tool_id: toolId,
        decision,
        ...(merged !== undefined && { merged_content: merged }),
      }),
    cancelPending: (id) => run('cancel_pending_tools', { session_id: id }),
    approvePlan: (id, choice) => run('approve_plan', { session_id: id, choice }),
    retry: (id, model) =>
      run('retry_last_turn', { session_id: id, ...(model !== undefined && { new_model: model }) }),
    removeQueued: (id, messageId) =>
      run('remove_queued_message', { session_id: id, message_id: messageId }),
    rename: (id, title) => run('rename_conversation', { session_id: id, title }),
    archive: (id, archived) => run('archive_conversation', { session_id: id, archived }),
    pin: (id, pinned) => run('pin_conversation', { session_id: id, pinned }),
    remove: async (id) => {
      const result = await ask('delete_conversation', { session_id: id })
      return isRecord(result) && typeof result.problem === 'string' ? result.problem : ''
    },
    removePattern: (id, pattern) => run('remove_allow_pattern', { session_id: id, pattern }),
    listEdits: async (id) => readEditedFiles(await ask('list_edits', { session_id: id })),
    getEdit: async (id, path) => readEditedText(await ask('get_edit', { session_id: id, path })),
    undoEdit: async (id, path, hash, merged) =>
      readEditedText(
        await ask('undo_edit', {
          session_id: id,
          path,
          hash,
          ...(merged !== undefined && { merged_content: merged }),
        }),
      ),
    setDiffComments: (id, comments) => run('set_diff_comments', { session_id: id, comments }),
    fork: (id, messageId, newId, message) =>
      run('fork_conversation', {
        session_id: id,
        message_id: messageId,
        new_session_id: newId,
        message,
      }),
    restore: (id, messageId) =>
      run('restore_conversation', { session_id: id, message_id: messageId }),
    resetActor: (name) => run('reset_actor', { name }),
    listKeys: async () => readKeys(await ask('list_keys', {})),
    setKey: (account, value) => run('set_key', { account, value }),
    deleteKey: (account) => run('delete_key', { account }),
    getProviderSettings: async () => readProviderSettings(await ask('get_settings', {})),
    setProviderSettings: async (patch) =>
      readProviderSettings(await ask('set_settings', { providers: patch })),
  }
}
