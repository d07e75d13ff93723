// What a workspace is, and how it is kept: one setting of the service for each,
// so that every browser has them and two windows that change different ones do
// not meet. What runs in a terminal is the service's; here is only what belongs
// where. Source: ui.md 1 and 15.

import { list, oneOf, rec, str, strings } from '../contract/guards'
import type { TerminalPreset } from '../contract/gen'
import { validId } from '../contract/subjects'
import type { LayoutNode } from './layout'
import { arrange, readLayout, reconcile } from './layout'

const paneKinds = ['terminal', 'conversation', 'file'] as const
export type PaneKind = (typeof paneKinds)[number]

/** One tile. A terminal's id is the one that the service knows it by. */
export interface Pane {
  id: string
  kind: PaneKind
  /** The conversation's id or the file's path; empty for a terminal. */
  ref: string
  /** What a terminal runs. */
  command: string
  args: string[]
  /** What it is called. */
  name: string
}

export interface Workspace {
  id: string
  name: string
  /** Empty means a scratch folder of the service. */
  projectPath: string
  panes: Pane[]
  layout: LayoutNode | undefined
  /** ms since 1970; the tabs are in this order. */
  created: number
}

/** The keys of the settings that hold workspaces begin so. */
const settingPrefix = 'workspace:'
/** What was chosen last for a project, by its path. */
export const defaultsSetting = 'workspace_defaults'

export const settingOf = (id: string): string => settingPrefix + id

function readPane(v: unknown): Pane {
  const r = rec(v)
  return {
    id: str(r.id),
    kind: oneOf(r.kind, paneKinds, 'terminal'),
    ref: str(r.ref),
    command: str(r.command),
    args: strings(r.args),
    name: str(r.name),
  }
}

function usable(p: Pane): boolean {
  if (!validId(p.id)) return false
  return p.kind === 'terminal' || (p.kind === 'conversation' ? validId(p.ref) : p.ref !== '')
}

function readWorkspace(id: string, v: unknown): Workspace {
  const r = rec(v)
  const seen = new Set<string>()
  const panes = list(r.panes)
    .map(readPane)
    .filter((p) => usable(p) && !seen.has(p.id) && seen.add(p.id))
  const created = typeof r.created === 'number' ? r.created : 0
  return {
    id,
    name: str(r.name) || 'Workspace',
    projectPath: str(r.project_path),
    panes,
    layout: reconcile(
      readLayout(r.layout),
      panes.map((p) => p.id),
    ),
    created,
  }
}

/** The workspaces in the settings, the oldest first. */
export function readWorkspaces(settings: Record<string, unknown>): Workspace[] {
  return Object.entries(settings)
    .flatMap(([key, value]) => {
      const id = key.startsWith(settingPrefix) ? key.slice(settingPrefix.length) : ''
      return validId(id) && value !== null ? [readWorkspace(id, value)] : []
    })
    .sort((a, b) => a.created - b.created || a.id.localeCompare(b.id))
}

/** A workspace as it is kept. */
export const writeWorkspace = (w: Workspace) => ({
  name: w.name,
  project_path: w.projectPath,
  created: w.created,
  panes: w.panes,
  layout: w.layout,
})

const randomId = (prefix: string): string =>
  prefix +
  Array.from(crypto.getRandomValues(new Uint8Array(6)), (b) =>
    b.toString(16).padStart(2, '0'),
  ).join('')

export const newWorkspaceId = (): string => randomId('w-')

export function terminalPane(preset: Pick<TerminalPreset, 'command' | 'args' | 'label'>): Pane {
  const { command, args, label } = preset
  return { id: randomId('t-'), kind: 'terminal', ref: '', command, args, name: label }
}

export function conversationPane(id: string): Pane {
  return { id: randomId('p-'), kind: 'conversation', ref: id, command: '', args: [], name: '' }
}

export function filePane(path: string): Pane {
  return { id: randomId('p-'), kind: 'file', ref: path, command: '', args: [], name: '' }
}

// --- what a new workspace begins with ----------------------------------------

export interface Template {
  id: string
  label: string
  /** What is in it, in words. */
  holds: string
  presets: TerminalPreset[]
}

/** The templates that can be opened here; what is not installed is left out. */
export function templatesOf(presets: readonly TerminalPreset[]): Template[] {
  const agents = presets.filter((p) => p.kind === 'agent')
  const shell = presets.find((p) => p.default) ?? presets.find((p) => p.kind === 'shell')
  const packetcode = agents.find((p) => p.id === 'packetcode')
  const [first, second] = agents
  const all: Template[] = []
  const add = (id: string, label: string, ...of: (TerminalPreset | undefined)[]): void => {
    const held = of.filter((p) => p !== undefined)
    if (held.length < of.length) return
    all.push({ id, label, holds: held.map((p) => p.label).join(' and '), presets: held })
  }
  add('shell', 'Shell', shell)
  add('packetcode', 'PacketCode', packetcode)
  add('cli-pair', 'CLI Pair', first, second)
  add('review-pair', 'Review Pair', first, shell)
  return all
}

export function newWorkspace(
  name: string,
  projectPath: string,
  template: Template | undefined,
  now: number,
): Workspace {
  const panes = (template?.presets ?? []).map(terminalPane)
  return {
    id: newWorkspaceId(),
    name,
    projectPath,
    panes,
    layout: arrange(panes.map((p) => p.id)),
    created: now,
  }
}

/** The template that was chosen last for a project. */
export const templateFor = (settings: Record<string, unknown>, project: string): string =>
  str(rec(rec(settings[defaultsSetting])[project]).template)
