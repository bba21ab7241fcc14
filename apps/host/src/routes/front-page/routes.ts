import type { Vacs } from '@polyvac/core'
import { authenticateCallers, vacsFor, type PrincipalOf } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HostOptions } from '../../host-options.js'
import { homePage, links, POLICY, type Home } from './page.js'

export interface HomeParts {
  readonly vacs: Vacs
  readonly version: string
  readonly protocols: () => readonly string[]
  readonly publicUrl: () => string | null | undefined
  readonly authenticate: HostOptions['authenticate']
}

/** GET /: a page for browsers, and for other clients a JSON index. */
export async function registerHome (app: FastifyInstance, parts: HomeParts): Promise<void> {
  await app.register(async scope => {
    const principalOf = authenticateCallers(scope, parts.authenticate)
    scope.get('/', { schema: { hide: true } }, async (request, reply) => {
      reply.header('vary', 'accept').header('cache-control', 'no-store')
      const home = homeOf(request, parts, principalOf)
      if (/\btext\/html\b/.test(request.headers.accept ?? '')) return await sendPage(reply, home)
      const { url, version, vacs, protocols } = home
      const names = vacs.map(({ name }) => name)
      return { name: 'polyvac', version, vacs: names, links: links(url, protocols).map(([path]) => url + path) }
    })
  })
}

function homeOf (request: FastifyRequest, { vacs, version, protocols, publicUrl }: HomeParts, principalOf: PrincipalOf): Home {
  const url = (publicUrl() || `${request.protocol}://${request.host}`).replace(/\/+$/, '')
  return { url, version, vacs: vacsFor(vacs, principalOf(request)).list(), protocols: protocols() }
}

async function sendPage (reply: FastifyReply, home: Home): Promise<FastifyReply> {
  return await reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin'
  }).send(homePage(home))
}
