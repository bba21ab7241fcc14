import { MAX_TOOL_NAME, wellFormed } from '@polyvac/core/plugin'
import { InvalidArgumentsError, McpServerOptionsError } from '../errors.js'
import { resultJson } from '../protocol/result-json.js'
import { HandlerContext } from './handler-context.js'
import { compileSchema, type Checked, type CompiledSchema, type ToolSchema } from './tool-schema.js'
import type { CallContext, ToolDefinition, ToolResult, ToolSource } from '../tool-source.js'

/** A tool that the application implements. */
export interface LocalTool<Input extends ToolSchema = ToolSchema>
  extends Omit<ToolDefinition, 'inputSchema' | 'outputSchema'> {
  /**
   * The arguments: an object of zod 4.2 or newer, of TypeBox, of another library with Standard JSON Schema, or JSON
   * Schema. The handler gets arguments that fit it.
   */
  readonly inputSchema: Input
  /** The value that the handler returns, for clients that read structured results. */
  readonly outputSchema?: ToolSchema | undefined
  /**
   * Returns text, or the value that `outputSchema` describes, or a whole result with `content`. The text of a thrown
   * error goes to the caller if the error has a `statusCode` below 500, and only to the log otherwise.
   */
  readonly handler: (args: Checked<Input>, context: CallContext) => unknown
}

/** A tool with its compiled schemas. */
interface Tool {
  readonly definition: ToolDefinition
  readonly handler: (args: never, context: CallContext) => unknown
  readonly input: CompiledSchema
  readonly output: CompiledSchema | undefined
}

const NAME = /^[A-Za-z0-9_.-]+$/

/**
 * A source of tools that the application implements. The types of a handler's arguments follow from its `inputSchema`.
 * @throws MCP_SERVER_OPTIONS for a name that occurs twice, or that clients do not accept, and for what is not a schema
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
): ToolSource {
  const byName = new Map<string, Tool>()
  for (const { handler, inputSchema, outputSchema, ...fields } of tools as unknown as readonly LocalTool[]) {
    const { name } = fields
    if (!NAME.test(name) || name.length > MAX_TOOL_NAME) {
      const permitted = `use 1 to ${MAX_TOOL_NAME} letters, digits, "_", "-" or "."`
      throw new McpServerOptionsError(`a tool cannot be named ${JSON.stringify(name)}; ${permitted}`)
    }
    if (byName.has(name)) throw new McpServerOptionsError(`two tools are named ${JSON.stringify(name)}; rename one`)
    if (typeof handler !== 'function') throw new McpServerOptionsError(`the tool ${name} has no handler function`)
    const input = compileSchema(inputSchema, 'input', name)
    const output = outputSchema === undefined ? undefined : compileSchema(outputSchema, 'output', name)
    const definition = { ...fields, inputSchema: input.definition, outputSchema: output?.definition }
    byName.set(name, { definition, handler, input, output })
  }
  const definitions = [...byName.values()].map(({ definition }) => definition)
  return {
    list: () => definitions,
    async call (name, args, context) {
      const tool = byName.get(name)
      if (tool === undefined) throw new TypeError(`the tool ${name} does not exist`)
      const checked = await tool.input.check(args, 'arguments')
      if (checked.problems !== undefined) throw new InvalidArgumentsError(name, checked.problems)
      return await toResult(wellFormed(await tool.handler(checked.value as never, new HandlerContext(context))), tool)
    }
  }
}

async function toResult (outcome: unknown, { definition: { name }, output }: Tool): Promise<ToolResult> {
  if (isResult(outcome)) return outcome
  if (output !== undefined) {
    const checked = await output.check(outcome, 'value')
    if (checked.problems !== undefined) {
      throw new TypeError(`the tool ${name} returned a value that its outputSchema does not describe: ${checked.problems}`)
    }
    const structuredContent = checked.value
    const text = typeof structuredContent === 'string' ? structuredContent : resultJson(name, structuredContent)
    return { content: [{ type: 'text', text }], structuredContent }
  }
  if (typeof outcome === 'string') return { content: [{ type: 'text', text: outcome }] }
  throw new TypeError(`the tool ${name} without an outputSchema returned neither text nor a result with \`content\``)
}

function isResult (outcome: unknown): outcome is ToolResult {
  return typeof outcome === 'object' && outcome !== null && Array.isArray((outcome as Partial<ToolResult>).content)
}
