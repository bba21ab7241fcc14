import type { Checked, FunctionTools, ToolSchema } from '@polyvac/core'
import { functionTools } from '@polyvac/core/plugin'
import type { CallContext, ToolDefinition, ToolSource } from '../tool-source.js'
import { HandlerContext } from './handler-context.js'

/** A tool of `@polyvac/core` with what MCP has in addition. */
export interface LocalTool<Input extends ToolSchema = ToolSchema>
  extends Omit<ToolDefinition, 'inputSchema' | 'outputSchema'> {
  /** As in `LocalTool` of `@polyvac/core`. */
  readonly inputSchema: Input
  readonly outputSchema?: ToolSchema | undefined
  readonly handler: (args: Checked<Input>, context: CallContext) => unknown
}

/**
 * `defineTools` of `@polyvac/core`, whose handlers can also send progress and ask the caller. Interpreters can call
 * these tools as well: there progress has no effect, and `ask` throws MCP_CANNOT_ASK.
 * @throws INVALID_TOOLS for a name that occurs twice, or that clients do not accept, and for what is not a schema
 * @example
 * const source = defineTools([{
 *   name: 'add',
 *   inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
 *   handler: ({ a, b }) => String(a + b)
 * }])
 * await app.register(mcpServerPlugin, { sources: [source] })
 */
export function defineTools<Inputs extends readonly ToolSchema[] | []> (
  tools: { readonly [K in keyof Inputs]: Inputs[K] extends ToolSchema ? LocalTool<Inputs[K]> : never }
): ToolSource & FunctionTools {
  return functionTools(tools as unknown as readonly LocalTool[], context => new HandlerContext(context)) as ToolSource & FunctionTools
}
