import type { Log, Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import type {
  CallProgress, ClientCapabilities, Completion, CompletionArgument, CompletionRef, Era, InputResponse, ListKind, LogLevel, LogMessage, ServerRequest
} from '@polyvac/mcp-protocol'

/** What a server offers: its tools, and where it has them resources and prompts. The seam to VACs, to a gateway, to tools of your own. */
export interface ToolSource {
  /** All tools, in a fixed order. Asked for again after `onChange` named `tools`; what is returned must not be changed. */
  list (): Promise<readonly ToolDefinition[]> | readonly ToolDefinition[]
  /**
   * Calls a tool that `list` names, with arguments that fit its input schema. A failure is a result with `isError`, or
   * is thrown: the text of an error with a `statusCode` below 500 goes to the caller, that of others to the log alone.
   * An error of the protocol is answered as one: an `RpcError`, or any with `rpcError: { code, message, data? }`. This
   * holds for all that a source does.
   */
  call (name: string, args: Readonly<Record<string, unknown>>, context: CallContext): Promise<ToolResult> | ToolResult
  /**
   * Makes the arguments of a call ready, before it is run or becomes a task; what it asks is asked at once, not within the
   * task. It returns the arguments that `call` gets.
   */
  prepare? (name: string, args: Readonly<Record<string, unknown>>, context: CallContext): Promise<Readonly<Record<string, unknown>>> | Readonly<Record<string, unknown>>
  readonly resources?: ResourceSource | undefined
  readonly prompts?: PromptSource | undefined
  /** The tasks that its calls became at another server. */
  readonly tasks?: TaskSource | undefined
  /** Proposes values for an argument of a prompt or of a resource template, at most 100. */
  complete? (ref: CompletionRef, argument: CompletionArgument, context: CallContext): Promise<Completion> | Completion
  /** Tells when a list has changed. What it returns ends that. A source without it never changes. */
  onChange? (listener: (kinds: readonly ListKind[]) => void): () => void
}

export interface ToolDefinition {
  /** 1 to 128 of `A-Za-z0-9_.-`; language models take 64. */
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** JSON Schema 2020-12 of an object; a TypeBox object is one. */
  readonly inputSchema: object
  /** JSON Schema of `structuredContent`. */
  readonly outputSchema?: object | undefined
  readonly annotations?: object | undefined
  readonly icons?: readonly object[] | undefined
  readonly _meta?: object | undefined
  /** Whether a call may, must or must not become a task, for callers that can. Default `forbidden`. */
  readonly taskSupport?: TaskSupport | undefined
}

export type TaskSupport = 'forbidden' | 'optional' | 'required'

/** Content blocks are text, image, audio, resource_link and resource, as the specification has them. */
export interface ToolResult {
  readonly content: ReadonlyArray<Readonly<Record<string, unknown>>>
  /** What the output schema describes. Repeat it as text in `content` for older clients. */
  readonly structuredContent?: unknown
  readonly isError?: boolean | undefined
  readonly _meta?: object | undefined
  /**
   * The call goes on as a task of the source's `tasks`: `taskId`, and what else the extension tells of a new task. Only where
   * the caller declared the extension, and in a call with `relay`.
   */
  readonly task?: Readonly<Record<string, unknown>> | undefined
}

/** Tasks of another server, by the extension of 2026-07-28. The ids are the source's own; it knows whose they are. */
export interface TaskSource {
  /** The task with its questions, its result or its error; undefined where it is none of these tasks, or another caller's. */
  get (taskId: string, context: CallContext): Promise<Readonly<Record<string, unknown>> | undefined>
  /** Hands answers on; false where there is no such task. */
  update (taskId: string, inputResponses: Readonly<Record<string, unknown>>, context: CallContext): Promise<boolean>
  /** Asks the server to cancel it; false where there is no such task. */
  cancel (taskId: string, context: CallContext): Promise<boolean>
  /** Tells each change of the task until it ends or the call does. */
  follow (taskId: string, changed: (task: Readonly<Record<string, unknown>>) => void, context: CallContext): Promise<void>
}

export interface ResourceSource {
  list (): Promise<readonly ResourceDefinition[]> | readonly ResourceDefinition[]
  templates? (): Promise<readonly TemplateDefinition[]> | readonly TemplateDefinition[]
  /** Undefined, or an error with `statusCode` 404, says that there is no such resource. */
  read (uri: string, context: CallContext): Promise<ResourceContents | undefined> | ResourceContents | undefined
  /** Calls `changed` whenever the resource does. What it returns ends that. */
  subscribe? (uri: string, changed: () => void): (() => void) | Promise<() => void>
}

export interface ResourceDefinition {
  readonly uri: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly size?: number | undefined
  readonly annotations?: object | undefined
  readonly icons?: readonly object[] | undefined
  readonly _meta?: object | undefined
}

export interface TemplateDefinition extends Omit<ResourceDefinition, 'uri' | 'size'> {
  /** RFC 6570. */
  readonly uriTemplate: string
}

export interface ResourceContents {
  /** Each with `uri`, `mimeType?` and either `text` or `blob` (base64). */
  readonly contents: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly _meta?: object | undefined
}

export interface PromptSource {
  list (): Promise<readonly PromptDefinition[]> | readonly PromptDefinition[]
  get (name: string, args: Readonly<Record<string, string>>, context: CallContext): Promise<PromptResult> | PromptResult
}

export interface PromptDefinition {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly arguments?: ReadonlyArray<{ readonly name: string, readonly title?: string | undefined, readonly description?: string | undefined, readonly required?: boolean | undefined }> | undefined
  readonly icons?: readonly object[] | undefined
  readonly _meta?: object | undefined
}

export interface PromptResult {
  readonly description?: string | undefined
  readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }>
  readonly _meta?: object | undefined
}

/** What a call has from the wire. What costs something is made when it is first used. */
export interface CallContext {
  /** Fires when the caller leaves or cancels, and when the application closes. */
  readonly signal: AbortSignalLike
  /** Who calls, where the application asks. */
  readonly principal: Principal | undefined
  readonly log: Log
  readonly capabilities: ClientCapabilities
  readonly era: Era
  readonly protocolVersion: string
  /** How far the work is; `progress` must grow. A promise is there to be awaited: the caller does not read as fast. Nothing happens where nobody wants to know. */
  progress (progress: CallProgress): Promise<void> | undefined
  /** A log message for the caller, where it wants any. */
  message (message: LogMessage): Promise<void> | undefined
  /**
   * Asks the caller, all questions at once; resolves to the answers under the keys of the questions.
   * Up to revision 2025-11-25 the caller is asked while the call goes on. From 2026-07-28 on the call ends here, and
   * **is run again from its beginning** once the answers are there: `ask` throws the first time, and resolves in the
   * run after. So ask before you change anything, and let keys be the same in every run; or give `state`, which the
   * run after has as `context.state`, and go on from there. The caller holds it meanwhile, signed, and can read it.
   * @throws MCP_CANNOT_ASK where the caller did not declare the capability, or its session cannot be asked
   */
  ask<K extends string> (questions: Readonly<Record<K, ServerRequest>>, state?: string): Promise<Record<K, InputResponse>>
  /** In a run after `ask`: the state it was given. */
  readonly state?: string | undefined
  /** For a source that stands before another server; there from 2026-07-28 on, where the caller of this method can be asked. */
  readonly relay?: Relay | undefined
  /** The lowest level of log messages that the caller asked for. */
  readonly logLevel?: LogLevel | undefined
  /**
   * Ends the connection of a call that takes long, where its caller can come back for the rest of the stream (sessions
   * up to 2025-11-25). `retryMs` is when. Elsewhere nothing happens.
   */
  disconnect (retryMs?: number): void
}

/** Hands another server's questions to the caller as they are, and the answers back: that server judges them. */
export interface Relay {
  /** What the caller answered with this request, unchecked. */
  readonly inputResponses: Readonly<Record<string, unknown>> | undefined
  /** What `ask` was given in the run before. */
  readonly requestState: string | undefined
  /** Ends this run: the caller is answered with the questions, and holds the state, signed, until it comes back. */
  ask (inputRequests: Readonly<Record<string, ServerRequest>>, requestState: string | undefined): never
}

/** The definition of each kind of list. */
export interface Definitions {
  readonly tools: ToolDefinition
  readonly resources: ResourceDefinition
  readonly templates: TemplateDefinition
  readonly prompts: PromptDefinition
}
