import type { PublicCardFacts } from '../../protocol/card-facts.js'
import { VERSION } from './names.js'

/** No tenant of the HTTP binding: `/tasks/message:send` is a path of a task. */
const NO_TENANT = 'tasks'

/** The agent card of A2A 1.0, section 4.4.1. Optional members that would hold their default are left out, as a signature wants it. */
export function toCard ({ name, description, version, url, grpcUrl, tenant, streaming, push, extendedCard, authenticated, extensions, inputModes, outputModes, skills }: PublicCardFacts, older: readonly string[]): Record<string, unknown> {
  const of = tenant === undefined ? {} : { tenant }
  const rpc = { url: tenant === undefined ? `${url}/a2a` : `${url}/a2a/vacs/${encodeURIComponent(tenant)}`, protocolBinding: 'JSONRPC' }
  return {
    name,
    description,
    supportedInterfaces: [
      { ...rpc, ...of, protocolVersion: VERSION },
      ...(tenant === NO_TENANT ? [] : [{ url: `${url}/a2a/v1`, protocolBinding: 'HTTP+JSON', ...of, protocolVersion: VERSION }]),
      ...(grpcUrl === undefined ? [] : [{ url: grpcUrl, protocolBinding: 'GRPC', ...of, protocolVersion: VERSION }]),
      ...older.map(protocolVersion => ({ ...rpc, ...of, protocolVersion }))
    ],
    version,
    capabilities: { streaming, pushNotifications: push, extensions: extensions.map(toExtension), extendedAgentCard: extendedCard },
    ...(authenticated ? { securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }, securityRequirements: [{ schemes: { bearer: { list: [] } } }] } : {}),
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills
  }
}

function toExtension ({ uri, description, required = false, params }: PublicCardFacts['extensions'][number]): Record<string, unknown> {
  return { uri, ...(description === undefined ? {} : { description }), ...(required ? { required } : {}), ...(params === undefined ? {} : { params }) }
}
