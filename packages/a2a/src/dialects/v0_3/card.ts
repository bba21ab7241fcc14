import type { PublicCardFacts } from '../../protocol/card-facts.js'

/** The agent card of A2A 0.3, section 5.5. */
export function toCard (facts: PublicCardFacts): Record<string, unknown> {
  const { name, description, version, tenant, streaming, authenticated, inputModes, outputModes, skills } = facts
  const url = tenant === undefined ? `${facts.url}/a2a` : `${facts.url}/a2a/vacs/${encodeURIComponent(tenant)}`
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    version,
    capabilities: {
      streaming,
      pushNotifications: facts.push,
      stateTransitionHistory: false,
      extensions: facts.extensions.map(({ uri, description, required = false, params }) =>
        ({ uri, required, description, params }))
    },
    securitySchemes: authenticated ? { bearer: { type: 'http', scheme: 'bearer', bearerFormat: facts.bearerFormat } } : undefined,
    security: authenticated ? [{ bearer: [] }] : undefined,
    supportsAuthenticatedExtendedCard: facts.extendedCard,
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills
  }
}
