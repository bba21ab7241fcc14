import type { FunctionTool, InterpreterExtra, ListedAgent, ToolCallResult } from '@polyvac/core'
import { InvalidRequestError, isRecord, selectTools, toolName, type SelectedTool } from '@polyvac/core/plugin'
import type { ToolSet } from 'ai'
import { agentResult, agentTool } from './agent-tools.js'
import { AWAITED, isAwaited, type AwaitedCall } from './awaited-calls.js'
import { ToolsError } from './errors.js'
import { markedData } from './marked-data.js'
import { ASK_USER, SEARCH_DOCUMENTS } from './own-tools.js'
import type { Passages } from './passages.js'
import { HiddenTools } from './search-tools.js'
import { toolText } from './tool-text.js'

type Json = Readonly<Record<string, unknown>>
type Sdk = typeof import('ai')
type Chosen = SelectedTool<FunctionTool>

/** Calls of tools of one answer; a model that asks for more gets a refusal as their results. */
export const MAX_TOOL_CALLS = 200

/** The tools of one answer. */
export interface OfferedTools {
  readonly tools: ToolSet
  /** Those whose calls are steps by themselves, since `extra` makes them. */
  readonly reported: ReadonlySet<string>
  /** Those of the caller: a call of one ends the answer. Their names by those for the model. */
  readonly ofCaller: ReadonlyMap<string, string>
  /** Those behind `search_tools` and `call_tool`; undefined where the model has all in its list. */
  readonly hidden: HiddenTools | undefined
  /** Whether other agents are among them, whose sources the model can cite. */
  readonly hasAgents: boolean
  /** Calls that wait for an approval, in their order: with the first one the answer ends. */
  readonly awaited: AwaitedCall[]
  /** Calls a tool of the list again that had to wait. Undefined: it waits still. */
  readonly callAgain: (call: AwaitedCall) => Promise<string | undefined>
}

/**
 * The tools for a model: those that the VAC's list `tools` chooses, the search of the documents, the question to the
 * user, and those that the caller brought. A failed call is a result that the model reads, so that it can correct its
 * arguments. More than `most` tools of the list are behind two that find and call them.
 * @throws AGENT_TOOLS; BAD_REQUEST for a tool of the caller with the name of another one
 */
export async function offerTools (sdk: Sdk, extra: InterpreterExtra, passages: Passages, most: number): Promise<OfferedTools> {
  const all = toolSet({})
  const reported = new Set<string>()
  // @keyed none: a list of one answer: at most the calls of its last step
  const awaited: AwaitedCall[] = []
  let calls = 0
  const execute = async (chosen: Chosen, call: AwaitedCall): Promise<string> => {
    if (++calls > MAX_TOOL_CALLS) return `Not called: an answer may call tools ${MAX_TOOL_CALLS} times. Answer with what you have.`
    try {
      return await callTool(extra, chosen, call.input, passages)
    } catch (err) {
      if (!isAwaited(err)) throw err
      awaited.push(call)
      return AWAITED
    }
  }
  // only a list of tools names agents
  const agents = Array.isArray(extra.vac.tools) ? await extra.listAgents() : []
  const listed = (await chosenTools(extra, agents)).map(chosen => ({ ...toolOf(chosen, agents), chosen, name: chosen.name }))
  for (const { chosen, name, description, inputSchema } of listed) {
    reported.add(name)
    all[name] = sdk.dynamicTool({ description, inputSchema: argumentsOf(sdk, inputSchema), execute: async (input, { toolCallId: id }) => await execute(chosen, { id, name, input: input as Json }) })
  }
  const callAgain = async (call: AwaitedCall): Promise<string | undefined> => {
    const found = listed.find(({ name }) => name === call.name)
    if (found === undefined) return markedData(call.name, 'The call failed: the tool is not there any more')
    const before = awaited.length
    const text = await execute(found.chosen, call)
    return awaited.length === before ? text : undefined
  }
  const hidden = listed.length > most ? new HiddenTools(sdk, all, listed, extra.signal) : undefined
  const own: ToolSet = {
    ...hidden?.tools,
    ...passages.hasMemory && {
      [SEARCH_DOCUMENTS]: sdk.dynamicTool({
        description: 'Search the documents. Gives numbered passages, which you cite by their numbers.',
        inputSchema: argumentsOf(sdk, { type: 'object', properties: { query: { type: 'string', description: 'words of the text that is looked for' } }, required: ['query'], additionalProperties: false }, 'query'),
        execute: async input => await passages.search((input as { readonly query: string }).query)
      })
    },
    [ASK_USER]: sdk.dynamicTool({
      description: 'Ask the user for what only the user knows. The reply comes as the next message.',
      inputSchema: argumentsOf(sdk, { type: 'object', properties: { question: { type: 'string' } }, required: ['question'], additionalProperties: false }, 'question'),
      execute: undefined as never
    })
  }
  const taken = Object.keys(own).find(name => Object.hasOwn(all, name))
  if (taken !== undefined) throw new ToolsError(`a tool is named ${JSON.stringify(taken)}, as one of the agent is; rename it`)
  const tools = toolSet({ ...hidden === undefined && all, ...own })
  // @keyed none: the tools of one request
  const ofCaller = new Map<string, string>()
  for (const { name: given, description, schema } of toolsOfCaller(extra)) {
    const name = toolName(given)
    if (Object.hasOwn(tools, name) || Object.hasOwn(all, name)) throw new InvalidRequestError([{ path: 'body/tools', message: `has a tool named ${given}, as another one is named; rename it` }])
    ofCaller.set(name, given)
    tools[name] = sdk.dynamicTool({ description, inputSchema: sdk.jsonSchema(schema), execute: undefined as never })
  }
  return { tools, reported, ofCaller, hidden, hasAgents: agents.length > 0, awaited, callAgain }
}

/**
 * The schema of arguments that are an object. Others are a mistake that the model reads, and no person is asked about.
 * @param text a member that is a text
 */
function argumentsOf (sdk: Sdk, schema: Json, text?: string): ReturnType<Sdk['jsonSchema']> {
  const problemOf = (input: unknown): string | undefined => !isRecord(input)
    ? 'the arguments must be a JSON object'
    : text !== undefined && typeof input[text] !== 'string' ? `${text}: must be a text` : undefined
  return sdk.jsonSchema(schema, {
    validate: input => {
      const problem = problemOf(input)
      return problem === undefined ? { success: true, value: input } : { success: false, error: new Error(problem) }
    }
  })
}

/** Without a prototype: a model may call `constructor`, and a caller may bring a tool named `__proto__`. */
function toolSet (tools: ToolSet): ToolSet { return Object.assign(Object.create(null) as ToolSet, tools) }

async function chosenTools ({ vac, tools, listTools, log }: InterpreterExtra, agents: readonly ListedAgent[]): Promise<readonly Chosen[]> {
  const listed = await listTools?.() ?? []
  const [vacs, remote] = [false, true].map(isRemote => agents.filter(({ remote }) => remote === isRemote).map(({ name }) => name)) as [string[], string[]]
  const { tools: chosen, problems } = selectTools(Array.isArray(vac.tools) ? vac.tools : undefined, { listed, functions: tools, vacs, remote })
  const clash = problems.find(({ entry }) => entry === undefined)
  if (clash !== undefined) throw new ToolsError(clash.message)
  // the configuration was checked at the start: a server may not answer now
  if (problems.length > 0) log.debug({ problems }, 'tools of the list are not there')
  return chosen
}

function toolOf (chosen: Chosen, agents: readonly ListedAgent[]): { readonly description: string, readonly inputSchema: Json } {
  if (chosen.kind === 'server' || chosen.kind === 'function') return chosen.tool
  return agentTool(agents.find(({ name }) => name === agentOf(chosen))!)
}

function agentOf (chosen: Extract<Chosen, { kind: 'vac' | 'agent' }>): string { return chosen.kind === 'vac' ? chosen.vac : chosen.agent }

async function callTool ({ callTool, callAgent, signal, log }: InterpreterExtra, chosen: Chosen, input: Json, passages: Passages): Promise<string> {
  try {
    const result = chosen.kind === 'function'
      ? await chosen.tool.call(input, { signal })
      : chosen.kind === 'server'
        ? await callTool!(chosen.tool.server, chosen.tool.name, input, { signal })
        : agentResult(await callAgent(agentOf(chosen), String(input.message ?? ''), { signal }), passages)
    return markedData(chosen.name, toolText(result as ToolCallResult<unknown>))
  } catch (err) {
    signal.throwIfAborted()
    if (isAwaited(err)) throw err
    const { message, expose, code } = (err ?? {}) as { message?: string, expose?: boolean, code?: string }
    const isForModel = expose === true || code !== undefined
    // any other error is a defect of the tool, so that a log without warnings has it, too
    log[isForModel ? 'warn' : 'error']({ tool: chosen.name, err }, 'a tool failed; the model gets the failure as its result')
    return markedData(chosen.name, `The call failed: ${isForModel ? message ?? code ?? '' : 'the tool has an error'}`)
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
