import type { Vac } from '@polyvac/core'
import { SKILLS, skillsOf, type Skill } from '@polyvac/core/plugin'
import { Type, type Static } from '@sinclair/typebox'
import { descriptionOf, nameOf, versionOf } from '../../protocol/card-facts.js'

const SkillCard = Type.Object({
  name: Type.String(),
  description: Type.String(),
  input_schema: Type.Unknown({ description: 'JSON Schema of the input' }),
  output_schema: Type.Unknown({ description: 'JSON Schema of the artifact' }),
  metadata: Type.Object({
    vac_name: Type.String(),
    model: Type.Union([Type.String(), Type.Null()]),
    agent_type: Type.Union([Type.String(), Type.Null()]),
    memory_enabled: Type.Boolean()
  })
})

/** The agent card of the service description, section 2.1. */
export const AgentCard = Type.Object({
  name: Type.String(),
  description: Type.String(),
  url: Type.String({ description: 'public address of the service' }),
  version: Type.String({ description: 'version of the agent' }),
  capabilities: Type.Array(Type.String()),
  skills: Type.Array(SkillCard),
  metadata: Type.Record(Type.String(), Type.Unknown())
}, { title: 'AgentCard' })
export type AgentCard = Static<typeof AgentCard>

export interface CardFacts {
  readonly vacs: readonly Vac[]
  readonly url: string
  readonly version?: string | undefined
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** The URL of the keys, for receivers of push notifications; undefined where push is off. */
  readonly jwksUrl?: string | undefined
}

export function agentCard (facts: CardFacts): AgentCard {
  const { vacs, url, version = versionOf(vacs), name = nameOf(vacs), description = descriptionOf(vacs), jwksUrl } = facts
  const push = { push_notifications: jwksUrl !== undefined, ...(jwksUrl === undefined ? {} : { jwks_url: jwksUrl }) }
  return {
    name,
    description,
    url,
    version,
    capabilities: ['task_management', 'streaming', 'conversation', 'document_retrieval'],
    skills: vacs.flatMap(vac => skillsOf(vac).map(skillCard)),
    metadata: { framework: 'polyvac', ...push }
  }
}

function skillCard ({ kind, name, description, vac }: Skill): AgentCard['skills'][number] {
  const { model = null, agent = null } = vac.config
  return {
    name,
    description,
    input_schema: SKILLS[kind].input,
    output_schema: SKILLS[kind].output,
    metadata: { vac_name: vac.name, model, agent_type: agent, memory_enabled: vac.memory !== undefined }
  }
}
