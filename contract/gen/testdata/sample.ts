// Generated from package contract by contract/gen. Do not edit: run make gen.

// sample.go

/** Kind is a closed set with a list of its own. */
export type Kind = (typeof kinds)[number]

/** Kinds lists both. */
export const kinds = [
  'note',
  'the-stop',
] as const

/** FirstKinds is not all of them. */
export const firstKinds: readonly Kind[] = [
  'note',
]

/** Every value of Colour. */
export const colourValues = [
  'red',
  'blue',
] as const

/** Colour is a closed set without a list. */
export type Colour = (typeof colourValues)[number]

/** ID has no constants. */
export type ID = string

/** Row is open although it has one. */
export type Row = string

/** RowDemo is a value of an open type. */
export const RowDemo: Row = 'demo'

export const TextQuote = 'it\'s \u2014 "so" \\ \ud83d\ude00'

export const TextBuilt = 'pre-fix'

export const MaxBytes = 5242880

export const Code = -32600

export const Half = 1/2

export const Yes = true

/** Note is a bare string. */
export type Note = string

/** Stop has no fields and is an event. */
export type Stop = null

/** Empty has no fields and is no event. */
export type Empty = { readonly [key: string]: never }

/** Base is embedded. A comment that ends like this *\/ is kept from ending. */
export interface Base {
  id: ID
}

/**
 * Wide has every type of field.
 *
 * It has two paragraphs.
 */
export interface Wide extends Base {
  text: string
  maybe?: string
  null: number | null
  numbers: number[]
  raw?: unknown
  when: string
  map: { [key: string]: number }
  wide?: Wide
  colours?: Colour[]
  /** Levels is null when there are none. */
  levels: string[] | null
  any: unknown
}

/** Patch is a named map. */
export type Patch = { [key: string]: unknown }

/** Every value of What. */
export const whatValues = [
  'new',
] as const

/** What is the second family. */
export type What = (typeof whatValues)[number]

/** Every value of TerminalWhat. */
export const terminalWhatValues = [
  'open',
] as const

/** TerminalWhat and OpsWhat are two more families. */
export type TerminalWhat = (typeof terminalWhatValues)[number]

/** Every value of OpsWhat. */
export const opsWhatValues = [
  'sick',
] as const

/** OpsWhat is the last one. */
export type OpsWhat = (typeof opsWhatValues)[number]

/** Every value of Method. */
export const methodValues = [
  'get_it',
  'set_it',
] as const

/** Method is what is called. */
export type Method = (typeof methodValues)[number]

// What joins names and shapes.

/** One of the fifteen kinds with its payload, told apart by `kind`. */
export type AgentEvent =
  | { kind: 'note'; payload: Note }
  | { kind: 'the-stop'; payload: Stop }

/** One member of the second family with its payload, told apart by `what`. */
export type ConversationEvent =
  | { what: 'new'; payload: Patch }

/** One member of the terminal family with its payload, told apart by `what`. */
export type TerminalEvent =
  | { what: 'open'; payload: Empty }

/** One member of the ops family with its payload, told apart by `what`. */
export type OpsEvent =
  | { what: 'sick'; payload: Patch }

/** What each method takes and answers. */
export interface Commands {
  get_it: { params: Empty; result: Wide[] }
  set_it: { params: unknown; result: Empty }
}
