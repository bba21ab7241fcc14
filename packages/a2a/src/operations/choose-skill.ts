import {
  findSkill, inputProblems, isRecord, nearestSkill, quoteName, SKILLS, type ExposedVacs, type Skill
} from '@polyvac/core/plugin'
import { questionText } from '@polyvac/runs'
import type { TaskPart } from '@polyvac/tasks'
import { ContentTypeNotSupportedError, InvalidFieldsError } from '../errors.js'
import { matchesMediaType } from '../protocol/media-type.js'
import { refuseField } from '../protocol/read-params.js'
import type { IncomingMessage } from '../protocol/requests.js'

/** The skill that a message is for, and its input. */
export interface SkillChoice { readonly skill: Skill, readonly input: Record<string, unknown> }

/**
 * A message chooses a skill by a data part `{ skillName, input }` or by `metadata.skillId`; otherwise it goes to the
 * streaming skill of the tenant, the default VAC or the only VAC. `tenant` names an exposed VAC.
 * @throws A2A_INVALID_PARAMS
 */
export function chooseSkill (vacs: ExposedVacs, defaultVac: string | undefined, tenant: string | undefined,
  message: IncomingMessage): SkillChoice {
  const { parts, metadata } = message
  const typed = typedInput(parts)
  const name = typed?.skillName ?? metadata?.skillId ?? SKILLS.stream.prefix + vacFor(vacs, defaultVac, tenant)
  const field = typed === undefined ? 'message.metadata.skillId' : `message.parts[${typed.index}].data.skillName`
  if (typeof name !== 'string') refuseField(field, 'give the id of a skill')
  const skill = findSkill(vacs, name)
  if (skill === undefined || (tenant !== undefined && skill.vac.name !== tenant)) {
    const near = nearestSkill(tenant === undefined ? vacs.list() : [vacs.get(tenant)], name)
    const remedy = near === undefined ? 'the agent card lists them' : `did you mean ${JSON.stringify(near)}?`
    refuseField(field, `names ${quoteName(name)}, which is not a skill here; ${remedy}`)
  }
  if (typed === undefined) {
    const inputName = skill.kind === 'memory' ? 'search_query' : 'query'
    return { skill, input: { [inputName]: questionText(parts) } }
  }
  const problems = inputProblems(skill.kind, typed.input)
  if (problems.length === 0) return { skill, input: typed.input }
  const root = `message.parts[${typed.index}].data`
  throw new InvalidFieldsError(problems.map(({ path, message: description }) =>
    ({ field: `${root}.${path.replaceAll('/', '.')}`, description })))
}

/** @throws A2A_INVALID_PARAMS */
export function checkTenant (vacs: ExposedVacs, tenant: string): void {
  if (!vacs.has(tenant)) refuseField('tenant', 'is not the name of a VAC here; the agent card names them')
}

/** @throws A2A_CONTENT_TYPE_NOT_SUPPORTED */
export function checkMediaTypes (parts: readonly TaskPart[], inputModes: readonly string[]): void {
  for (const [index, { mediaType }] of parts.entries()) {
    if (mediaType === undefined || inputModes.some(mode => matchesMediaType(mediaType, mode))) continue
    throw new ContentTypeNotSupportedError(
      `message.parts[${index}] has a media type that is not accepted; accepted are ${inputModes.join(', ')}`)
  }
}

function vacFor (vacs: ExposedVacs, defaultVac: string | undefined, tenant: string | undefined): string {
  const [only, ...more] = vacs.list()
  const name = tenant ?? defaultVac ?? (more.length === 0 ? only?.name : undefined)
  if (name === undefined) {
    refuseField('message.metadata.skillId', 'is missing; name a skill of the agent card, or a VAC as the tenant')
  }
  return name
}

/** The input of a skill as one data part `{ skillName, input }`. */
function typedInput (parts: readonly TaskPart[]):
{ skillName: unknown, input: Record<string, unknown>, index: number } | undefined {
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'data' || !isRecord(part.data) || !('skillName' in part.data)) continue
    const { skillName, input = {} } = part.data
    return { skillName, input: input as Record<string, unknown>, index }
  }
  return undefined
}
