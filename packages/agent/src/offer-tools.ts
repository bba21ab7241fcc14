import type { FunctionTool, InterpreterExtra, ToolCallResult } from '@polyvac/core'
import { InvalidRequestError, isRecord, selectTools, toolName, type SelectedTool } from '@polyvac/core/plugin'
import type { ToolSet } from 'ai'
import { AWAITED, isAwaited, type AwaitedCall } from './awaited-calls.js'
import { ToolsError } from './errors.js'
import { markedData } from './marked-data.js'
import type { Passages } from './passages.js'
import { toolText } from './tool-text.js'

type Json = Readonly<Record<string, unknown>>
type Sdk = typeof import('ai')
type Chosen = SelectedTool<FunctionTool>

export const ASK_USER = 'ask_user'
export const SEARCH_DOCUMENTS = 'search_documents'

/** The tools of one answer. */
export interface OfferedTools {
  readonly tools: ToolSet
  /** Those whose calls are steps by themselves, since `extra` makes them. */
  readonly reported: ReadonlySet<string>
  /** Those of the caller: a call of one ends the answer. Their names by those for the model. */
  readonly ofCaller: ReadonlyMap<string, string>
  /** Calls that wait for an approval, in their order: with the first one the answer ends. */
  readonly awaited: AwaitedCall[]
  /** Calls a tool of the list again that had to wait. Undefined: it waits still. */
  readonly callAgain: (call: AwaitedCall) => Promise<string | undefined>
}

/**
 * The tools for a model: those that the VAC's list `tools` chooses, the search of the documents, the question to the
 * user, and those that the caller brought. A failed call is a result that the model reads, so that it can correct its
 * arguments. @throws AGENT_TOOLS; BAD_REQUEST for a tool of the caller with the name of another one
 */
export async function offerTools (sdk: Sdk, extra: InterpreterExtra, passages: Passages | undefined): Promise<OfferedTools> {
  const tools: ToolSet = {}
  const reported = new Set<string>()
  // @keyed none: a list of one answer: at most the calls of its last step
  const awaited: AwaitedCall[] = []
  const execute = async (chosen: Chosen, call: AwaitedCall): Promise<string> => {
    try {
      return await callTool(extra, chosen, call.input)
    } catch (err) {
      if (!isAwaited(err)) throw err
      awaited.push(call)
      return AWAITED
    }
  }
  const all = await chosenTools(extra)
  for (const chosen of all) {
    const { description, inputSchema } = toolOf(chosen)
    reported.add(chosen.name)
    tools[chosen.name] = sdk.dynamicTool({ description, inputSchema: sdk.jsonSchema(inputSchema), execute: async (input, { toolCallId: id }) => await execute(chosen, { id, name: chosen.name, input: isRecord(input) ? input : {} }) })
  }
  const callAgain = async (call: AwaitedCall): Promise<string | undefined> => {
    const chosen = all.find(({ name }) => name === call.name)
    if (chosen === undefined) return markedData(call.name, 'The call failed: the tool is not there any more')
    const before = awaited.length
    const text = await execute(chosen, call)
    return awaited.length === before ? text : undefined
  }
  const own: ToolSet = {
    ...passages !== undefined && {
      [SEARCH_DOCUMENTS]: sdk.dynamicTool({
        description: 'Search the documents. Gives numbered passages, which you cite by their numbers.',
        inputSchema: sdk.jsonSchema({ type: 'object', properties: { query: { type: 'string', description: 'words of the text that is looked for' } }, required: ['query'], additionalProperties: false }),
        execute: async input => await passages.search(String((input as Json).query))
      })
    },
    [ASK_USER]: sdk.dynamicTool({
      description: 'Ask the user for what only the user knows. The reply comes as the next message.',
      inputSchema: sdk.jsonSchema({ type: 'object', properties: { question: { type: 'string' } }, required: ['question'], additionalProperties: false }),
      execute: undefined as never
    })
  }
  const taken = Object.keys(own).find(name => Object.hasOwn(tools, name))
  if (taken !== undefined) throw new ToolsError(`a tool is named ${JSON.stringify(taken)}, as one of the agent is; rename it`)
  Object.assign(tools, own)
  // @keyed none: the tools of one request
  const ofCaller = new Map<string, string>()
  for (const { name: given, description, schema } of toolsOfCaller(extra)) {
    const name = toolName(given)
    if (Object.hasOwn(tools, name)) throw new InvalidRequestError([{ path: 'body/tools', message: `has a tool named ${given}, as another one is named; rename it` }])
    ofCaller.set(name, given)
    tools[name] = sdk.dynamicTool({ description, inputSchema: sdk.jsonSchema(schema), execute: undefined as never })
  }
  return { tools, reported, ofCaller, awaited, callAgain }
}

async function chosenTools ({ vac, tools, listTools, log }: InterpreterExtra): Promise<readonly Chosen[]> {
  const listed = await listTools?.() ?? []
  const { tools: chosen, problems } = selectTools(Array.isArray(vac.tools) ? vac.tools : undefined, { listed, functions: tools, vacs: [], remote: [] })
  const clash = problems.find(({ entry }) => entry === undefined)
  if (clash !== undefined) throw new ToolsError(clash.message)
  // the configuration was checked at the start: a server may not answer now
  if (problems.length > 0) log.debug({ problems }, 'tools of the list are not there')
  return chosen
}

function toolOf (chosen: Chosen): { readonly description: string, readonly inputSchema: Json } {
  if (chosen.kind === 'server' || chosen.kind === 'function') return chosen.tool
  throw new ToolsError(`${chosen.name} has another kind than those of servers and of the application`)
}

async function callTool ({ callTool, signal, log }: InterpreterExtra, chosen: Chosen, input: Json): Promise<string> {
  try {
    const result = chosen.kind === 'function'
      ? await chosen.tool.call(input, { signal })
      : chosen.kind === 'server' ? await callTool!(chosen.tool.server, chosen.tool.name, input, { signal }) : undefined
    return markedData(chosen.name, toolText(result as ToolCallResult<unknown>))
  } catch (err) {
    signal.throwIfAborted()
    if (isAwaited(err)) throw err
    log.warn({ tool: chosen.name, err }, 'a tool failed; the model gets the failure as its result')
    const { message, expose, code } = err as { message?: string, expose?: boolean, code?: string }
    return markedData(chosen.name, `The call failed: ${expose === true || code !== undefined ? message ?? code ?? '' : 'the tool has an error'}`)
  }
}

/** The tools that a request brought, in the forms of chat completions, Responses and AG-UI. */
function toolsOfCaller ({ request }: InterpreterExtra): Array<{ readonly name: string, readonly description: string, readonly schema: Json }> {
  const { tools } = isRecord(request) ? request : {}
  if (!Array.isArray(tools)) return []
  return tools.filter(isRecord).flatMap(tool => {
    const { name, description, parameters } = isRecord(tool.function) ? tool.function : tool
    if (typeof name !== 'string' || name === '') return []
    return [{ name, description: typeof description === 'string' ? description : '', schema: isRecord(parameters) ? parameters : { type: 'object' } }]
  })
}
