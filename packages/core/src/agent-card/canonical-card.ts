import { isRecord } from '../basics/is-record.js'

interface Field {
  /** REQUIRED or `optional` in the definition of A2A: a default value counts where it is given. */
  readonly isExplicit?: true
  readonly in?: 'list' | 'map'
  /** Its members; undefined: any JSON. */
  readonly of?: Message
}
type Message = Readonly<Record<string, Field>>
type Json = Readonly<Record<string, unknown>>

const plain: Field = {}
const explicit: Field = { isExplicit: true }
const list: Field = { in: 'list' }
const explicitList: Field = { in: 'list', isExplicit: true }
const scopes: Field = { in: 'map', isExplicit: true }
const requirements: Field = { in: 'list', of: { schemes: { in: 'map', of: { list } } } }

const flow = { refreshUrl: plain, scopes }
const FLOWS: Message = {
  authorizationCode: { of: { ...flow, authorizationUrl: explicit, tokenUrl: explicit, pkceRequired: plain } },
  clientCredentials: { of: { ...flow, tokenUrl: explicit } },
  implicit: { of: { ...flow, authorizationUrl: plain, scopes: { in: 'map' } } },
  password: { of: { ...flow, tokenUrl: plain, scopes: { in: 'map' } } },
  deviceCode: { of: { ...flow, deviceAuthorizationUrl: explicit, tokenUrl: explicit } }
}

const SCHEME: Message = {
  apiKeySecurityScheme: { of: { description: plain, location: explicit, name: explicit } },
  httpAuthSecurityScheme: { of: { description: plain, scheme: explicit, bearerFormat: plain } },
  oauth2SecurityScheme: { of: { description: plain, flows: { of: FLOWS }, oauth2MetadataUrl: plain } },
  openIdConnectSecurityScheme: { of: { description: plain, openIdConnectUrl: explicit } },
  mtlsSecurityScheme: { of: { description: plain } }
}

/** The members of a card (A2A 1.0, section 4.4) without its signatures. */
const CARD: Message = {
  name: explicit,
  description: explicit,
  supportedInterfaces: { ...explicitList, of: { url: explicit, protocolBinding: explicit, tenant: plain, protocolVersion: explicit } },
  provider: { of: { url: explicit, organization: explicit } },
  version: explicit,
  documentationUrl: explicit,
  capabilities: {
    of: {
      streaming: explicit,
      pushNotifications: explicit,
      extensions: { in: 'list', of: { uri: plain, description: plain, required: plain, params: plain } },
      extendedAgentCard: explicit
    }
  },
  securitySchemes: { in: 'map', of: SCHEME },
  securityRequirements: requirements,
  defaultInputModes: explicitList,
  defaultOutputModes: explicitList,
  skills: {
    ...explicitList,
    of: {
      id: explicit, name: explicit, description: explicit, tags: explicitList, examples: list, inputModes: list, outputModes: list, securityRequirements: requirements
    }
  },
  iconUrl: explicit
}

/**
 * What of an agent card is signed (A2A 1.0, section 8.4.1): the members that the protocol defines, without default
 * values that the card need not have, and without its signatures. Values of other types stay unchanged.
 */
export function canonicalCard (card: Json): Record<string, unknown> { return canonicalMessage(card, CARD) }

function canonicalMessage (given: Json, message: Message): Record<string, unknown> {
  return Object.fromEntries(Object.entries(message).flatMap(([name, field]) => {
    const value = Object.hasOwn(given, name) ? canonicalField(given[name], field) : undefined
    return value === undefined ? [] : [[name, value]]
  }))
}

/** Undefined where it counts as absent. */
function canonicalField (given: unknown, field: Field): unknown {
  if (given === undefined || given === null) return undefined
  const { isExplicit = false, of } = field
  const one = (value: unknown): unknown => of !== undefined && isRecord(value) ? canonicalMessage(value, of) : value
  if (field.in === 'list' && Array.isArray(given)) return given.length > 0 || isExplicit ? given.map(one) : undefined
  if (field.in === 'map' && isRecord(given)) {
    const entries = Object.entries(given)
    return entries.length > 0 || isExplicit ? Object.fromEntries(entries.map(([name, value]) => [name, one(value)])) : undefined
  }
  const isDefault = given === '' || given === false || given === 0
  return isDefault && !isExplicit ? undefined : one(given)
}
