import type { Vac } from '@polyvac/core'
import { skillsOf, VERSION } from '@polyvac/core/plugin'
import type { AgentExtension } from './extensions.js'

/** The facts of an agent for the cards of every version. */
export interface PublicCardFacts {
  readonly name: string
  readonly description: string
  readonly version: string
  /** Address of the plugin's scope. */
  readonly url: string
  /** The address of gRPC of 1.0; undefined where there is none. */
  readonly grpcUrl?: string | undefined
  /** The VAC of the card; undefined for the card of all. */
  readonly tenant: string | undefined
  readonly streaming: boolean
  readonly push: boolean
  readonly extendedCard: boolean
  readonly authenticated: boolean
  /** `JWT` where all tokens are. */
  readonly bearerFormat?: string | undefined
  readonly extensions: readonly AgentExtension[]
  readonly inputModes: readonly string[]
  readonly outputModes: readonly string[]
  readonly skills: ReadonlyArray<{
    readonly id: string, readonly name: string, readonly description: string, readonly tags: readonly string[], readonly examples?: readonly string[]
  }>
}

/** Media types of artifacts: text, and its sources as data. */
const OUTPUT_MODES: readonly string[] = ['text/plain', 'application/json']

const KINDS = { query: 'Ask', stream: 'Talk with', memory: 'Search' } as const

export interface CardSource extends Omit<PublicCardFacts, 'skills' | 'outputModes' | 'name' | 'description' | 'version'> {
  readonly vacs: readonly Vac[]
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly version?: string | undefined
}

export function cardFacts ({ vacs, name, description, version, ...facts }: CardSource): PublicCardFacts {
  return {
    ...facts,
    name: facts.tenant === undefined ? name ?? nameOf(vacs) : nameOf(vacs),
    description: facts.tenant === undefined ? description ?? descriptionOf(vacs) : descriptionOf(vacs),
    version: facts.tenant === undefined ? version ?? versionOf(vacs) : versionOf(vacs, version),
    outputModes: OUTPUT_MODES,
    skills: vacs.flatMap(vac => skillsOf(vac).map(({ kind, name: id, description }) => ({
      id,
      name: `${KINDS[kind]} ${vac.config.display_name ?? vac.name}`,
      description,
      tags: [kind, vac.name, ...(vac.config.agent === undefined ? [] : [vac.config.agent])],
      ...kind !== 'memory' && vac.config.examples !== undefined && { examples: vac.config.examples }
    })))
  }
}

export function nameOf (vacs: readonly Vac[]): string {
  return vacs.length === 1 ? shownName(vacs[0] as Vac) : 'Polyvac agent'
}

export function descriptionOf (vacs: readonly Vac[]): string {
  if (vacs.length === 1) return (vacs[0] as Vac).config.description ?? `Answers as ${shownName(vacs[0] as Vac)}.`
  return vacs.length === 0 ? 'Exposes no VAC.' : `Answers as ${vacs.map(shownName).join(', ')}.`
}

/** The version of the only VAC. */
export function versionOf (vacs: readonly Vac[], fallback = VERSION): string {
  return (vacs.length === 1 ? vacs[0]?.config.agent_version : undefined) ?? fallback
}

function shownName ({ name, config }: Vac): string {
  return config.display_name ?? name
}
