// The five postures: a bijection over (plan mode, permission mode), plan mode
// first. Approve writes is another thing and is never touched here.
// Source: ui.md 9.4.

import type { PermissionMode, Posture } from '../contract/gen'

export type PostureId = 'default' | 'plan' | 'manual' | 'deny' | 'yolo'

export interface PostureInfo {
  id: PostureId
  label: string
  description: string
  hue: 'amber' | 'green' | 'blue' | 'red'
  planMode: boolean
  permissionMode: PermissionMode
}

/** In the order of the chip's cycle. */
export const postures: readonly PostureInfo[] = [
  {
    id: 'default',
    label: 'Default',
    description: 'Full tools — read, write, run commands',
    hue: 'amber',
    planMode: false,
    permissionMode: 'auto',
  },
  {
    id: 'plan',
    label: 'Plan',
    description: 'Read-only exploration; no edits or commands',
    hue: 'green',
    planMode: true,
    permissionMode: 'auto',
  },
  {
    id: 'manual',
    label: 'Manual',
    description: 'Every risky tool requires your approval',
    hue: 'amber',
    planMode: false,
    permissionMode: 'ask_for_risky',
  },
  {
    id: 'deny',
    label: 'Deny',
    description: 'Risky tools are refused without prompting',
    hue: 'blue',
    planMode: false,
    permissionMode: 'deny_all',
  },
  {
    id: 'yolo',
    label: 'Yolo',
    description: 'Allow-all — never prompt for permissions',
    hue: 'red',
    planMode: false,
    permissionMode: 'allow_all',
  },
]

export function postureOf(p: Posture): PostureInfo {
  const found = postures.find((x) =>
    p.plan_mode ? x.planMode : !x.planMode && x.permissionMode === p.permission_mode,
  )
  // The list covers every mode; the careful one stands for the impossible.
  return found ?? manual()
}

function manual(): PostureInfo {
  const found = postures.find((x) => x.id === 'manual')
  if (!found) throw new Error('The list of postures has no Manual.')
  return found
}

/** The postures that a provider honours; all of them when it said nothing. */
export function offered(modes: string[], canPlan: boolean): PostureInfo[] {
  if (modes.length === 0) return []
  return postures.filter((p) => (p.planMode ? canPlan : modes.includes(p.permissionMode)))
}

/** The next one of the cycle; a posture outside the list snaps to the first. */
export function nextPosture(current: PostureInfo, list: PostureInfo[]): PostureInfo | undefined {
  const at = list.findIndex((p) => p.id === current.id)
  return at < 0 ? list[0] : list[(at + 1) % list.length]
}

export interface Segment {
  id: 'agent' | 'ask' | 'manual' | 'plan'
  label: string
  description: string
  hue: 'green' | 'blue' | 'amber' | 'violet'
  planMode: boolean
  permissionMode: PermissionMode
}

/** The four mode segments of a launch. Source: ui.md 4.1. */
export const segments: readonly Segment[] = [
  {
    id: 'agent',
    label: 'Agent',
    description: 'Full tools — read, write, run commands',
    hue: 'green',
    planMode: false,
    permissionMode: 'auto',
  },
  {
    id: 'ask',
    label: 'Ask',
    description: 'Read-only — no edits or commands',
    hue: 'blue',
    planMode: true,
    permissionMode: 'auto',
  },
  {
    id: 'manual',
    label: 'Manual',
    description: 'Every risky tool requires your approval',
    hue: 'amber',
    planMode: false,
    permissionMode: 'ask_for_risky',
  },
  {
    id: 'plan',
    label: 'Plan',
    description: 'Produce a structured plan first, then execute',
    hue: 'violet',
    planMode: true,
    permissionMode: 'auto',
  },
]
