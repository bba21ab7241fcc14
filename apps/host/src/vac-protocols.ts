import { PROTOCOLS, protocolProblem, type ChatProtocol, type ProtocolName, type ProtocolOptions } from '@polyvac/vac'
import type { FastifyInstance } from 'fastify'
import { answerDisabled } from './disabled-routes.js'
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
  for (const { name, prefix, routes, toError } of Object.values<ChatProtocol>(PROTOCOLS)) {
    if (on.some(other => other === name)) continue
    const { code, statusCode: status, message } = new ProtocolNotEnabledError(name, name)
    await answerDisabled(app, {
      protocol: name,
      prefix,
      routes: routes({}).map(({ method, path }) => [method, path] as const),
      toBody: requestId => toError({ status, body: { error: { code, message, requestId } } })
    })
  }
}

export function namesOf (choices: readonly Choice[]): readonly ProtocolName[] {
  return choices.map(([name]) => name)
}
