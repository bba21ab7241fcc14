/** A message as the client has it. */
export interface ClientMessage { readonly id: string, readonly role: string, readonly content?: unknown, readonly metadata?: any, readonly toolCalls?: any, readonly toolCallId?: string, readonly activityType?: string }

/** What all versions of HttpAgent have in common. */
export interface Agent {
  threadId: string
  messages: ClientMessage[]
  pendingInterrupts?: ReadonlyArray<Readonly<Record<string, any>>>
  setMessages (messages: readonly object[]): void
  addMessage (message: object): void
  abortRun (): void
  runAgent (parameters?: { runId?: string, resume?: readonly object[], tools?: readonly object[], context?: readonly object[], forwardedProps?: object }, subscriber?: object): Promise<{ readonly result: any, readonly newMessages: ClientMessage[] }>
}

export interface Version {
  readonly version: string
  /** Whether it knows `outcome`. */
  readonly interrupts: boolean
  /** Whether it keeps metadata of messages. */
  readonly metadata: boolean
  readonly is1: boolean
  readonly make: (options: { url: string, threadId?: string, headers?: Readonly<Record<string, string>> }) => Agent
}

export const VERSIONS: readonly Version[]

/** What one run gave. */
export interface Run {
  readonly events: ReadonlyArray<Readonly<Record<string, any>>>
  readonly types: readonly string[]
  readonly error: Readonly<Record<string, any>> | undefined
  readonly finished: Readonly<Record<string, any>> | undefined
  readonly result: any
}

/** Runs an agent and keeps the events; without `text` no message is added. */
export function run (agent: Agent, text?: string, parameters?: object, onEvent?: (event: any) => void): Promise<Run>
/** The text of the messages of a role. */
export function textsOf (agent: Agent, role?: string): string[]
