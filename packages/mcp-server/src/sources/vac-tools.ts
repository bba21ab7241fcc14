import { VacInfo, type Runs, type Vac, type Vacs } from '@polyvac/core'
import {
  exposedVacs, findSkill, formerToolName, milliseconds, optional, readOptions, SKILLS, skillsOf, texts, toolName, vacInfo,
  VacNotFoundError, vacsFor, withMethod,
  type ExposedVacs, type OptionRules, type Skill, type SkillKind
} from '@polyvac/core/plugin'
import { Type, type TObject } from '@sinclair/typebox'
import { McpServerOptionsError } from '../errors.js'
import type { CallContext, ToolDefinition, ToolResult, ToolSource } from '../tool-source.js'
import { beginTask, callSkill } from './vac-call.js'

export interface VacToolsOptions {
  /** The VACs to offer. null or undefined: all; an empty list: none. An unknown name is refused. */
  readonly names?: readonly string[] | null | undefined
  /** Total time for an interpreter in ms, unless a call sets its timeout. Default 120,000. */
  readonly timeoutMs?: number | undefined
  /**
   * What createRuns() returns: the tools take `conversation_id` then. The store of the server's `tasks` must be theirs.
   * Default: it is refused.
   */
  readonly runs?: Runs | undefined
}

export const VAC_TOOLS_OPTIONS = {
  names: optional('a list of names, or null', value => value === null || texts().accepts(value)),
  timeoutMs: milliseconds(120_000),
  runs: withMethod('start', 'what createRuns() returns')
} satisfies OptionRules<VacToolsOptions>

/** How clients present a skill. An interpreter may have side effects and take long; a search has none. */
const PRESENTATION = {
  query: { verb: 'Ask', annotations: { openWorldHint: true }, taskSupport: 'optional' },
  stream: { verb: 'Stream', annotations: { openWorldHint: true }, taskSupport: 'optional' },
  memory: { verb: 'Search', annotations: { readOnlyHint: true, openWorldHint: false }, taskSupport: 'forbidden' }
} as const satisfies Record<SkillKind, { readonly verb: string } & Pick<ToolDefinition, 'annotations' | 'taskSupport'>>

const conversation = { conversation_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'id of a conversation that the service keeps: its turns are the history' })) }

/** The schemas of the tools in a service that keeps conversations; the agent card does not have the id. */
const SCHEMAS = {
  query: { inputSchema: inConversation(SKILLS.query.input), outputSchema: inConversation(SKILLS.query.output) },
  stream: { inputSchema: inConversation(SKILLS.stream.input), outputSchema: inConversation(SKILLS.stream.output) },
  memory: { inputSchema: SKILLS.memory.input, outputSchema: SKILLS.memory.output }
} as const satisfies Record<SkillKind, Pick<ToolDefinition, 'inputSchema' | 'outputSchema'>>

const READ_ONLY = { readOnlyHint: true, openWorldHint: false }
const VacList = Type.Object({ vacs: Type.Array(VacInfo) })
const tools = Type.Array(Type.String(), { description: 'names of its tools' })
const VacDetails = Type.Object({ ...VacInfo.properties, tools })

const LIST: ToolDefinition = {
  name: 'list_available_vacs',
  title: 'List the agents',
  description: 'List the agents (VACs) that can be asked here, with what each is for',
  inputSchema: Type.Object({}),
  outputSchema: VacList,
  annotations: READ_ONLY
}

const INFO: ToolDefinition = {
  name: 'get_vac_info',
  title: 'Describe an agent',
  description: 'Describe one agent (VAC): ' +
    'what it is for, its model, whether it has a searchable knowledge base, and its tools',
  inputSchema: Type.Object({
    vector_name: Type.String({ minLength: 1, maxLength: 64, description: 'name of the VAC' })
  }),
  outputSchema: VacDetails,
  annotations: READ_ONLY
}

/**
 * A source of VACs as tools: `vac_query_<vac>`, `vac_stream_<vac>` with its text as progress notifications,
 * `vac_memory_search_<vac>` for a VAC with a memory, `list_available_vacs` and `get_vac_info`. A VAC with `mcp_tool` is
 * the one tool of that name, which answers as `vac_query_<vac>`; where all have one, the last two tools are left out.
 * A failure of an interpreter is a result with `isError`.
 * @throws MCP_SERVER_OPTIONS
 * @example
 * const vacs = createVacs({ vacs: ['docs'], streamInterpreter })
 * await app.register(mcpServerPlugin, { sources: [vacTools(vacs, { names: ['docs'], timeoutMs: 60_000 })] })
 */
export function vacTools (vacs: Vacs, options: VacToolsOptions = {}): ToolSource {
  const { names, timeoutMs, runs } = readOptions(VAC_TOOLS_OPTIONS, options, McpServerOptionsError, 'vacTools')
  const exposed = exposedVacs(vacs, names, problem => new McpServerOptionsError(`the \`names\` of vacTools ${problem}`))
  // @keyed none: names in the configuration, of one check
  const taken = new Set<string>()
  const twice = [LIST, INFO, ...exposed.list().flatMap(vac => toolsOf(vac))].map(({ name }) => name).find(name => taken.size === taken.add(name).size)
  if (twice !== undefined) throw new McpServerOptionsError(`two tools have the name ${JSON.stringify(twice)}; change the \`mcp_tool\` of a VAC`)
  /** @throws VAC_NOT_FOUND (404) */
  const skillFor = (name: string, { principal, log }: CallContext): Skill => {
    const skill = skillOfTool(vacsFor(exposed, principal, log), name)
    if (skill === undefined) throw new VacNotFoundError(JSON.stringify(name), `${LIST.name} lists all`)
    return skill
  }
  return {
    list () {
      const listed = exposed.list()
      const isListed = listed.some(({ config }) => config.mcp_tool === undefined)
      return [...isListed ? [LIST, INFO] : [], ...listed.flatMap(vac => toolsOf(vac, runs !== undefined))]
    },
    call (name, args, context) {
      const seen = vacsFor(exposed, context.principal, context.log)
      if (name === LIST.name) return structured({ vacs: seen.list().map(vacInfo) })
      if (name === INFO.name) return describe(seen, String(args.vector_name))
      return callSkill(skillFor(name, context), args, context, { timeoutMs, runs })
    },
    // the other tools do not run as tasks
    beginTask: async (name, args, context) => await beginTask(skillFor(name, context), args, context, runs),
    mayUse (_kind, name, principal) {
      const seen = vacsFor(exposed, principal)
      if (name === LIST.name || name === INFO.name) return seen.list().length > 0
      return skillOfTool(seen, name) !== undefined
    },
    onChange: listener => vacs.onReplace(() => { listener(['tools']) })
  }
}

/** The tools of a VAC: one for each skill, or the one that its configuration names. */
function toolsOf (vac: Vac, takesId = false): ToolDefinition[] {
  const { mcp_tool: name } = vac.config
  const skills = skillsOf(vac)
  return name === undefined ? skills.map(skill => toDefinition(skill, takesId)) : [{ ...toDefinition(skills[0]!, takesId), name, formerName: name }]
}

function toDefinition ({ kind, name, vac, description }: Skill, takesId: boolean): ToolDefinition {
  const { verb, annotations, taskSupport } = PRESENTATION[kind]
  const { input, output } = SKILLS[kind]
  const schemas = takesId ? SCHEMAS[kind] : { inputSchema: input, outputSchema: output }
  const title = `${verb} ${vac.config.display_name ?? vac.name}`
  const names = { name: toolName(name), formerName: formerToolName(name) }
  return { ...names, title, description, ...schemas, annotations, taskSupport }
}

function inConversation ({ properties, title = '' }: TObject): TObject {
  return Type.Object({ ...properties, ...conversation }, { title })
}

/** The skill of a tool. A name of a skill that clients refuse has another form; skills can be called by name, too. */
function skillOfTool (exposed: ExposedVacs, name: string): Skill | undefined {
  const skill = findSkill(exposed, name)
  // without a search of all VACs: lists ask for each of their tools
  if (skill !== undefined && skill.vac.config.mcp_tool === undefined) return skill
  const vac = exposed.list().find(({ config }) => config.mcp_tool === name)
  if (vac !== undefined) return skillsOf(vac)[0]
  return skill ?? exposed.list().flatMap(skillsOf).find(skill => toolName(skill.name) === name)
}

/** @throws VAC_NOT_FOUND (404) */
function describe (exposed: ExposedVacs, name: string): ToolResult {
  if (!exposed.has(name)) throw new VacNotFoundError(JSON.stringify(name), `${LIST.name} lists all`)
  const vac = exposed.get(name)
  return structured({ ...vacInfo(vac), tools: toolsOf(vac).map(({ name }) => name) })
}

function structured (structuredContent: object): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }], structuredContent }
}
