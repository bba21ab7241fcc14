import { MAX_TOOL_NAME, problemsOf } from '@polyvac/core/plugin'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { McpServerOptionsError } from '../errors.js'
import { HandlerContext } from './handler-context.js'
import type { CallContext, ToolDefinition, ToolResult, ToolSource } from '../tool-source.js'

/** A tool that the application implements. */
export interface LocalTool<Input extends TObject = TObject>
  extends Omit<ToolDefinition, 'inputSchema' | 'outputSchema'> {
  /** The arguments, as a TypeBox object. The handler gets arguments that fit it. */
  readonly inputSchema: Input
  /** The value that the handler returns, for clients that read structured results. */
  readonly outputSchema?: TSchema | undefined
  /**
   * Returns text, or the value that `outputSchema` describes, or a whole result with `content`. The text of a thrown
   * error goes to the caller if the error has a `statusCode` below 500, and to the log alone otherwise.
   */
  readonly handler: (args: Static<Input>, context: CallContext) => unknown
}

/** A tool with its compiled output schema. */
interface Tool {
  readonly definition: ToolDefinition
  readonly handler: LocalTool['handler']
  readonly output: TypeCheck<TSchema> | undefined
}

const NAME = /^[A-Za-z0-9_.-]+$/

/**
 * A source of tools that the application implements. The types of a handler's arguments follow from its `inputSchema`.
 * @throws MCP_SERVER_OPTIONS for a name that occurs twice, or that clients do not accept
 * @example
 * const source = defineTools([{
 *   name: 'add',
 *   inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
 *   handler: ({ a, b }) => String(a + b)
 * }])
 * await app.register(mcpServerPlugin, { sources: [source] })
 */
export function defineTools<Inputs extends readonly TObject[] | []> (
  tools: { readonly [K in keyof Inputs]: Inputs[K] extends TObject ? LocalTool<Inputs[K]> : never }
): ToolSource {
  const byName = new Map<string, Tool>()
  for (const { handler, ...definition } of tools as unknown as readonly LocalTool[]) {
    const { name, outputSchema } = definition
    if (!NAME.test(name) || name.length > MAX_TOOL_NAME) {
      const permitted = `use 1 to ${MAX_TOOL_NAME} letters, digits, "_", "-" or "."`
      throw new McpServerOptionsError(`a tool cannot be named ${JSON.stringify(name)}; ${permitted}`)
    }
    if (byName.has(name)) throw new McpServerOptionsError(`two tools are named ${JSON.stringify(name)}; rename one`)
    if (typeof handler !== 'function') throw new McpServerOptionsError(`the tool ${name} has no handler function`)
    const output = outputSchema === undefined ? undefined : TypeCompiler.Compile(outputSchema)
    byName.set(name, { definition, handler, output })
  }
  const definitions = [...byName.values()].map(({ definition }) => definition)
  return {
    list: () => definitions,
    async call (name, args, context) {
      const tool = byName.get(name)
      if (tool === undefined) throw new TypeError(`the tool ${name} does not exist`)
      return toResult(await tool.handler(args, new HandlerContext(context)), tool)
    }
  }
}

function toResult (outcome: unknown, { definition: { name }, output }: Tool): ToolResult {
  if (isResult(outcome)) return outcome
  if (output !== undefined) {
    if (!output.Check(outcome)) {
      const problems = problemsOf(output, outcome, 'value').map(({ path, message }) => `${path} ${message}`).join('; ')
      throw new TypeError(`the tool ${name} returned a value that its outputSchema does not describe: ${problems}`)
    }
    const text = typeof outcome === 'string' ? outcome : JSON.stringify(outcome)
    return { content: [{ type: 'text', text }], structuredContent: outcome }
  }
  if (typeof outcome === 'string') return { content: [{ type: 'text', text: outcome }] }
  throw new TypeError(`the tool ${name} without an outputSchema returned neither text nor a result with \`content\``)
}

function isResult (outcome: unknown): outcome is ToolResult {
  return typeof outcome === 'object' && outcome !== null && Array.isArray((outcome as Partial<ToolResult>).content)
}
