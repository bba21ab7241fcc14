import { isRecord } from '@polyvac/core/plugin'

/** The versions of A2A that this client has. */
export const VERSIONS = ['1.0', '0.3'] as const
export type Version = typeof VERSIONS[number]
export type Binding = 'JSONRPC' | 'HTTP+JSON'

/** Where an agent is asked, and how. */
export interface AgentInterface {
  readonly url: string
  readonly binding: Binding
  readonly version: Version
  /** Sent with every request; undefined where the card has none. */
  readonly tenant: string | undefined
}

/** How a caller proves who it is, in the terms of OpenAPI. */
export type SecurityScheme =
  | { readonly type: 'apiKey', readonly in: string, readonly name: string }
  | { readonly type: 'http', readonly scheme: string }
  | { readonly type: 'oauth2', readonly tokenUrl: string | undefined, readonly scopes: readonly string[] }
  | { readonly type: 'openIdConnect', readonly url: string }
  | { readonly type: 'mutualTLS' }
  | { readonly type: 'other', readonly name: string }

/** What this client uses of a card. */
export interface AgentCard {
  readonly name: string
  readonly description: string
  /** Those that this client can use, in the order of preference: 1.0 first, then as the card has them. */
  readonly interfaces: readonly AgentInterface[]
  readonly streaming: boolean
  /** Extensions without which the agent takes no message. */
  readonly required: readonly string[]
  readonly inputModes: readonly string[]
  readonly schemes: ReadonlyMap<string, SecurityScheme>
  /** Names of schemes: one of these lists is needed, all of its names. Empty: none is. */
  readonly requirements: ReadonlyArray<readonly string[]>
}

type Json = Readonly<Record<string, unknown>>

/** Reads a card of 1.0, of 0.3, or one that is both. Undefined for JSON that is not a card. */
export function readCard (body: unknown): AgentCard | undefined {
  if (!isRecord(body) || typeof body.name !== 'string') return undefined
  const capabilities = isRecord(body.capabilities) ? body.capabilities : {}
  const interfaces = [...interfacesOf(body), ...olderInterfaces(body)]
  const of = (version: Version): AgentInterface[] => interfaces.filter(each => each.version === version)
  return {
    name: body.name,
    description: textOf(body.description) ?? '',
    interfaces: VERSIONS.flatMap(of),
    streaming: capabilities.streaming === true,
    required: list(capabilities.extensions).flatMap(({ uri, required }) => required === true && typeof uri === 'string' ? [uri] : []),
    inputModes: Array.isArray(body.defaultInputModes) ? body.defaultInputModes.filter(mode => typeof mode === 'string') : [],
    schemes: new Map(entries(body.securitySchemes).map(([name, scheme]) => [name, schemeOf(name, scheme)])),
    requirements: [
      ...list(body.securityRequirements).map(({ schemes }) => entries(schemes).map(([name]) => name)),
      ...list(body.security).map(alternative => Object.keys(alternative))
    ]
  }
}

/** Those of 1.0. Their list may have 0.3 of the same binding, so the version decides. */
function interfacesOf ({ supportedInterfaces }: Json): AgentInterface[] {
  return list(supportedInterfaces).flatMap(({ url, protocolBinding, protocolVersion = '1.0', tenant }) =>
    interfaceOf(url, protocolBinding, protocolVersion, textOf(tenant)))
}

/** That of 0.3: the preferred one, then the others. */
function olderInterfaces ({ protocolVersion, url, preferredTransport = 'JSONRPC', additionalInterfaces }: Json): AgentInterface[] {
  if (protocolVersion === undefined) return []
  return [{ url, transport: preferredTransport }, ...list(additionalInterfaces)].flatMap(({ url, transport }) =>
    interfaceOf(url, transport, protocolVersion, undefined))
}

function interfaceOf (url: unknown, binding: unknown, protocolVersion: unknown, tenant: string | undefined): AgentInterface[] {
  const version = VERSIONS.find(version => String(protocolVersion).split('.')[0] === version.split('.')[0])
  // the paths of 0.3 over HTTP are those of a draft
  const isKnown = binding === 'JSONRPC' || (binding === 'HTTP+JSON' && version === '1.0')
  return isKnown && version !== undefined && typeof url === 'string' && URL.canParse(url) ? [{ url, binding, version, tenant }] : []
}

/** A scheme of 1.0, wrapped in its type, or of 0.3, which names it. */
function schemeOf (name: string, given: unknown): SecurityScheme {
  const scheme = isRecord(given) ? given : {}
  const part = (key: string, type: string): Json | undefined => isRecord(scheme[key]) ? scheme[key] : scheme.type === type ? scheme : undefined
  const apiKey = part('apiKeySecurityScheme', 'apiKey')
  if (apiKey !== undefined) return { type: 'apiKey', in: textOf(apiKey.location) ?? textOf(apiKey.in) ?? 'header', name: textOf(apiKey.name) ?? 'X-API-Key' }
  const http = part('httpAuthSecurityScheme', 'http')
  if (http !== undefined) return { type: 'http', scheme: (textOf(http.scheme) ?? 'bearer').toLowerCase() }
  const oauth2 = part('oauth2SecurityScheme', 'oauth2')
  if (oauth2 !== undefined) {
    const flow = isRecord(oauth2.flows) && isRecord(oauth2.flows.clientCredentials) ? oauth2.flows.clientCredentials : {}
    return { type: 'oauth2', tokenUrl: textOf(flow.tokenUrl), scopes: entries(flow.scopes).map(([scope]) => scope) }
  }
  const openId = part('openIdConnectSecurityScheme', 'openIdConnect')
  if (openId !== undefined) return { type: 'openIdConnect', url: textOf(openId.openIdConnectUrl) ?? '' }
  if (part('mtlsSecurityScheme', 'mutualTLS') !== undefined) return { type: 'mutualTLS' }
  return { type: 'other', name: textOf(scheme.type) ?? name }
}

function list (value: unknown): Json[] { return Array.isArray(value) ? value.filter(isRecord) : [] }

function entries (value: unknown): Array<[string, unknown]> { return isRecord(value) ? Object.entries(value) : [] }

/** A text that is not empty: an empty one is the default of protobuf, which stands for none. */
function textOf (value: unknown): string | undefined { return typeof value === 'string' && value !== '' ? value : undefined }
