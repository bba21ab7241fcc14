import type { Log, Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import type { CallProgress, CompletionArgument, CompletionRef, ListKind, ServerRequest } from '@polyvac/mcp-protocol'
import type { Round, ToolResult } from '../protocol/call-options.js'
import type { ChangeListener, Item } from '../protocol/lists.js'

/** The part of an MCP server's call context that a gateway uses. */
export interface SourceContext {
  readonly signal: AbortSignalLike
  readonly principal?: Principal | undefined
  readonly capabilities: {
    readonly elicitation?: object | undefined
    readonly sampling?: object | undefined
    readonly roots?: object | undefined
    readonly extensions?: Readonly<Record<string, object>> | undefined
  }
  /** `_meta` of the request. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  /** `modern`: a question ends the run, and the call runs again with the answers. */
  readonly era: 'legacy' | 'modern'
  /** The state that the previous run passed to `ask`. */
  readonly state?: string | undefined
  readonly relay?: SourceRelay | undefined
  readonly logLevel?: string | undefined
  /** Names the session of the caller. */
  readonly sessionId?: string | undefined
  /** Has the ids of the request or of the task. Default: the log of the gateway. */
  readonly log?: Log | undefined
  progress (progress: CallProgress): Promise<void> | undefined
  message? (message: never): Promise<void> | undefined
  ask (questions: Readonly<Record<string, ServerRequest>>, state?: string): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>>
}

/** Passes input requests of a server of revision 2026-07-28 to a caller of the same revision. */
export interface SourceRelay extends Round {
  ask (inputRequests: Readonly<Record<string, ServerRequest>>, requestState: string | undefined): never
}

export interface SourceResult extends ToolResult {
  readonly content: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly isError?: boolean
  readonly task?: Readonly<Record<string, unknown>>
}

/** A tool or prompt under a name that is unique over all servers, with all fields of its definition. */
export interface SourceItem extends Item { readonly name: string }
/** A tool; its `inputSchema` always has the type object. */
export interface SourceTool extends SourceItem { readonly inputSchema: object }
export interface SourceResource extends Item { readonly uri: string, readonly name: string }
export interface SourceTemplate extends Item { readonly uriTemplate: string, readonly name: string }

/** The tools, resources and prompts of a gateway as a source for an MCP server: `sources: [gateway.toolSource()]`. */
export interface GatewayToolSource {
  /** Its tools are those of other servers. */
  readonly isUpstream: true
  /** All tools of the servers to which no owner signs in, named `<server>__<tool>`. */
  list (): Promise<SourceTool[]>
  /**
   * Calls a tool by that name. A failure of its server is a result with `isError`: code, reason and remedy. Progress,
   * cancellation and questions are passed on. A question to a caller that runs again ends the run, and the call waits.
   * @throws MCP_TOOL_NOT_FOUND, MCP_SERVER_NOT_FOUND, MCP_INVALID_STATE, or the reason of `signal`
   */
  call (name: string, args: Readonly<Record<string, unknown>>, context: SourceContext): Promise<SourceResult>
  readonly resources: {
    /** All resources. A URI that several servers list becomes `mcp://<server>/<uri>`, or `ui://<server>/…`. */
    list (): Promise<SourceResource[]>
    templates (): Promise<SourceTemplate[]>
    /**
     * Reads from the server that lists the resource or that its URI names, or the first that has it.
     * @throws MCP_RESOURCE_NOT_FOUND
     */
    read (uri: string, context?: SourceContext): Promise<{ readonly contents: ReadonlyArray<Readonly<Record<string, unknown>>> }>
    /**
     * Calls `changed` when its server notifies of a change. The function that it returns ends the subscription.
     * @param owner the caller, for servers to which each owner signs in
     */
    subscribe (uri: string, changed: () => void, owner?: string): Promise<() => void>
  }
  readonly prompts: {
    /** All prompts, named `<server>__<prompt>`. */
    list (): Promise<SourceItem[]>
    get (name: string, args: Readonly<Record<string, string>>, context?: SourceContext): Promise<{ readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }> }>
  }
  /** Tasks that servers created for calls. */
  readonly tasks: {
    get (taskId: string, context: SourceContext): Promise<Readonly<Record<string, unknown>> | undefined>
    update (taskId: string, inputResponses: Readonly<Record<string, unknown>>, context: SourceContext): Promise<boolean>
    cancel (taskId: string, context: SourceContext): Promise<boolean>
    follow (taskId: string, changed: (task: Readonly<Record<string, unknown>>) => void, context: SourceContext): Promise<void>
  }
  /** Completes an argument of a prompt, by its unique name, or of a resource template. */
  complete (ref: CompletionRef, argument: CompletionArgument, context: SourceContext): Promise<{ readonly values: readonly string[], readonly total?: number, readonly hasMore?: boolean }>
  /** What a caller may use, where one of the servers has owners that sign in; undefined: the list of all. */
  listFor (kind: ListKind, principal: Principal | undefined, id?: string): Promise<readonly never[] | undefined>
  /** Whether a caller may use a tool, prompt, resource or template, by its unique name or URI. */
  mayUse (kind: ListKind, id: string, principal: Principal | undefined): boolean
  /** Extensions of MCP that its servers offer, by id: MCP Apps, where a tool has a page, or one of an owner may. */
  extensions (): Readonly<Record<string, object>>
  /** A session of a caller has ended: with `process: session`, so do its processes. */
  sessionEnded (sessionId: string): void
  onChange (listener: ChangeListener): () => void
}
