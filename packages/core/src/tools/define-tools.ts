import { InvalidArgumentsError, InvalidToolsError } from '../basics/errors.js'
import type { AbortSignalLike } from '../basics/light-abort.js'
import { isRecord } from '../basics/is-record.js'
import type { Log } from '../basics/log.js'
import { MAX_TOOL_NAME } from '../basics/tool-name.js'
import { wellFormed } from '../basics/well-formed.js'
import type { FunctionContext, FunctionDefinition, FunctionTools, ToolCallResult } from '../vac/tools.js'
import type { Principal } from '../vac/vac.js'
import { resultJson } from './result-json.js'
import { compileSchema, type Checked, type CompiledSchema, type ToolSchema } from './tool-schema.js'

/** What a handler gets besides its arguments. */
export interface ToolContext {
  /** Aborts when the caller disconnects or cancels, and when the service closes. */
  readonly signal: AbortSignal
  /** The caller; undefined without `authenticate`. */
  readonly principal: Principal | undefined
  readonly log: Log
}

/** A tool that the application implements. @template Context what its handler gets besides its arguments */
export interface LocalTool<Input extends ToolSchema = ToolSchema, Context = ToolContext> {
  /** 1 to 64 of `A-Za-z0-9_-`, which language models take; also dots, for which models get another name. */
  readonly name: string
  /** The name for people. */
  readonly title?: string | undefined
  /** What the tool does, for models. */
  readonly description?: string | undefined
  /** Hints of MCP about its effects: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`. */
  readonly annotations?: object | undefined
  /**
   * The arguments: an object of zod 4.2 or newer, of TypeBox, of another library with Standard JSON Schema, or JSON
   * Schema. The handler gets arguments that fit it.
   */
  readonly inputSchema: Input
  /** The value that the handler returns, for callers that read structured results. */
  readonly outputSchema?: ToolSchema | undefined
  /**
   * Returns text, a number, a boolean, a plain object, a list or nothing; with `outputSchema` the value that it
   * describes; or a whole result with `content`. The text of a thrown error goes to the caller if the error has
   * `expose: true` or a `statusCode` below 500, and only to the log otherwise.
   */
  readonly handler: (args: Checked<Input>, context: Context) => unknown
}

/** A tool with its compiled schemas. */
interface Tool {
  readonly definition: FunctionDefinition
  readonly handler: (args: never, context: never) => unknown
  readonly input: CompiledSchema
  readonly output: CompiledSchema | undefined
}

const NAME = /^[A-Za-z0-9_.-]+$/

/**
 * The tools that an application implements, for interpreters and for an MCP server. The types of a handler's arguments
 * follow from its `inputSchema`.
 * @throws INVALID_TOOLS for a name that occurs twice, or that clients do not accept, and for what is not a schema
 * @example
 * const tools = defineTools([{
 *   name: 'add',
 *   inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
 *   handler: ({ a, b }) => String(a + b)
 * }])
 * const vacs = createVacs({ vacs: ['demo'], streamInterpreter, tools })
 */
export function defineTools<Inputs extends readonly ToolSchema[] | []> (
  tools: { readonly [K in keyof Inputs]: Inputs[K] extends ToolSchema ? LocalTool<Inputs[K]> : never }
): FunctionTools {
  return functionTools(tools as unknown as readonly LocalTool[], context => new HandlerContext(context))
}

/**
 * The same for a protocol whose handlers get more.
 * @param contextOf makes what a handler gets of what the caller gives
 */
export function functionTools<Context> (tools: ReadonlyArray<LocalTool<ToolSchema, Context>>, contextOf: (context: FunctionContext) => Context): FunctionTools {
  if (!Array.isArray(tools)) throw new InvalidToolsError('defineTools needs a list of tools')
  const byName = new Map<string, Tool>()
  for (const [index, tool] of tools.entries()) {
    if (!isRecord(tool as unknown)) throw new InvalidToolsError(`the entry ${index} of the tools is not a tool; a tool is { name, description, inputSchema, handler }`)
    const { handler, inputSchema, outputSchema, ...fields } = tool
    const { name } = fields
    const permitted = `use 1 to ${MAX_TOOL_NAME} letters, digits, "_", "-" or "."`
    if (name === undefined) throw new InvalidToolsError(`the entry ${index} of the tools has no \`name\`; ${permitted}`)
    if (typeof name !== 'string' || !NAME.test(name) || name.length > MAX_TOOL_NAME) {
      throw new InvalidToolsError(`the entry ${index} of the tools: a tool cannot be named ${JSON.stringify(name)}; ${permitted}`)
    }
    if (byName.has(name)) {
      throw new InvalidToolsError(`two tools are named ${JSON.stringify(name)}, the entries ${[...byName.keys()].indexOf(name)} and ${index} of the tools; rename one`)
    }
    if (typeof handler !== 'function') throw new InvalidToolsError(`the tool ${name} has no handler function`)
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
      const checking = tool.input.check(args, 'arguments')
      const checked = checking instanceof Promise ? await checking : checking
      if (checked.problems !== undefined) throw new InvalidArgumentsError(name, checked.problems)
      return toResult(wellFormed(await tool.handler(checked.value as never, contextOf(context) as never)), tool)
    }
  }
}

/** The context of a handler. Its signal is made when it is read: that of a call over MCP is not an AbortSignal. */
class HandlerContext implements ToolContext {
  readonly #call: FunctionContext
  #signal: AbortSignal | undefined

  constructor (call: FunctionContext) {
    this.#call = call
  }

  get signal (): AbortSignal {
    this.#signal ??= abortSignalOf(this.#call.signal)
    return this.#signal
  }

  get principal (): Principal | undefined { return this.#call.principal }
  get log (): Log { return this.#call.log }
}

function abortSignalOf (signal: AbortSignalLike): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const stop = new AbortController()
  const abort = (): void => { stop.abort(signal.reason) }
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort)
  return stop.signal
}

function toResult (outcome: unknown, { definition: { name }, output }: Tool): Promise<ToolCallResult<unknown>> | ToolCallResult<unknown> {
  if (isResult(outcome)) return outcome
  if (output !== undefined) return structuredResult(name, outcome, output)
  if (isPlain(outcome)) {
    const text = resultJson(name, outcome)
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as unknown }
  }
  const kind = typeof outcome
  if (kind === 'function' || kind === 'symbol' || (kind === 'object' && outcome !== null)) {
    const what = kind === 'object' ? `an object of the class ${String((outcome as { constructor?: { name?: unknown } }).constructor?.name)}` : `a ${kind}`
    throw new TypeError(`the tool ${name} returned ${what}; return text, a plain object or a list, or a result with \`content\``)
  }
  return { content: [{ type: 'text', text: String(outcome ?? '') }] }
}

async function structuredResult (name: string, outcome: unknown, output: CompiledSchema): Promise<ToolCallResult<unknown>> {
  const checked = await output.check(outcome, 'value')
  if (checked.problems !== undefined) {
    throw new TypeError(`the tool ${name} returned a value that its outputSchema does not describe: ${checked.problems}`)
  }
  const structuredContent = checked.value
  const text = typeof structuredContent === 'string' ? structuredContent : resultJson(name, structuredContent)
  return { content: [{ type: 'text', text }], structuredContent }
}

/** Whether JSON has the whole of an object: a Map or another class has more. */
function isPlain (outcome: unknown): outcome is object {
  if (typeof outcome !== 'object' || outcome === null) return false
  const prototype: unknown = Object.getPrototypeOf(outcome)
  return Array.isArray(outcome) || prototype === null || prototype === Object.prototype
}

function isResult (outcome: unknown): outcome is ToolCallResult<unknown> {
  return typeof outcome === 'object' && outcome !== null && Array.isArray((outcome as Partial<ToolCallResult>).content)
}
