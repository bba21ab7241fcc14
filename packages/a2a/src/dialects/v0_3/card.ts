import type { PublicCardFacts } from '../../protocol/card-facts.js'

/** The agent card of A2A 0.3, section 5.5. */
export function toCard ({ name, description, version, url, tenant, streaming, push, extendedCard, authenticated, extensions, inputModes, outputModes, skills }: PublicCardFacts): Record<string, unknown> {
  const rpc = tenant === undefined ? `${url}/a2a` : `${url}/a2a/vacs/${encodeURIComponent(tenant)}`
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    url: rpc,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: rpc, transport: 'JSONRPC' }],
    version,
    capabilities: {
      streaming,
      pushNotifications: push,
      stateTransitionHistory: false,
      extensions: extensions.map(({ uri, description, required = false, params }) => ({ uri, required, ...(description === undefined ? {} : { description }), ...(params === undefined ? {} : { params }) }))
    },
    ...(authenticated ? { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, security: [{ bearer: [] }] } : {}),
    supportsAuthenticatedExtendedCard: extendedCard,
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills
  }
}
