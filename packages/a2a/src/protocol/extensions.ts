/** An extension of the protocol that the agent offers (A2A 1.0, section 4.6). */
export interface AgentExtension {
  readonly uri: string
  readonly description?: string | undefined
  /** True: a client that does not name it is refused. */
  readonly required?: boolean | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** Tasks and their events carry `generation`, GetTask waits for one, and a message may depend on one. As drafted for A2A 1.1; the number is that of the event. */
export const GENERATION = 'urn:polyvac:a2a:generation:1'
/** A message that is sent again under the same `messageId` is the same task. */
export const IDEMPOTENT_SEND = 'urn:polyvac:a2a:idempotent-send:1'

/** What every agent offers. A client that names neither sees nothing of them. */
export const OWN_EXTENSIONS: readonly AgentExtension[] = [
  { uri: GENERATION, description: 'Tasks and events carry their generation; `currentGeneration` of GetTask waits, `ifGenerationMatch` guards a message' },
  { uri: IDEMPOTENT_SEND, description: 'A message sent again under the same messageId is the same task' }
]
