import { readOptions } from '@polyvac/core/plugin'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { InvalidOptionsError } from './errors.js'
import { OPTIONS, SHARED_OPTIONS, type ProtocolPluginOptions, type VacPluginOptions } from './options.js'
import type { ChatProtocol } from './protocol.js'
import { optionsSchema, protocolProblem, PROTOCOLS, type ProtocolOptions, type Protocols } from './protocols.js'
import { serveProtocols, type Chosen } from './serve/serve-protocols.js'

/**
 * The plugin. Routes under the scope's prefix, those of its protocols: GET /vac, POST /vac/<vector_name>, POST
 * /vac/streaming/<vector_name>, POST /vac/streaming/<vector_name>/sse, GET and POST /vac/<vector_name>/search, and
 * /openai/v1. It does not add hooks, parsers or error handlers to the scope around it.
 * @throws VAC_PLUGIN_OPTIONS
 * @example await app.register(vacPlugin, { vacs: createVacs({ vacs: ['demo'], streamInterpreter }) })
 */
export const vacPlugin = pluginOf(PROTOCOLS)

/** The plugin over a table of protocols. */
export function pluginOf (table: Protocols): FastifyPluginAsync<VacPluginOptions> {
  const serve = async (host: FastifyInstance, options: VacPluginOptions): Promise<void> => {
    const { protocols, openai, ...shared } = readOptions(OPTIONS, options, InvalidOptionsError, 'the vac plugin')
    if (protocols !== undefined && openai !== undefined) throw new InvalidOptionsError('the vac plugin takes `protocols` or `openai`, not both; leave `openai` out')
    const names = openai === false ? ['direct'] : ['direct', 'openai']
    await serveProtocols(host, chosenOf(table, protocols ?? names), shared)
  }
  return fp(serve, { name: '@polyvac/vac', fastify: '5.x', encapsulate: true })
}

/**
 * The plugin of a single protocol, which takes the options of the protocol besides those of `vacPlugin`.
 * @example await app.register(protocolPlugin(mine), { vacs: createVacs({ vacs: ['demo'], streamInterpreter }) })
 */
export function protocolPlugin<Protocol extends ChatProtocol> (protocol: Protocol):
FastifyPluginAsync<ProtocolPluginOptions & ProtocolOptions<Protocol>> {
  const { name } = protocol
  const ownNames = Object.keys(optionsSchema(protocol).properties)
  const serve = async (host: FastifyInstance, options: ProtocolPluginOptions & ProtocolOptions<Protocol>): Promise<void> => {
    const all = Object.entries(options)
    const own = Object.fromEntries(all.filter(([key]) => ownNames.includes(key)))
    const shared = Object.fromEntries(all.filter(([key]) => !ownNames.includes(key))) as unknown as ProtocolPluginOptions
    const read = readOptions(SHARED_OPTIONS, shared, InvalidOptionsError, `the plugin of ${name}`)
    await serveProtocols(host, chosenOf({ [name]: protocol }, [[name, own]]), read)
  }
  return fp(serve, { name: `@polyvac/vac/${name}`, fastify: '5.x', encapsulate: true })
}

/** The protocols of a list of names, or of names and options. @throws VAC_PLUGIN_OPTIONS */
function chosenOf (protocols: Protocols, choices: readonly unknown[]): Chosen[] {
  const chosen = choices.map((choice): Chosen => {
    const [name, options = {}] = [choice].flat() as [name: unknown, options?: object]
    const problem = protocolProblem(protocols, String(name), options)
    if (problem !== undefined) throw new InvalidOptionsError(`protocols: ${problem}`)
    return [protocols[String(name)]!, options]
  })
  const twice = chosen.find(([protocol], i) => chosen.findIndex(([other]) => other === protocol) !== i)
  if (twice !== undefined) throw new InvalidOptionsError(`protocols: ${twice[0].name} is in the list twice; name it once`)
  return chosen
}
