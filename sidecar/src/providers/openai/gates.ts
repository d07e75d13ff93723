// What waits for an answer of the host: permission prompts, answered all at once
// before the run goes on, and reviewed edits, inside the tool that writes. The
// first answer wins.
//
// Source: sidecar-protocol.md 12.3, contract.md 6.6.
import type { EditAnswer, PermissionAnswer } from '../../protocol.js'

/** Texts of refusals; the model and the person read the same. Source: contract.md 6.7. */
export const texts = {
  cancelledByUser: 'Cancelled by the user',
  userCancelled: 'User cancelled this tool',
  editRejected: 'User rejected this edit.',
  editTimeout: 'Edit approval timed out.',
  denyAll: 'Permissions: all risky tools are denied.',
  invalidArguments: 'Error: invalid arguments',
  plan: (tool: string) =>
    `Plan mode is active \u2014 '${tool}' is disabled. Ask the user to exit plan mode first.`,
  notOffered: (tool: string) => `Tool '${tool}' is outside this session's allowed tool set.`,
}

/** The answer to one prompt: undefined lets it run, a text refuses it. */
export type Verdict = { readonly refusal: string | undefined; readonly always: boolean }

/** What became of an edit. */
export type EditVerdict =
  | { readonly approved: true; readonly merged: string | undefined }
  | { readonly approved: false; readonly why: string }

interface ParkedEdit {
  settle: (verdict: EditVerdict) => void
}

/** Prompts and edits of one session. */
export class Gates {
  private readonly prompts = new Map<string, (verdict: Verdict) => void>()
  private readonly edits = new Map<string, ParkedEdit>()

  constructor(
    /** How long an edit may wait, ms. */
    private readonly editMs: number,
  ) {}

  /** Parks a prompt until it is answered. */
  ask(toolUseId: string): Promise<Verdict> {
    return new Promise((resolve) => this.prompts.set(toolUseId, resolve))
  }

  /** Throws when no prompt waits for the id. */
  respondPermission(answer: PermissionAnswer): void {
    const settle = this.prompts.get(answer.toolUseId)
    if (settle === undefined) {
      throw new Error(
        `No permission request is waiting for ${answer.toolUseId}. It was answered already, or its turn has ended.`,
      )
    }
    this.prompts.delete(answer.toolUseId)
    settle({
      refusal: answer.decision === 'deny' ? denial(answer) : undefined,
      always: answer.decision === 'allow_always',
    })
  }

  /** Parks an edit until it is answered, its time is up, or its turn is cancelled. */
  review(toolUseId: string): Promise<EditVerdict> {
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => parked.settle({ approved: false, why: texts.editTimeout }),
        this.editMs,
      )
      const parked: ParkedEdit = {
        settle: (verdict) => {
          clearTimeout(timer)
          if (this.edits.get(toolUseId) === parked) this.edits.delete(toolUseId)
          resolve(verdict)
        },
      }
      this.edits.get(toolUseId)?.settle({ approved: false, why: texts.cancelledByUser })
      this.edits.set(toolUseId, parked)
    })
  }

  /** Throws when no edit waits for the id. */
  respondEdit(answer: EditAnswer): void {
    const parked = this.edits.get(answer.toolUseId)
    if (parked === undefined) {
      throw new Error(
        `No edit is waiting for ${answer.toolUseId}. It was answered already, or its turn has ended.`,
      )
    }
    parked.settle(
      answer.approved
        ? { approved: true, merged: answer.mergedContent }
        : { approved: false, why: texts.editRejected },
    )
  }

  /** Refuses everything that is parked. */
  refuseAll(why: string): void {
    for (const parked of [...this.edits.values()]) parked.settle({ approved: false, why })
    const prompts = [...this.prompts.values()]
    this.prompts.clear()
    for (const settle of prompts) settle({ refusal: why, always: false })
  }
}

/** What the model is told; a timeout is no denial by the person (F51). */
function denial(answer: PermissionAnswer): string {
  switch (answer.by) {
    case 'policy':
      return 'denied by policy'
    case 'timeout':
      return 'Permission request timed out.'
    case 'cancel':
      return texts.userCancelled
    case 'user': {
      const why = answer.reason?.trim() ?? ''
      const plain = 'User denied permission for this tool call.'
      return why === '' ? plain : `${plain} User's guidance: ${why}`
    }
  }
}
