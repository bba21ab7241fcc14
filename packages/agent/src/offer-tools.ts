import type { InterpreterExtra, ListedTool } from '@polyvac/core'
import { InvalidRequestError, isRecord, serverToolName, toolName } from '@polyvac/core/plugin'
import type { ToolSet } from 'ai'
import { ToolNamesClashError } from './errors.js'
import { markedData } from './marked-data.js'
import type { Passages } from './passages.js'
import { toolText } from './tool-text.js'

type Json = Readonly<Record<string, unknown>>
type Sdk = typeof import('ai')

export const ASK_USER = 'ask_user'
export const SEARCH_DOCUMENTS = 'search_documents'

/** The tools of one answer. */
export interface OfferedTools {
  readonly tools: ToolSet
  /** Those whose calls are steps by themselves: `extra.callTool` makes them. */
  readonly reported: ReadonlySet<string>
  /** Those of the caller: a call of one ends the answer. Their names by those for the model. */
  readonly ofCaller: ReadonlyMap<string, string>
}

/**
 * The tools for a model: those of MCP servers, the search of the documents, the question to the user, and those that
 * the caller brought. A failed call is a result that the model reads, so that it can correct its arguments.
 * @throws AGENT_TOOL_NAMES_CLASH
 */
export async function offerTools (sdk: Sdk, extra: InterpreterExtra, passages: Passages | undefined): Promise<OfferedTools> {
  const tools: ToolSet = {}
  // @keyed none: the names of the tools, for one answer; the tools of the servers and of the request
  const names = new Map<string, string>()
  const claim = (name: string, what: string): void => {
    const other = names.get(name)
    if (other !== undefined) throw new ToolNamesClashError(name, other, what)
    names.set(name, what)
  }
  const reported = new Set<string>()
  for (const tool of await listTools(extra)) {
    const name = serverToolName(tool.server, tool.name)
    claim(name, `the tool ${tool.name} of the MCP server ${tool.server}`)
    reported.add(name)
    tools[name] = sdk.dynamicTool({ description: tool.description, inputSchema: sdk.jsonSchema(tool.inputSchema), execute: async input => await callTool(extra, tool, name, input) })
  }
  if (passages !== undefined) {
    claim(SEARCH_DOCUMENTS, 'the search of the documents')
    tools[SEARCH_DOCUMENTS] = sdk.dynamicTool({
      description: 'Search the documents. Gives numbered passages, which you cite by their numbers.',
      inputSchema: sdk.jsonSchema({ type: 'object', properties: { query: { type: 'string', description: 'words of the text that is looked for' } }, required: ['query'], additionalProperties: false }),
      execute: async input => await passages.search(String((input as Json).query))
    })
  }
  claim(ASK_USER, 'the question to the user')
  tools[ASK_USER] = sdk.dynamicTool({
    description: 'Ask the user for what only the user knows. The reply comes as the next message.',
    inputSchema: sdk.jsonSchema({ type: 'object', properties: { question: { type: 'string' } }, required: ['question'], additionalProperties: false }),
    execute: undefined as never
  })
  // @keyed none: the same
  const ofCaller = new Map<string, string>()
  for (const { name: given, description, schema } of toolsOfCaller(extra)) {
    const name = toolName(given)
    const other = names.get(name)
    if (other !== undefined) throw new InvalidRequestError([{ path: 'body/tools', message: `has a tool named ${given}, which is ${other} here; rename it` }])
    names.set(name, 'another tool of the request')
    ofCaller.set(name, given)
    tools[name] = sdk.dynamicTool({ description, inputSchema: sdk.jsonSchema(schema), execute: undefined as never })
  }
  return { tools, reported, ofCaller }
}

/** The tools of MCP servers that the VAC's list `tools` names: a server, or `<server>__<tool>`. Without a list: all. */
async function listTools ({ vac, listTools }: InterpreterExtra): Promise<readonly ListedTool[]> {
  const listed = await listTools?.() ?? []
  const { tools: wanted } = vac
  if (!Array.isArray(wanted)) return listed
  return listed.filter(({ server, name }) => wanted.includes(server) || wanted.includes(`${server}__${name}`))
}

async function callTool ({ callTool, signal, log }: InterpreterExtra, { server, name }: ListedTool, offered: string, input: unknown): Promise<string> {
  try {
    return markedData(offered, toolText(await callTool!(server, name, isRecord(input) ? input : {}, { signal })))
  } catch (err) {
    signal.throwIfAborted()
    log.warn({ server, tool: name, err }, 'a tool failed; the model gets the failure as its result')
    const { message, expose, code } = err as { message?: string, expose?: boolean, code?: string }
    return markedData(offered, `The call failed: ${expose === true || code !== undefined ? message ?? code ?? '' : 'the tool has an error'}`)
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
