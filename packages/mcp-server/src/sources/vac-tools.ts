import { VacInfo, type Vacs } from '@polyvac/core'
import { exposedVacs, findSkill, SKILLS, skillsOf, toolName, vacInfo, VacNotFoundError, type ExposedVacs, type Skill, type SkillKind } from '@polyvac/core/plugin'
import { Type } from '@sinclair/typebox'
import { McpServerOptionsError } from '../errors.js'
import type { ToolDefinition, ToolResult, ToolSource } from '../tool-source.js'
import { callSkill } from './vac-call.js'

export interface VacToolsOptions {
  /** The VACs to offer. null or absent: all; an empty list: none; an unknown name is refused. */
  readonly names?: readonly string[] | null | undefined
  /** Total time for an interpreter in ms, where a call does not set its own. Default 120,000. */
  readonly timeoutMs?: number | undefined
}

export const VAC_TOOLS_DEFAULTS = { timeoutMs: 120_000 } as const

/** What clients show of a skill, and what they may assume of it: an interpreter may do anything and take long, a search changes nothing. */
const SHOWN = {
  query: { verb: 'Ask', annotations: { openWorldHint: true }, taskSupport: 'optional' },
  stream: { verb: 'Stream', annotations: { openWorldHint: true }, taskSupport: 'optional' },
  memory: { verb: 'Search', annotations: { readOnlyHint: true, openWorldHint: false }, taskSupport: 'forbidden' }
} as const satisfies Record<SkillKind, { readonly verb: string } & Pick<ToolDefinition, 'annotations' | 'taskSupport'>>

const READS = { readOnlyHint: true, openWorldHint: false }
const VacList = Type.Object({ vacs: Type.Array(VacInfo) })
const VacDetails = Type.Object({ ...VacInfo.properties, tools: Type.Array(Type.String(), { description: 'names of its tools' }) })

const LIST: ToolDefinition = {
  name: 'list_available_vacs',
  title: 'List the agents',
  description: 'List the agents (VACs) that can be asked here, with what each is for',
  inputSchema: Type.Object({}),
  outputSchema: VacList,
  annotations: READS
}

const INFO: ToolDefinition = {
  name: 'get_vac_info',
  title: 'Describe an agent',
  description: 'Describe one agent (VAC): what it is for, its model, whether it has a searchable knowledge base, and its tools',
  inputSchema: Type.Object({ vector_name: Type.String({ minLength: 1, maxLength: 64, description: 'name of the VAC' }) }),
  outputSchema: VacDetails,
  annotations: READS
}

/**
 * VACs as tools: `vac_query_<vac>`, `vac_stream_<vac>` with its text as progress notifications, and `vac_memory_search_<vac>`
 * where there is a memory; beside them `list_available_vacs` and `get_vac_info`. A failure of an interpreter is a result with `isError`.
 * @throws MCP_SERVER_OPTIONS
 */
export function vacTools (vacs: Vacs, { names, timeoutMs = VAC_TOOLS_DEFAULTS.timeoutMs }: VacToolsOptions = {}): ToolSource {
  const exposed = exposedVacs(vacs, names, problem => new McpServerOptionsError(`the \`names\` of vacTools ${problem}`))
  return {
    list () {
      const skills = exposed.list().flatMap(skillsOf)
      return skills.length === 0 ? [] : [LIST, INFO, ...skills.map(toDefinition)]
    },
    call (name, args, context) {
      if (name === LIST.name) return structured({ vacs: exposed.list().map(vacInfo) })
      if (name === INFO.name) return describe(exposed, String(args.vector_name))
      const skill = findSkill(exposed, name) ?? skillNamed(exposed, name)
      if (skill === undefined) throw new VacNotFoundError(JSON.stringify(name), `it is offered no more; ${LIST.name} tells those that are`)
      return callSkill(skill, args, context, timeoutMs)
    },
    onChange: listener => vacs.onReplace(() => { listener(['tools']) })
  }
}

function toDefinition ({ kind, name, vac, description }: Skill): ToolDefinition {
  const { verb, annotations, taskSupport } = SHOWN[kind]
  const { input, output } = SKILLS[kind]
  return { name: toolName(name), title: `${verb} ${vac.config.display_name ?? vac.name}`, description, inputSchema: input, outputSchema: output, annotations, taskSupport }
}

/** The skill whose own name is none that clients take. */
function skillNamed (exposed: ExposedVacs, name: string): Skill | undefined {
  return exposed.list().flatMap(skillsOf).find(skill => toolName(skill.name) === name)
}

/** @throws VAC_NOT_FOUND (404) */
function describe (exposed: ExposedVacs, name: string): ToolResult {
  if (!exposed.has(name)) throw new VacNotFoundError(JSON.stringify(name), `${LIST.name} tells those there are`)
  const vac = exposed.get(name)
  return structured({ ...vacInfo(vac), tools: skillsOf(vac).map(skill => toolName(skill.name)) })
}

function structured (structuredContent: object): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }], structuredContent }
}
