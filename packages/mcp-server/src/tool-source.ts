import type { BegunTurn, Log, Principal, TurnTask } from '@polyvac/core'
import type { AbortSignalLike, CallPlace } from '@polyvac/core/plugin'
import type {
  CallProgress, ClientCapabilities, Completion, CompletionArgument, CompletionRef, Era, InputRequests, InputResponses,
  ListKind, LogLevel, LogMessage
} from '@polyvac/mcp-protocol'

type JsonObject = Readonly<Record<string, unknown>>

/** A source of tools, and optionally of resources, prompts and tasks: VACs, a gateway, or the application's own. */
export interface ToolSource {
  /** All tools, in a fixed order. Read again after `onChange` named `tools`; do not change the returned list. */
  list (): Promise<readonly ToolDefinition[]> | readonly ToolDefinition[]
  /**
   * Calls a tool that `list` names, with arguments that fit its input schema. A failure is a result with `isError`, or
   * is thrown: the text of an error with a `statusCode` below 500 goes to the caller, that of others only to the log.
   * An `RpcError`, or an error with `rpcError: { code, message, data? }`, is answered as a JSON-RPC error. All methods
   * of a source may throw these errors.
   */
  call (name: string, args: JsonObject, context: CallContext): Promise<ToolResult> | ToolResult
  /**
   * Prepares the arguments of a call, before it runs or becomes a task, and returns those that `call` gets. What it
   * asks is asked at once, not in the task.
   */
  prepare? (name: string, args: JsonObject, context: CallContext): Promise<JsonObject> | JsonObject
  /**
   * What one caller may use, where callers see different lists; undefined: the list of all. With `id`, the name of a
   * tool or prompt, it is that entry, or none where the caller cannot use it. `list` has what all callers see.
   */
  listFor?<K extends ListKind> (kind: K, principal: Principal | undefined, id?: string): Promise<readonly Definitions[K][] | undefined>
  /**
   * Whether a caller may use a tool, prompt, resource or template, by its name or URI. One that it may not use does not
   * exist for it. Without this method every caller may use all.
   */
  mayUse? (kind: ListKind, id: string, principal: Principal | undefined): boolean
  /**
   * What the task of a call is created with besides its arguments, which are prepared; a `ToolResult` refuses the call,
   * and answers it. Without this method: nothing.
   */
  beginTask? (name: string, args: JsonObject, context: CallContext): Promise<TaskBeginning | ToolResult>
  /** Whether its tools are of other servers: with `toolSearch` they may be behind `search_tools`. Default false. */
  readonly isUpstream?: boolean | undefined
  readonly resources?: ResourceSource | undefined
  readonly prompts?: PromptSource | undefined
  /** The tasks that an upstream server made of its calls. */
  readonly tasks?: TaskSource | undefined
  /** Proposes at most 100 values for an argument of a prompt or of a resource template. */
  complete? (ref: CompletionRef, argument: CompletionArgument, context: CallContext): Promise<Completion> | Completion
  /** Extensions of MCP that clients learn of in their handshake, by id: `{ 'io.modelcontextprotocol/ui': {} }`. */
  extensions? (): Readonly<Record<string, object>>
  /** A session of a caller has ended: nothing of it is needed any more. */
  sessionEnded? (sessionId: string): void
  /**
   * Calls `listener` when lists change, until the function that it returns is called. Without it lists never change.
   * `of` is the caller whose `listFor` changed, and only it is notified; undefined: that of all callers.
   */
  onChange? (listener: ChangeListener): () => void
}

export type ChangeListener = (kinds: readonly ListKind[], of?: { readonly owner: string | undefined }) => void

/** The fields that all kinds of definitions have. */
interface Definition {
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly icons?: readonly object[] | undefined
  /** Another name of a tool or prompt that calls may use, and lists do not have: an earlier one. */
  readonly formerName?: string | undefined
  readonly _meta?: object | undefined
}

export interface ToolDefinition extends Definition {
  /** 1 to 64 of `A-Za-z0-9_-`, which language models take. Another name gets one for clients; calls may use both. */
  readonly name: string
  /** JSON Schema 2020-12 of an object; a TypeBox object is one. */
  readonly inputSchema: object
  /** JSON Schema of `structuredContent`. */
  readonly outputSchema?: object | undefined
  readonly annotations?: object | undefined
  /** Whether a call may, must or must not become a task, for clients that support tasks. Default `forbidden`. */
  readonly taskSupport?: TaskSupport | undefined
}

export type TaskSupport = 'forbidden' | 'optional' | 'required'

/** Content blocks are of type text, image, audio, resource_link or resource (specification, tools). */
export interface ToolResult {
  readonly content: readonly JsonObject[]
  /** The value that the output schema describes. Repeat it as text in `content` for older clients. */
  readonly structuredContent?: unknown
  readonly isError?: boolean | undefined
  readonly _meta?: object | undefined
  /**
   * The call continues as a task of the source's `tasks`: `taskId` and the other members of a new task (tasks
   * extension). Permitted in a call with `relay` whose client declares the extension.
   */
  readonly task?: JsonObject | undefined
}

/** The turn of a conversation that a task is, if it is one, and members of its metadata. */
export type TaskBeginning = Partial<BegunTurn>

/** The tasks of upstream servers, by the extension of 2026-07-28. The source issues the ids and knows their owners. */
export interface TaskSource {
  /** The task with its questions, result or error; undefined if it does not exist, or belongs to another caller. */
  get (taskId: string, context: CallContext): Promise<JsonObject | undefined>
  /** Sends answers to the task; false if it does not exist. */
  update (taskId: string, inputResponses: JsonObject, context: CallContext): Promise<boolean>
  /** Asks the upstream server to cancel the task; false if it does not exist. */
  cancel (taskId: string, context: CallContext): Promise<boolean>
  /** Reports each change of the task until the task or the call ends. */
  follow (taskId: string, onChange: (task: JsonObject) => void, context: CallContext): Promise<void>
}

export interface ResourceSource {
  list (): Promise<readonly ResourceDefinition[]> | readonly ResourceDefinition[]
  templates? (): Promise<readonly TemplateDefinition[]> | readonly TemplateDefinition[]
  /** Undefined, or an error with `statusCode` 404, means that the resource does not exist. */
  read (uri: string, context: CallContext): Promise<ResourceContents | undefined> | ResourceContents | undefined
  /**
   * Calls `onUpdate` whenever the resource changes, until the function that it returns is called.
   * @param owner the caller, where the source has other resources for each
   */
  subscribe? (uri: string, onUpdate: () => void, owner?: string): (() => void) | Promise<() => void>
}

export interface ResourceDefinition extends Definition {
  readonly uri: string
  readonly name: string
  readonly mimeType?: string | undefined
  readonly size?: number | undefined
  readonly annotations?: object | undefined
}

export interface TemplateDefinition extends Omit<ResourceDefinition, 'uri' | 'size'> {
  /** RFC 6570. */
  readonly uriTemplate: string
}

export interface ResourceContents {
  /** Each with `uri`, `mimeType?` and either `text` or `blob` (base64). */
  readonly contents: readonly JsonObject[]
  readonly _meta?: object | undefined
}

export interface PromptSource {
  list (): Promise<readonly PromptDefinition[]> | readonly PromptDefinition[]
  get (name: string, args: Readonly<Record<string, string>>, context: CallContext): Promise<PromptResult> | PromptResult
}

export interface PromptDefinition extends Definition {
  readonly name: string
  readonly arguments?: readonly PromptArgument[] | undefined
}

export interface PromptArgument {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly required?: boolean | undefined
}

export interface PromptResult {
  readonly description?: string | undefined
  readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }>
  readonly _meta?: object | undefined
}

/** The definition of each kind of list. */
export interface Definitions {
  readonly tools: ToolDefinition
  readonly resources: ResourceDefinition
  readonly templates: TemplateDefinition
  readonly prompts: PromptDefinition
}

/** The request of a call and its connection to the caller. */
export interface CallContext {
  /** Fires when the caller disconnects or cancels, and when the application closes. */
  readonly signal: AbortSignalLike
  /** The caller; undefined without `authenticate`. */
  readonly principal: Principal | undefined
  readonly log: Log
  readonly capabilities: ClientCapabilities
  /** `_meta` of the request. */
  readonly meta?: JsonObject | undefined
  readonly era: Era
  readonly protocolVersion: string
  /** Whether the caller may read what only administrators may; absent where it has no connection. */
  mayAdminister? (): boolean
  /** The task that the call runs as, and this attempt at it. */
  readonly task?: CallTask | undefined
  /** Sends progress, if the caller asked for it. A promise means that the caller reads too slowly: await it. */
  progress (progress: CallProgress): Promise<void> | undefined
  /** Sends a log message, if the caller asked for its level. */
  message (message: LogMessage): Promise<void> | undefined
  /**
   * Asks the caller all questions at once; resolves to the answers, by the keys of the questions. Up to revision
   * 2025-11-25 the call goes on meanwhile. From 2026-07-28 on the call ends here, and **runs again from its beginning**
   * once the answers are there: `ask` throws in the first run, and resolves in the next. So ask before you change
   * anything, and use the same keys in every run. Or pass `state`: the next run has it as `context.state` and can
   * continue from there. The caller holds it meanwhile, signed, and can read it.
   * @throws MCP_CANNOT_ASK if the caller did not declare the capability, or its session cannot be asked
   */
  ask<K extends string> (questions: InputRequests<K>, state?: string): Promise<InputResponses<K>>
  /** The state that the run before passed to `ask`. */
  readonly state?: string | undefined
  /**
   * For a source that forwards to an upstream server; defined from 2026-07-28 on, in methods whose caller can be asked.
   */
  readonly relay?: Relay | undefined
  /** The lowest level of log messages that the caller asked for. */
  readonly logLevel?: LogLevel | undefined
  /** Names the session of the caller, up to 2025-11-25; undefined without sessions. */
  readonly sessionId?: string | undefined
  /** The slot of the call among those of its caller: pass it to calls of VACs. */
  readonly place?: CallPlace | undefined
  /**
   * Ends the connection of a long call if its caller can resume the stream, after `retryMs` (sessions of 2025-11-25).
   * It has no effect on other calls.
   */
  disconnect (retryMs?: number): void
}

export interface CallTask extends TurnTask {
  readonly metadata: JsonObject
  /** The conversation of its turn. */
  readonly contextId: string | undefined
}

/** Passes an upstream server's questions and the caller's answers through unchanged and unchecked. */
export interface Relay {
  /** The caller's answers in this request. */
  readonly inputResponses: JsonObject | undefined
  /** What the run before passed to `ask`. */
  readonly requestState: string | undefined
  /** Ends this run: the caller gets the questions, and holds the state, signed, until it sends the request again. */
  ask (inputRequests: InputRequests, requestState: string | undefined): never
}
