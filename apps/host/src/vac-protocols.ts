import { labelRoutes } from '@polyvac/core/plugin'
import { PROTOCOLS, protocolProblem, type ChatProtocol, type ProtocolName, type ProtocolOptions } from '@polyvac/vac'
import type { FastifyInstance } from 'fastify'
import { HostOptionsError, ProtocolNotEnabledError } from './errors.js'
import type { Settings } from './host-options.js'

type Choice = readonly [name: ProtocolName, options: ProtocolOptions]

/** The protocols of @polyvac/vac that are on, with their options. All are on by default. @throws HOST_OPTIONS */
export function vacProtocols ({ protocols = {} }: Settings['switches']): readonly Choice[] {
  for (const [name, value] of Object.entries(protocols)) {
    const problem = protocolProblem(PROTOCOLS, name, typeof value === 'boolean' ? {} : value)
    if (problem !== undefined) throw new HostOptionsError(`service.protocols: ${problem}`)
  }
  const names = Object.keys(PROTOCOLS) as ProtocolName[]
  return names.filter(name => protocols[name] !== false).map(name => [name, typeof protocols[name] === 'object' ? protocols[name] : {}])
}

/** Answers the routes of the protocols that are off with 501, in the format of each protocol. */
export async function refuseOthers (app: FastifyInstance, choices: readonly Choice[]): Promise<void> {
  const on = namesOf(choices)
  for (const protocol of Object.values(PROTOCOLS)) {
    if (!on.some(name => name === protocol.name)) await app.register(async function protocolThatIsOff (scope) { refuse(scope, protocol) }, { prefix: protocol.prefix })
  }
}

export function namesOf (choices: readonly Choice[]): readonly ProtocolName[] {
  return choices.map(([name]) => name)
}

function refuse (scope: FastifyInstance, { name, routes, toError }: ChatProtocol): void {
  const { code, statusCode: status, message } = new ProtocolNotEnabledError(name, name)
  labelRoutes(scope, name)
  for (const { method, path: url } of routes({})) {
    scope.route({
      method,
      url,
      exposeHeadRoute: false,
      schema: { hide: true },
      handler: async ({ id: requestId }, reply) => await reply.code(status).send(toError({ status, body: { error: { code, message, requestId } } }))
    })
  }
}
