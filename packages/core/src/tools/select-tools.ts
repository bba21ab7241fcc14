import { serverToolName, toolName, VAC_PREFIX } from '../basics/tool-name.js'
import { nearest, quoteName, suggestion } from '../basics/names.js'
import type { ListedTool } from '../vac/tools.js'

/** What there is to choose from. */
export interface ToolChoice<Function extends { readonly name: string }> {
  /** The tools of MCP servers that answer now. */
  readonly listed: readonly ListedTool[]
  /** All MCP servers by name: the tools of one that does not answer are none for now. Default: those of `listed`. */
  readonly servers?: readonly string[] | undefined
  /** The tools of the application. */
  readonly functions: readonly Function[]
  /** Names of the VACs that may be called: not the VAC itself. */
  readonly vacs: readonly string[]
  /** Names of the remote agents. */
  readonly remote: readonly string[]
}

/** A tool that a model is offered under `name`: 1 to 64 letters, digits, `_` and `-`, unique among them. */
export type SelectedTool<Function extends { readonly name: string }> =
  | { readonly kind: 'server', readonly name: string, readonly tool: ListedTool }
  | { readonly kind: 'function', readonly name: string, readonly tool: Function }
  | { readonly kind: 'vac', readonly name: string, readonly vac: string }
  | { readonly kind: 'agent', readonly name: string, readonly agent: string }

/** One thing wrong with a list of tools. */
export interface ToolProblem {
  /** The entry of the list; undefined without a list. */
  readonly entry: string | undefined
  /** What is wrong, with the remedy. */
  readonly message: string
}

export interface ToolSelection<Function extends { readonly name: string }> {
  readonly tools: ReadonlyArray<SelectedTool<Function>>
  readonly problems: readonly ToolProblem[]
}

/** Tools that are wanted, with the entry of the list that names them. */
interface Wanted<Function extends { readonly name: string }> {
  readonly entry: string
  readonly tools: ReadonlyArray<SelectedTool<Function>>
}

/**
 * The tools that the list `tools` of a VAC chooses: `<server>`, `<server>__<tool>`, `<function>`, `vac:<name>`,
 * `<remote agent>`. A tool that two entries name is there once. For a check before servers answer, `listed` is empty.
 * @param names undefined: all tools of servers and of the application, no VAC and no remote agent; []: none
 * @returns the tools of all entries without a problem
 */
export function selectTools<Function extends { readonly name: string }> (
  names: readonly string[] | undefined, choice: ToolChoice<Function>
): ToolSelection<Function> {
  const problems: ToolProblem[] = []
  const wanted: Array<Wanted<Function>> = names === undefined
    ? [...choice.listed.map(ofServer), ...choice.functions.map(ofFunction)].map(tool => ({ entry: describe(tool), tools: [tool] }))
    : names.flatMap(entry => {
      const found = find(entry, choice)
      if (typeof found !== 'string') return { entry, tools: found }
      problems.push({ entry, message: found })
      return []
    })
  // @keyed none: names in the configuration, and tools of its servers; it lives for one call
  const taken = new Map<string, { readonly entry: string, readonly tool: SelectedTool<Function> }>()
  for (const { entry, tools } of wanted) {
    for (const tool of tools) {
      const other = taken.get(tool.name)
      if (other === undefined) taken.set(tool.name, { entry, tool })
      else if (describe(other.tool) !== describe(tool)) {
        const message = `${describe(other.tool)} and ${describe(tool)} would both be the tool ${quoteName(tool.name)}; rename one of them`
        problems.push({ entry: names === undefined ? undefined : entry, message })
      }
    }
  }
  return { tools: [...taken.values()].map(({ tool }) => tool), problems }
}

/** The tools of an entry; a text where it names none, or more than one thing. */
function find<Function extends { readonly name: string }> (entry: string, choice: ToolChoice<Function>): ReadonlyArray<SelectedTool<Function>> | string {
  const { listed, functions, vacs, remote, servers = [...new Set(listed.map(({ server }) => server))] } = choice
  if (entry.startsWith(VAC_PREFIX)) {
    const vac = entry.slice(VAC_PREFIX.length)
    if (vacs.includes(vac)) return [{ kind: 'vac', name: toolName(`vac_${vac}`), vac }]
    return `there is no other VAC ${quoteName(vac)}; ${suggestion(vac, vacs, 'the other VACs')}`
  }
  const found: Array<{ readonly what: string, readonly tools: ReadonlyArray<SelectedTool<Function>> }> = []
  if (servers.includes(entry)) found.push({ what: 'an MCP server', tools: listed.filter(({ server }) => server === entry).map(ofServer) })
  const named = listed.filter(({ server, name }) => `${server}__${name}` === entry)
  if (named.length > 0) found.push({ what: 'a tool of an MCP server', tools: named.map(ofServer) })
  const own = functions.filter(({ name }) => name === entry)
  if (own.length > 0) found.push({ what: 'a tool of the application', tools: own.map(ofFunction) })
  if (remote.includes(entry)) found.push({ what: 'a remote agent', tools: [{ kind: 'agent', name: toolName(entry), agent: entry }] })
  const [first, second] = found
  if (second !== undefined) return `${quoteName(entry)} is ${first!.what} and ${second.what}; rename one of them`
  if (first !== undefined) return first.tools
  const server = servers.find(server => entry.startsWith(`${server}__`))
  if (server !== undefined) {
    const tools = listed.filter(tool => tool.server === server)
    // it does not answer now
    if (tools.length === 0) return []
    const tool = entry.slice(server.length + 2)
    return `the MCP server ${quoteName(server)} has no tool ${quoteName(tool)}; ${suggestion(tool, tools.map(({ name }) => name), 'its tools')}`
  }
  const known = [...servers, ...functions.map(({ name }) => name), ...vacs.map(vac => VAC_PREFIX + vac), ...remote]
  // a list names a VAC with its prefix
  const vac = vacs.includes(entry) ? entry : nearest(entry, known) === undefined ? nearest(entry, vacs) : undefined
  return `there is no tool, MCP server or agent ${quoteName(entry)}; ${vac === undefined ? suggestion(entry, known, 'there are') : `did you mean ${quoteName(VAC_PREFIX + vac)}?`}`
}

function ofServer (tool: ListedTool): { readonly kind: 'server', readonly name: string, readonly tool: ListedTool } {
  return { kind: 'server', name: serverToolName(tool.server, tool.name), tool }
}

function ofFunction<Function extends { readonly name: string }> (tool: Function): { readonly kind: 'function', readonly name: string, readonly tool: Function } {
  return { kind: 'function', name: toolName(tool.name), tool }
}

/** A tool for people: the same text is the same tool. */
function describe<Function extends { readonly name: string }> (selected: SelectedTool<Function>): string {
  if (selected.kind === 'server') return `the tool ${quoteName(selected.tool.name)} of the MCP server ${quoteName(selected.tool.server)}`
  if (selected.kind === 'function') return `the tool ${quoteName(selected.tool.name)} of the application`
  return selected.kind === 'vac' ? `the VAC ${quoteName(selected.vac)}` : `the remote agent ${quoteName(selected.agent)}`
}
