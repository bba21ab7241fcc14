import { labelRoutes } from '@polyvac/core/plugin'
import type { FastifyInstance, HTTPMethods } from 'fastify'

/** The routes of a protocol that is off. */
export interface Disabled {
  /** The protocol in metrics; without it, the requests are those of the host. */
  readonly protocol?: string | undefined
  readonly prefix?: string
  readonly routes: ReadonlyArray<readonly [HTTPMethods | HTTPMethods[], string]>
  readonly toBody: (requestId: string) => object | string
}

/** Answers the routes of a protocol that is off with 501, in its format (contract, section 3). */
export async function answerDisabled (app: FastifyInstance, { protocol, prefix = '', routes, toBody }: Disabled): Promise<void> {
  await app.register(async function protocolThatIsOff (scope) {
    if (protocol !== undefined) labelRoutes(scope, protocol)
    for (const [method, url] of routes) {
      scope.route({ method, url, exposeHeadRoute: false, schema: { hide: true }, handler: async ({ id }, reply) => await reply.code(501).send(toBody(id)) })
    }
  }, { prefix })
}
