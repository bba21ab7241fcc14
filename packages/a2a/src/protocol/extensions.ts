/** An extension of the protocol that the agent offers (A2A 1.0, section 4.6). */
export interface AgentExtension {
  readonly uri: string
  readonly description?: string | undefined
  /** True: a client that does not name it is refused. */
  readonly required?: boolean | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** A message that is sent again under the same `messageId` is the same task. */
export const IDEMPOTENT_SEND = 'urn:polyvac:a2a:idempotent-send:1'

/** The extensions that every agent offers. They change nothing for a client that does not name them. */
export const OWN_EXTENSIONS: readonly AgentExtension[] = [
  { uri: IDEMPOTENT_SEND, description: 'A message sent again under the same messageId is the same task' }
]
