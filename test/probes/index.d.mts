export interface ProbeRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** How a test asks a VAC over a protocol, and reads the responses. */
export interface Probe {
  /** A question to a VAC, by the form of its answer. */
  readonly ask: Readonly<Record<string, (text: string, vac: string) => ProbeRequest>>
  /** The text of the answer in a response of any form. */
  textOf (body: string): string | undefined
  /** The error of a response of any form. */
  errorOf (body: string): { readonly code?: unknown, readonly message: string } | undefined
}

export const PROBES: Readonly<Record<'direct' | 'openai' | 'a2a' | 'mcp', Probe>>

/** Every form of every protocol. A request that the second item makes is sent once. */
export function forms (probes?: Readonly<Record<string, Probe>>):
Array<[what: string, ask: (text: string, vac: string) => Required<ProbeRequest>, probe: Probe]>

/** The paths to which questions to a VAC are posted, each once. */
export function pathsOf (vac: string): string[]

/** A question in every form of every protocol. */
export function questions (text: string, vac: string, probes?: Readonly<Record<string, Probe>>):
Array<[what: string, request: Required<ProbeRequest>, probe: Probe]>
