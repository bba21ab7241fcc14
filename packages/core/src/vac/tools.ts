import type { AbortSignalLike } from '../basics/light-abort.js'
import type { Log } from '../basics/log.js'
import type { Principal } from './vac.js'

/** The tools of external MCP servers and of the application, as interpreters use them. */

/** A block of a tool's result (specification of MCP, tools). Its `type` names its other fields. */
export type ToolContent =
  | { readonly type: 'text', readonly text: string }
  | { readonly type: 'image' | 'audio', readonly data: string, readonly mimeType: string }
  | { readonly type: 'resource_link', readonly uri: string, readonly name: string, readonly mimeType?: string | undefined }
  | { readonly type: 'resource', readonly resource: ToolResource }

/** An embedded resource: `text`, or its bytes in base64 as `blob`. */
export interface ToolResource {
  readonly uri: string
  readonly mimeType?: string | undefined
  readonly text?: string | undefined
  readonly blob?: string | undefined
}

/** The whole result of a tool. `Structured` is the type that its output schema describes; it is not checked. */
export interface ToolCallResult<Structured = Readonly<Record<string, unknown>>> {
  readonly content: readonly ToolContent[]
  readonly structuredContent?: Structured | undefined
  readonly [key: string]: unknown
}

/** A tool that an interpreter may call with `extra.callTool(server, name, …)`. */
export interface ListedTool {
  readonly server: string
  readonly name: string
  /** Empty if the server does not describe it. */
  readonly description: string
  /** JSON Schema of the arguments; its type is always `object`. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Hints of MCP about its effects; undefined if the server gives none. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
  /** Whether the entry of its server has it in `approve`. */
  readonly approve?: true | undefined
}

/**
 * Calls a tool of an external MCP server. A failed call throws an error with a code.
 * @example
 * const { content } = await callTool('files', 'read_text_file', { path: 'tea.md' }, { signal })
 * for (const block of content) if (block.type === 'text') yield block.text
 */
export type CallTool = <Structured = Readonly<Record<string, unknown>>> (
  server: string, tool: string, args: Readonly<Record<string, unknown>>, options?: ToolCallOptions
) => Promise<ToolCallResult<Structured>>

/** Lists the tools of all servers that answer; the others are left out. */
export type ListTools = () => Promise<readonly ListedTool[]>

export interface ToolCallOptions { readonly signal?: AbortSignal | undefined }

/** The caller of an interpreter, for whom its tools run. */
export interface ToolCaller { readonly principal?: Principal | undefined }

/** A function tool as lists have it. */
export interface FunctionDefinition {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of an object. */
  readonly inputSchema: object
  /** JSON Schema of `structuredContent`. */
  readonly outputSchema?: object | undefined
  readonly annotations?: object | undefined
}

/** A tool that the application implements, as an interpreter uses it: an item of `extra.tools`. */
export interface FunctionTool extends FunctionDefinition {
  /** Empty if the tool has none. */
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  /**
   * Calls the tool for the caller of the interpreter, as a step of the answer.
   * @param options.signal default: `extra.signal`
   * @throws MCP_INVALID_ARGUMENTS for an input that does not fit `inputSchema`, and what the tool throws
   */
  readonly call: <Structured = Readonly<Record<string, unknown>>> (
    input: Readonly<Record<string, unknown>>, options?: ToolCallOptions
  ) => Promise<ToolCallResult<Structured>>
}

/** Who calls a function tool. */
export interface FunctionContext {
  readonly signal: AbortSignalLike
  readonly principal: Principal | undefined
  readonly log: Log
}

/** The tools that an application implements: what `defineTools` returns. */
export interface FunctionTools {
  /** All of them, in a fixed order. */
  list (): readonly FunctionDefinition[]
  /** @throws MCP_INVALID_ARGUMENTS, and what the tool throws */
  call (name: string, input: Readonly<Record<string, unknown>>, context: FunctionContext): Promise<ToolCallResult<unknown>>
}

/** How interpreters reach tools. */
export interface ToolAccess {
  /** `extra.callTool` of interpreters. */
  readonly callTool?: ((server: string, tool: string, args: Readonly<Record<string, unknown>>, options?: ToolCallOptions & ToolCaller) => Promise<ToolCallResult<unknown>>) | undefined
  /** `extra.listTools` of interpreters. */
  readonly listTools?: ((options?: ToolCaller) => ReturnType<ListTools>) | undefined
  /** `extra.tools` of interpreters. */
  readonly tools?: FunctionTools | undefined
}
