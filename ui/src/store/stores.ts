// The stores of one window and the actions that change them. Facts come from
// the service; what is decided here is only what this window shows.

import type { StoreApi } from 'zustand/vanilla'
import { createStore } from 'zustand/vanilla'
import { CodeAnswered, CodeNotFound, TextQueueImages } from '../contract/gen'
import { readEvent, readSidecar } from '../contract/guards'
import type { Attachment, Decision, KeyInfo } from '../contract/gen'
import type {
  Envelope,
  PlanChoice,
  ProviderRow,
  ProviderSettings,
  SessionInfo,
  SidecarStatus,
  Summary,
} from '../contract/model'
import {
  conversationSubjects,
  listSubjects,
  newConversationId,
  parseSubject,
} from '../contract/subjects'
import type { Schedule } from '../net/coalesce'
import { createCoalescer } from '../net/coalesce'
import type { Commands, StartRequest } from '../net/command'
import { refusalOf, sentence } from '../net/command'
import type { Link, LinkState } from '../net/socket'
import { CallError } from '../net/socket'
import { createDeskCommands } from '../net/desk'
import type { Alert } from './attention'
import type { DeskActions, DeskState } from './desk'
import { createDesk, readDesk } from './desk'
import { readDraft, writeDraft } from './drafts'
import type { OutboxItem } from './outbox'
import { fateOf, userMessageIds } from './outbox'
import type { PostureInfo } from './posture'
import type { Ops } from './ops'
import { createOps } from './ops'
import type { ConversationState } from './reduce'
import { fromSnapshot, reduceAll } from './reduce'
import type { Reviews } from './reviews'
import { createReviews } from './reviews'
import { lacksSize } from './tools'
import type { Work } from './work'
import { createWork } from './work'

export interface Toast {
  id: number
  text: string
  tone: 'info' | 'error'
}

/** What is open: loading, there, or why not. */
export type Opened =
  | { phase: 'loading' }
  | { phase: 'ready'; state: ConversationState }
  | { phase: 'missing' }
  | { phase: 'failed'; reason: string }

/** An image that is ready to be sent, or the reason why it is not. */
export interface Staged {
  id: string
  name: string
  bytes: number
  attachment?: Attachment
  preview: string
  refusal: string
}

/** How a launch ended; project is the fault of its folder, empty for another. */
export type Started = { ok: true } | { ok: false; project: string }

/** The conversation that a fork made, or why there is none. */
export type Forked = { ok: true; id: string } | { ok: false; reason: string }

export interface WindowState extends DeskState {
  link: LinkState
  session: SessionInfo | undefined
  /** undefined until the first answer. */
  summaries: Summary[] | undefined
  listError: string
  providers: ProviderRow[] | undefined
  providersError: string
  sidecar: SidecarStatus | undefined
  conversations: Record<string, Opened>
  outbox: OutboxItem[]
  drafts: Record<string, string>
  staged: Record<string, Staged[]>
  /** Errors above a composer, by conversation. */
  composerErrors: Record<string, string>
  /** Prompts answered from this window whose outcome is not known yet. */
  answering: Record<string, boolean>
  /** Stop was pressed here; ms since 1970. Cleared by the turn's end. */
  stopPressed: Record<string, number>
  /** When a transcript was read again because too much was missed; ms. */
  gaps: Record<string, number>
  /** undefined until the Settings asked. */
  keys: KeyInfo[] | undefined
  /** undefined until the Settings asked. */
  providerSettings: ProviderSettings | undefined
  toast: Toast | undefined
}

export interface Actions extends DeskActions {
  /** Follows one conversation until the disposer runs. */
  open: (id: string) => () => void
  reload: (id: string) => void
  reloadList: () => void
  reloadProviders: () => void
  setDraft: (key: string, text: string) => void
  stage: (key: string, images: Staged[]) => void
  unstage: (key: string, id: string) => void
  /** Takes the draft and the staged images of a conversation and sends them. */
  send: (id: string) => void
  resend: (id: string, text: string) => void
  start: (request: StartRequest, draftKey: string) => Promise<Started>
  stop: (id: string) => void
  cancelPending: (id: string) => void
  removeQueued: (id: string, messageId: string) => void
  /** Takes a queued message back into the composer. */
  editQueued: (id: string, messageId: string) => void
  answer: (
    id: string,
    toolId: string,
    decision: Decision,
    more?: { reason?: string; allow_pattern?: string },
  ) => void
  answerAll: (id: string, decision: 'allow_once' | 'deny') => void
  /** Answers a parked edit; the reason when that did not work. */
  answerEdit: (
    id: string,
    toolId: string,
    decision: 'apply' | 'reject',
    merged?: string,
  ) => Promise<string>
  forgetResolved: (id: string, promptId: string) => void
  setPosture: (id: string, p: PostureInfo) => void
  setApproveWrites: (id: string, on: boolean) => void
  approvePlan: (id: string, choice: PlanChoice) => Promise<string>
  retry: (id: string, model?: string) => void
  /** Sends a text in a message's place, in a new conversation; its id, or the reason. */
  fork: (id: string, messageId: string, text: string) => Promise<Forked>
  /** Drops what came after a message and runs it again; the reason when refused. */
  restore: (id: string, messageId: string) => Promise<string>
  /** Takes a pattern back that answers prompts of this conversation. */
  removePattern: (id: string, pattern: string) => void
  changeModel: (id: string, model: string) => void
  rename: (id: string, title: string) => void
  archive: (id: string, archived: boolean) => void
  pin: (id: string, pinned: boolean) => void
  remove: (id: string) => Promise<boolean>
  resetSidecar: () => void
  reloadSidecar: () => void
  reloadKeys: () => void
  /** Saves or removes a key; the reason when that did not work. */
  setKey: (account: string, value: string) => Promise<string>
  deleteKey: (account: string) => Promise<string>
  reloadProviderSettings: () => void
  /** Saves one setting, null for its default; the reason when it was refused. */
  setProviderSetting: (key: string, value: unknown) => Promise<string>
  retryNow: () => void
  say: (text: string, tone?: Toast['tone']) => void
  dismissToast: () => void
}

export interface Bench {
  store: StoreApi<WindowState>
  reviews: Reviews
  work: Work
  ops: Ops
  actions: Actions
  /** Hears what deserves a notification, until the disposer runs. */
  onAlert: (f: (a: Alert) => void) => () => void
  /** Ends every subscription of this window. */
  dispose: () => void
}

/** Draft key of the launch composer; conversations use their id. */
export const launchDraft = '+launch'

// A reconnect within this time is not worth a word. In ms.
const graceMs = 400

let serial = 0
const nextSerial = (): number => ++serial

export function createBench(link: Link, commands: Commands, schedule: Schedule): Bench {
  const store = createStore<WindowState>(() => ({
    link: link.state(),
    session: link.session(),
    summaries: undefined,
    listError: '',
    providers: undefined,
    providersError: '',
    sidecar: undefined,
    conversations: {},
    outbox: [],
    drafts: {},
    staged: {},
    composerErrors: {},
    answering: {},
    stopPressed: {},
    gaps: {},
    keys: undefined,
    providerSettings: undefined,
    toast: undefined,
    ...readDesk(),
  }))
  const { getState: get, setState: set } = store
  const reviews = createReviews(commands)
  const disposers: (() => void)[] = []
  const users = new Map<string, { count: number; stop: () => void; reload: () => void }>()

  const say = (text: string, tone: Toast['tone'] = 'info'): void =>
    set({ toast: { id: nextSerial(), text, tone } })

  const work = createWork({ link, say })
  const ops = createOps({ link, say, schedule })

  const put = (id: string, opened: Opened): void =>
    set((s) => ({ conversations: { ...s.conversations, [id]: opened } }))

  const stateOf = (id: string): ConversationState | undefined => {
    const opened = get().conversations[id]
    return opened?.phase === 'ready' ? opened.state : undefined
  }

  const composerError = (id: string, text: string): void =>
    set((s) => ({ composerErrors: { ...s.composerErrors, [id]: text } }))

  const desk = createDesk({
    get,
    set,
    commands: createDeskCommands(link),
    say,
    isOpen: (id) => users.has(id),
  })

  // The one that notices a lost answer knows whether it was a lost connection.
  const isDown = (e: unknown): boolean => e instanceof CallError && e.code === 0

  /** Runs a command; a refusal becomes a toast in the service's own words. */
  const attempt = (work: Promise<void>): void => {
    work.catch((e: unknown) => say(sentence(e), 'error'))
  }

  // --- one conversation -----------------------------------------------------

  const follow = (id: string): { stop: () => void; reload: () => void } => {
    let generation = 0
    let unsubscribe: (() => void) | undefined
    let coalescer: ReturnType<typeof createCoalescer> | undefined

    const quiet = (): void => {
      unsubscribe?.()
      unsubscribe = undefined
      coalescer?.dispose()
      coalescer = undefined
    }

    const load = async (): Promise<void> => {
      const mine = ++generation
      quiet()
      try {
        const { conversation, seq } = await commands.getConversation(id)
        if (mine !== generation) return
        put(id, { phase: 'ready', state: fromSnapshot(conversation, seq, stateOf(id)) })
        settleStop(id)
        void flushOutbox(id)
        listen(mine, seq)
      } catch (e) {
        if (mine !== generation) return
        if (e instanceof CallError && e.code === CodeNotFound) put(id, { phase: 'missing' })
        else if (isDown(e)) waitForLink(mine)
        else put(id, { phase: 'failed', reason: sentence(e) })
      }
    }

    // What is shown stays; the snapshot is read when the service answers.
    const waitForLink = (mine: number): void => {
      const off = link.onState((s) => {
        if (s.phase !== 'open') return
        off()
        if (mine === generation) void load()
      })
      if (link.state().phase === 'open') {
        off()
        void load()
      }
    }

    const listen = (mine: number, seq: number): void => {
      const feed = createCoalescer((batch) => {
        const state = stateOf(id)
        if (!state) return
        const next = reduceAll(state, batch)
        if (next.stale) {
          void load()
          return
        }
        put(id, next.deleted ? { phase: 'missing' } : { phase: 'ready', state: next })
        settleStop(id)
        // Events do not carry the sizes of edits; the snapshot does.
        const ended = batch.find((e) => e.kind === 'turn-ended')
        const turn = next.conversation.messages.find(
          (m) => m.role === 'assistant' && m.turn_id === ended?.turn_id,
        )
        if (turn && lacksSize(turn.tool_calls)) void load()
      }, schedule)
      coalescer = feed
      unsubscribe = link.subscribe(conversationSubjects(id), seq + 1, {
        onEvents: (events) => {
          for (const envelope of events) {
            const event = readEvent(envelope)
            if (event) feed.push(event)
          }
        },
        onLost: (reason) => {
          if (mine !== generation) return
          void load().then(() => {
            if (reason === 'gap') set((s) => ({ gaps: { ...s.gaps, [id]: Date.now() } }))
          })
        },
      })
    }

    put(id, { phase: 'loading' })
    void load()
    return {
      stop: () => {
        generation++
        quiet()
        set((s) => {
          const { [id]: _closed, ...rest } = s.conversations
          const { [id]: _gap, ...gaps } = s.gaps
          return { conversations: rest, gaps }
        })
      },
      reload: () => void load(),
    }
  }

  const open = (id: string): (() => void) => {
    const known = users.get(id)
    const entry = known ?? { count: 0, ...follow(id) }
    entry.count++
    users.set(id, entry)
    desk.actions.markRead(id)
    let done = false
    return () => {
      if (done) return
      done = true
      entry.count--
      if (entry.count > 0) return
      users.delete(id)
      entry.stop()
    }
  }

  // What was queued behind a turn that this window stops, by message id.
  const behindStop = new Map<string, Map<string, string>>()

  const watchQueue = (id: string): void => {
    const behind = behindStop.get(id) ?? new Map<string, string>()
    for (const m of stateOf(id)?.conversation.messages ?? []) {
      if (m.queued) behind.set(m.id, m.content)
    }
    behindStop.set(id, behind)
  }

  /** A Stop drops the queue; its texts go back to the one who pressed it. */
  const returnQueue = (id: string): void => {
    const behind = behindStop.get(id)
    behindStop.delete(id)
    const state = stateOf(id)
    if (!behind || !state) return
    const there = new Set(state.conversation.messages.map((m) => m.id))
    const dropped = [...behind].flatMap(([message, text]) => (there.has(message) ? [] : [text]))
    if (dropped.length === 0) return
    const draft = get().drafts[id] ?? readDraft(id)
    setDraft(id, [draft, ...dropped].filter((text) => text.trim() !== '').join('\n'))
  }

  /** Stop is over when the service shows no turn. */
  const settleStop = (id: string): void => {
    if (get().stopPressed[id] === undefined) return
    watchQueue(id)
    const state = stateOf(id)
    if (state && (state.conversation.status === 'active' || state.conversation.stopping)) return
    returnQueue(id)
    set((s) => {
      const { [id]: _over, ...rest } = s.stopPressed
      return { stopPressed: rest }
    })
  }

  // --- outbox -----------------------------------------------------------------

  const dropItem = (item: OutboxItem): void =>
    set((s) => ({ outbox: s.outbox.filter((x) => x.id !== item.id) }))

  const mark = (item: OutboxItem, state: OutboxItem['state']): void =>
    set((s) => ({ outbox: s.outbox.map((x) => (x.id === item.id ? { ...x, state } : x)) }))

  /** Puts an unsent text in front of whatever was typed since. */
  const giveBack = (item: OutboxItem): void => {
    const draft = get().drafts[item.conversationId] ?? readDraft(item.conversationId)
    const text = draft.trim() === '' ? item.text : `${item.text}\n${draft}`
    setDraft(item.conversationId, text)
    const images = item.attachments.map((attachment) => stagedFrom(attachment))
    if (images.length > 0) stage(item.conversationId, images)
    dropItem(item)
  }

  /** Last one first: each goes in front of those behind it. */
  const giveAllBack = (): void => {
    for (const item of [...get().outbox].reverse()) giveBack(item)
  }

  const transmit = async (item: OutboxItem): Promise<void> => {
    mark(item, 'sending')
    try {
      await commands.send(item.conversationId, item.text, item.attachments)
      dropItem(item)
    } catch (e) {
      if (isDown(e)) {
        const sent = e instanceof CallError && e.sent
        mark(item, sent ? 'unsure' : 'waiting')
        return
      }
      giveBack(item)
      composerError(item.conversationId, sentence(e))
    }
  }

  const flushing = new Set<string>()

  const flushOutbox = async (id: string): Promise<void> => {
    if (flushing.has(id)) return
    flushing.add(id)
    try {
      for (;;) {
        const item = get().outbox.find((x) => x.conversationId === id && x.state !== 'sending')
        const session = link.session()
        if (!item || !session || link.state().phase !== 'open') return
        const messages =
          item.state === 'unsure'
            ? (await commands.getConversation(id)).conversation.messages
            : (stateOf(id)?.conversation.messages ?? [])
        switch (fateOf(item, session, messages)) {
          case 'arrived':
            dropItem(item)
            break
          case 'back':
            giveBack(item)
            composerError(
              id,
              'The service was started again meanwhile, so this was not sent. Send it again when it still fits.',
            )
            break
          case 'send':
            await transmit(item)
            break
        }
      }
    } catch (e) {
      if (!isDown(e)) say(sentence(e), 'error')
    } finally {
      flushing.delete(id)
    }
  }

  const enqueue = (id: string, text: string, attachments: Attachment[]): void => {
    const item: OutboxItem = {
      id: `o${nextSerial()}`,
      conversationId: id,
      text,
      attachments,
      bootId: get().session?.boot_id ?? '',
      known: userMessageIds(stateOf(id)?.conversation.messages ?? []),
      state: 'waiting',
    }
    set((s) => ({ outbox: [...s.outbox, item] }))
    composerError(id, '')
    void flushOutbox(id)
  }

  // --- drafts -----------------------------------------------------------------

  function setDraft(key: string, text: string): void {
    writeDraft(key, text)
    set((s) => ({ drafts: { ...s.drafts, [key]: text } }))
  }

  function stage(key: string, images: Staged[]): void {
    set((s) => ({ staged: { ...s.staged, [key]: [...(s.staged[key] ?? []), ...images] } }))
  }

  // --- the list -----------------------------------------------------------------

  const upsert = (id: string, change: Partial<Summary>, create: boolean): void =>
    set((s) => {
      const all = s.summaries ?? []
      const known = all.find((x) => x.session_id === id)
      if (!known)
        return create ? { summaries: [...all, { ...blank, session_id: id, ...change }] } : {}
      return { summaries: all.map((x) => (x === known ? { ...x, ...change } : x)) }
    })

  const onListEvents = (events: Envelope[]): void => {
    let badges = false
    for (const envelope of events) {
      desk.hear([envelope])
      const { family, what, id } = parseSubject(envelope.subject)
      if (family === 'conversation') {
        const event = readEvent(envelope)
        if (event?.kind === 'created') upsert(id, event.patch, true)
        else if (event?.kind === 'updated') {
          const {
            reload: _r,
            plan_approved: _p,
            context: _c,
            allow_patterns: _a,
            diff_comments: _d,
            edits: _e,
            git: _g,
            mcp: _m,
            ...change
          } = event.patch
          upsert(id, change, false)
        } else if (event?.kind === 'deleted') {
          set((s) => ({ summaries: (s.summaries ?? []).filter((x) => x.session_id !== id) }))
        }
      } else if (what.startsWith('sidecar-status')) {
        set({ sidecar: readSidecar(envelope.data) })
        badges = true
      } else {
        badges = true
      }
    }
    desk.follow()
    if (badges) reloadProviders()
  }

  let listGeneration = 0
  let stopList: (() => void) | undefined

  // Subscribed first, read second: what changes in between arrives as well.
  const reloadList = (): void => {
    const mine = ++listGeneration
    stopList?.()
    const held: Envelope[] = []
    let ready = false
    stopList = link.subscribe(listSubjects, 'new', {
      onEvents: (events) => {
        if (ready) onListEvents(events)
        else held.push(...events)
      },
      onLost: () => {
        if (mine === listGeneration) reloadList()
      },
    })
    commands
      .listConversations()
      .then((summaries) => {
        if (mine !== listGeneration) return
        set({ summaries, listError: '' })
        ready = true
        onListEvents(held)
      })
      .catch((e: unknown) => {
        if (mine === listGeneration && !isDown(e)) set({ listError: sentence(e) })
      })
    commands
      .getSidecarStatus()
      .then((sidecar) => set({ sidecar }))
      .catch(() => undefined)
  }

  const reloadProviders = (): void => {
    commands
      .listProviders()
      .then((providers) => set({ providers, providersError: '' }))
      .catch((e: unknown) => {
        if (!isDown(e)) set({ providersError: sentence(e) })
      })
  }

  let downSince: number | undefined

  disposers.push(
    link.onState((state) => {
      const was = get().link.phase
      set({ link: state })
      if (state.phase !== 'open') downSince ??= Date.now()
      // Signing in again loads the page anew, which keeps drafts and nothing else.
      if (state.phase === 'unauthorized' && was !== 'unauthorized') giveAllBack()
      if (state.phase !== 'open' || was === 'open') return
      // Whatever was waiting for the connection goes on from here.
      if (get().summaries === undefined) reloadList()
      reloadProviders()
      for (const id of new Set(get().outbox.map((x) => x.conversationId))) void flushOutbox(id)
    }),
    link.onSession((session) => {
      const before = get().session
      const since = downSince
      downSince = undefined
      set({ session })
      if (!before || since === undefined || Date.now() - since < graceMs) return
      // Only now is it known what became of the agents.
      say(
        before.boot_id === session.boot_id
          ? 'Reconnected. Nothing was lost.'
          : 'Reconnected. The service was started again meanwhile; a turn that was running was interrupted.',
      )
    }),
  )
  if (link.state().phase === 'open') {
    reloadList()
    reloadProviders()
  }

  // --- answers --------------------------------------------------------------------

  const answering = (toolId: string, on: boolean): void =>
    set((s) => {
      const { [toolId]: _was, ...rest } = s.answering
      return { answering: on ? { ...rest, [toolId]: true } : rest }
    })

  /** Sends one answer; the reason when it was not taken. */
  const respond = async (toolId: string, work: () => Promise<void>): Promise<string> => {
    if (get().answering[toolId]) return ''
    answering(toolId, true)
    try {
      await work()
      return ''
    } catch (e) {
      answering(toolId, false)
      // Another window was first: its prompt-resolved takes the card away.
      return e instanceof CallError && e.code === CodeAnswered ? '' : sentence(e)
    }
  }

  const respondAloud = async (toolId: string, work: () => Promise<void>): Promise<void> => {
    const reason = await respond(toolId, work)
    if (reason !== '') say(reason, 'error')
  }

  const actions: Actions = {
    ...desk.actions,
    open,
    reload: (id) => users.get(id)?.reload(),
    reloadList,
    reloadProviders,
    setDraft,
    stage,
    unstage: (key, id) =>
      set((s) => ({
        staged: { ...s.staged, [key]: (s.staged[key] ?? []).filter((x) => x.id !== id) },
      })),
    send: (id) => {
      const text = (get().drafts[id] ?? readDraft(id)).trim()
      const images = (get().staged[id] ?? []).flatMap((x) => (x.attachment ? [x.attachment] : []))
      // Remarks on lines go out with the message; they may be all there is to say.
      const remarks = stateOf(id)?.conversation.diff_comments ?? []
      if (text === '' && images.length + remarks.length === 0) return
      const busy = stateOf(id)?.conversation.status === 'active'
      if (busy && images.length > 0) {
        composerError(id, TextQueueImages)
        return
      }
      setDraft(id, '')
      set((s) => ({ staged: { ...s.staged, [id]: [] } }))
      enqueue(id, text, images)
    },
    resend: (id, text) => enqueue(id, text, []),
    start: async (request, draftKey) => {
      try {
        const staged = get().staged[draftKey]
        await commands.start(request)
        // What was typed or pasted since belongs to the next launch.
        const draft = get().drafts[draftKey] ?? readDraft(draftKey)
        if (draft.trim() === request.initial_message) setDraft(draftKey, '')
        set((s) => ({
          staged: {
            ...s.staged,
            [draftKey]: (s.staged[draftKey] ?? []).filter((x) => !staged?.includes(x)),
          },
        }))
        return { ok: true }
      } catch (e) {
        const project = refusalOf(e, 'project_path')
        if (project !== undefined) return { ok: false, project }
        say(
          e instanceof Error && e.message !== '' ? sentence(e) : 'Failed to launch agent.',
          'error',
        )
        return { ok: false, project: '' }
      }
    },
    stop: (id) => {
      const state = stateOf(id)
      if (!state || state.conversation.status !== 'active') return
      set((s) => ({ stopPressed: { ...s.stopPressed, [id]: Date.now() } }))
      watchQueue(id)
      commands.cancel(id).catch((e: unknown) => {
        behindStop.delete(id)
        set((s) => {
          const { [id]: _failed, ...rest } = s.stopPressed
          return { stopPressed: rest }
        })
        say(sentence(e), 'error')
      })
    },
    cancelPending: (id) => attempt(commands.cancelPending(id)),
    removeQueued: (id, messageId) => attempt(commands.removeQueued(id, messageId)),
    editQueued: (id, messageId) => {
      const text = stateOf(id)?.conversation.queue.find((q) => q.message_id === messageId)?.content
      attempt(
        commands.removeQueued(id, messageId).then(() => {
          // Only now: a message that went out meanwhile must not be sent twice.
          const draft = get().drafts[id] ?? readDraft(id)
          setDraft(id, [text ?? '', draft].filter((t) => t.trim() !== '').join('\n'))
        }),
      )
    },
    answer: (id, toolId, decision, more) => {
      void respondAloud(toolId, () => commands.respondPermission(id, toolId, decision, more))
    },
    answerAll: (id, decision) => {
      const prompts = stateOf(id)?.conversation.pending_permissions ?? []
      void (async () => {
        for (const p of prompts) {
          await respondAloud(p.id, () => commands.respondPermission(id, p.id, decision))
        }
      })()
    },
    answerEdit: (id, toolId, decision, merged) =>
      respond(toolId, () => commands.respondEdit(id, toolId, decision, merged)),
    forgetResolved: (id, promptId) => {
      const state = stateOf(id)
      if (state) {
        const resolved = state.resolved.filter((r) => r.id !== promptId)
        put(id, { phase: 'ready', state: { ...state, resolved } })
      }
      answering(promptId, false)
    },
    setPosture: (id, p) => {
      const current = stateOf(id)?.conversation.posture
      if (!current) return
      // Plan mode is lifted last and set first, so that no moment in between
      // allows more than both ends do.
      const work = async (): Promise<void> => {
        if (p.planMode) {
          await commands.setPlanMode(id, true)
          return
        }
        if (current.permission_mode !== p.permissionMode) {
          await commands.setPermissionMode(id, p.permissionMode)
        }
        if (current.plan_mode) await commands.setPlanMode(id, false)
      }
      settings(id, work())
    },
    setApproveWrites: (id, on) => settings(id, commands.setApproveWrites(id, on)),
    approvePlan: async (id, choice) => {
      try {
        await commands.approvePlan(id, choice)
        return ''
      } catch (e) {
        return sentence(e)
      }
    },
    retry: (id, model) => attempt(commands.retry(id, model)),
    fork: async (id, messageId, text) => {
      const fresh = newConversationId()
      try {
        await commands.fork(id, messageId, fresh, text)
        return { ok: true, id: fresh }
      } catch (e) {
        return { ok: false, reason: sentence(e) }
      }
    },
    restore: (id, messageId) => commands.restore(id, messageId).then(() => '', sentence),
    removePattern: (id, pattern) => attempt(commands.removePattern(id, pattern)),
    changeModel: (id, model) => settings(id, commands.changeModel(id, model)),
    rename: (id, title) => attempt(commands.rename(id, title)),
    archive: (id, archived) =>
      attempt(
        commands.archive(id, archived).then(() => say(archived ? 'Archived' : 'Brought back')),
      ),
    pin: (id, pinned) => attempt(commands.pin(id, pinned)),
    remove: async (id) => {
      try {
        const problem = await commands.remove(id)
        if (problem !== '') say(problem, 'error')
        setDraft(id, '')
        reviews.forget(id)
        return true
      } catch (e) {
        say(sentence(e), 'error')
        return false
      }
    },
    resetSidecar: () => attempt(commands.resetActor('sidecar')),
    reloadSidecar: () => attempt(commands.getSidecarStatus().then((sidecar) => set({ sidecar }))),
    reloadKeys,
    setKey: (account, value) => changeKey(commands.setKey(account, value)),
    deleteKey: (account) => changeKey(commands.deleteKey(account)),
    reloadProviderSettings: () =>
      attempt(commands.getProviderSettings().then((providerSettings) => set({ providerSettings }))),
    setProviderSetting: async (key, value) => {
      const [outer = key, inner] = key.split('.')
      try {
        set({
          providerSettings: await commands.setProviderSettings({
            [outer]: inner === undefined ? value : { [inner]: value },
          }),
        })
        reloadProviders()
        return ''
      } catch (e) {
        return refusalOf(e, key) ?? sentence(e)
      }
    },
    retryNow: () => link.retryNow(),
    say,
    dismissToast: () => set({ toast: undefined }),
  }

  function reloadKeys(): void {
    attempt(commands.listKeys().then((keys) => set({ keys })))
  }

  async function changeKey(work: Promise<void>): Promise<string> {
    try {
      await work
      return ''
    } catch (e) {
      return sentence(e)
    } finally {
      reloadKeys()
      reloadProviders()
    }
  }

  function settings(id: string, work: Promise<void>): void {
    composerError(id, '')
    work.catch((e: unknown) =>
      composerError(id, `Could not update conversation settings: ${sentence(e)}`),
    )
  }

  return {
    store,
    reviews,
    work,
    ops,
    actions,
    onAlert: desk.onAlert,
    dispose: () => {
      for (const d of disposers) d()
      stopList?.()
      for (const u of users.values()) u.stop()
      users.clear()
      work.dispose()
      ops.dispose()
      link.close()
    },
  }
}

const blank: Omit<Summary, 'session_id'> = {
  title: '',
  row: '',
  provider: '',
  model: '',
  project_path: '',
  status: 'idle',
  archived: false,
  pinned: false,
  created_at: '',
  updated_at: '',
  needs_you: 0,
  queued: 0,
  retired_notice: '',
}

// Base64 grows bytes by a third. Source: RFC 4648.
const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4)

function stagedFrom(attachment: Attachment): Staged {
  return {
    id: `i${nextSerial()}`,
    name: attachment.name ?? 'image',
    bytes: bytesOf(attachment.data_base64),
    attachment,
    preview: `data:${attachment.media_type};base64,${attachment.data_base64}`,
    refusal: '',
  }
}
