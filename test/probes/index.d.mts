import type { ProtocolName } from '@polyvac/vac'

export interface ProbeRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

export type Ask = (text: string, vac: string) => ProbeRequest

/** How a test asks a VAC over a protocol, and reads the responses. */
export interface Probe {
  /** Whether an answer is a task: it goes on when its reader leaves, and is kept. */
  readonly isTask?: boolean
  /** Whether an answer is a run where the service keeps answers. */
  readonly isKept?: boolean
  /** Whether such an answer goes on for long when its reader leaves. */
  readonly goesOn?: boolean
  /** A question to a VAC whose answer comes whole, by the form of the answer. */
  readonly ask: Readonly<Record<string, Ask>>
  /** The same with a stream as the answer. */
  readonly stream: Readonly<Record<string, Ask>>
  /** The text of the answer in a response of any form. */
  textOf (body: string): string | undefined
  /** The text that the events of a stream bring piece by piece. */
  piecesOf (body: string): string
  /** The error of a response of any form. */
  errorOf (body: string): { readonly code?: unknown, readonly message: string } | undefined
  /** The request with the ask for the steps of the answer. */
  withSteps (request: ProbeRequest): ProbeRequest
  /** The steps in a response of any form; of a chat completion, its reasoning. */
  stepsOf (body: string): ReadonlyArray<Readonly<Record<string, any>>>
  /** The usage that the interpreter reports, in a response of any form that has it. */
  usageOf (body: string): unknown
}

export const PROBES: Readonly<Record<'direct' | 'openai' | 'responses' | 'ai_sdk' | 'ag_ui' | 'a2a' | 'mcp', Probe>>

/** The names of the protocols of the plugin of VACs, of which some are off by default. */
export const VAC_PROTOCOLS: readonly ProtocolName[]

type Probes = Readonly<Record<string, Probe>>
type Kinds = ReadonlyArray<'ask' | 'stream'>

/** Every form of every protocol, or only those of a kind. A request that the second item makes is sent once. */
export function forms (probes?: Probes, kinds?: Kinds):
Array<[what: string, ask: (text: string, vac: string) => Required<ProbeRequest>, probe: Probe]>

/** A question in every form of every protocol, or only in those of a kind. */
export function questions (text: string, vac: string, probes?: Probes, kinds?: Kinds):
Array<[what: string, request: Required<ProbeRequest>, probe: Probe]>

/** A question for each path, by the path. */
export function questionsByPath (text: string, vac: string): Map<string, Required<ProbeRequest>>

/** The paths to which questions to a VAC are posted, each once. */
export function pathsOf (vac: string): string[]
