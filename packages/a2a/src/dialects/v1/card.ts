import type { PublicCardFacts } from '../../protocol/card-facts.js'
import { VERSION } from './names.js'

/** A tenant that the HTTP binding cannot have: `/tasks/message:send` is the path of a task. */
const NO_TENANT = 'tasks'

/**
 * The agent card of A2A 1.0, section 4.4.1. Optional members with their default value are undefined, and so absent from
 * the JSON, as section 8.4 wants it for signatures.
 */
export function toCard (facts: PublicCardFacts, older: readonly string[]): Record<string, unknown> {
  const { name, description, version, url, grpcUrl, tenant, authenticated, inputModes, outputModes, skills } = facts
  const rpcUrl = tenant === undefined ? `${url}/a2a` : `${url}/a2a/vacs/${encodeURIComponent(tenant)}`
  const interfaceOf = (protocolBinding: string, url: string, protocolVersion = VERSION): object =>
    ({ url, protocolBinding, tenant, protocolVersion })
  return {
    name,
    description,
    supportedInterfaces: [
      interfaceOf('JSONRPC', rpcUrl),
      ...(tenant === NO_TENANT ? [] : [interfaceOf('HTTP+JSON', `${url}/a2a/v1`)]),
      ...(grpcUrl === undefined ? [] : [interfaceOf('GRPC', grpcUrl)]),
      ...older.map(version => interfaceOf('JSONRPC', rpcUrl, version))
    ],
    version,
    capabilities: {
      streaming: facts.streaming,
      pushNotifications: facts.push,
      extensions: facts.extensions.map(({ uri, description, required = false, params }) =>
        ({ uri, description, required: required || undefined, params })),
      extendedAgentCard: facts.extendedCard
    },
    securitySchemes: authenticated ? { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: facts.bearerFormat } } } : undefined,
    securityRequirements: authenticated ? [{ schemes: { bearer: { list: [] } } }] : undefined,
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills
  }
}
