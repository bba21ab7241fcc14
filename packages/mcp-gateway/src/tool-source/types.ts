import type { Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import type { CallProgress, CompletionArgument, CompletionRef, ListKind, ServerRequest } from '@polyvac/mcp-protocol'
import type { Round, ToolResult } from '../protocol/call-options.js'
import type { Item } from '../protocol/lists.js'

/** The part that a gateway needs of what an MCP server knows of a call. */
export interface SourceContext {
  readonly signal: AbortSignalLike
  readonly principal?: Principal | undefined
  readonly capabilities: {
    readonly elicitation?: object | undefined
    readonly sampling?: object | undefined
    readonly roots?: object | undefined
    readonly extensions?: Readonly<Record<string, object>> | undefined
  }
  /** `modern`: a question ends the run, and the call is run again with the answers. */
  readonly era: 'legacy' | 'modern'
  /** What the run before gave to `ask`. */
  readonly state?: string | undefined
  readonly relay?: SourceRelay | undefined
  readonly logLevel?: string | undefined
  progress (progress: CallProgress): Promise<void> | undefined
  message? (message: never): Promise<void> | undefined
  ask (questions: Readonly<Record<string, ServerRequest>>, state?: string): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>>
}

/** Hands questions of a server of revision 2026-07-28 to a caller that speaks it too. */
export interface SourceRelay extends Round {
  ask (inputRequests: Readonly<Record<string, ServerRequest>>, requestState: string | undefined): never
}

export interface SourceResult extends ToolResult {
  readonly content: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly isError?: boolean
  readonly task?: Readonly<Record<string, unknown>>
}

/** A tool or prompt under a name that is unique over all servers, with all else that its server says of it. */
export interface SourceItem extends Item { readonly name: string }
/** A tool; its `inputSchema` is an object, whatever its server says. */
export interface SourceTool extends SourceItem { readonly inputSchema: object }
export interface SourceResource extends Item { readonly uri: string, readonly name: string }
export interface SourceTemplate extends Item { readonly uriTemplate: string, readonly name: string }

/** The tools, resources and prompts of a gateway as a source for an MCP server: `sources: [gateway.toolSource()]`. */
export interface GatewayToolSource {
  /** All tools, named `<server>__<tool>`. */
  list (): Promise<SourceTool[]>
  /**
   * Calls a tool by that name. What befalls its server is a result with `isError`: code, reason and remedy. Progress, cancel
   * and questions pass through; a question to a caller that is run again ends the run, and the call waits here.
   * @throws MCP_TOOL_NOT_FOUND, MCP_SERVER_NOT_FOUND, MCP_INVALID_STATE, or the reason of `signal`
   */
  call (name: string, args: Readonly<Record<string, unknown>>, context: SourceContext): Promise<SourceResult>
  readonly resources: {
    list (): Promise<SourceResource[]>
    templates (): Promise<SourceTemplate[]>
    /** Reads from the server that lists the resource, else from the first that knows it. @throws MCP_RESOURCE_NOT_FOUND */
    read (uri: string, context?: SourceContext): Promise<{ readonly contents: ReadonlyArray<Readonly<Record<string, unknown>>> }>
    /** Calls `changed` whenever the resource does, as far as its server tells. What it returns ends that. */
    subscribe (uri: string, changed: () => void): Promise<() => void>
  }
  readonly prompts: {
    /** All prompts, named `<server>__<prompt>`. */
    list (): Promise<SourceItem[]>
    get (name: string, args: Readonly<Record<string, string>>, context?: SourceContext): Promise<{ readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }> }>
  }
  /** Tasks that servers made of calls. */
  readonly tasks: {
    get (taskId: string, context: SourceContext): Promise<Readonly<Record<string, unknown>> | undefined>
    update (taskId: string, inputResponses: Readonly<Record<string, unknown>>, context: SourceContext): Promise<boolean>
    cancel (taskId: string, context: SourceContext): Promise<boolean>
    follow (taskId: string, changed: (task: Readonly<Record<string, unknown>>) => void, context: SourceContext): Promise<void>
  }
  /** Values for an argument of a prompt, by its name here, or of a resource template; none where its server proposes none. */
  complete (ref: CompletionRef, argument: CompletionArgument, context: SourceContext): Promise<{ readonly values: readonly string[], readonly total?: number, readonly hasMore?: boolean }>
  onChange (listener: (kinds: readonly ListKind[]) => void): () => void
}
