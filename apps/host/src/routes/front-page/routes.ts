import type { Vacs } from '@polyvac/core'
import { authenticateCallers, vacsFor, type PrincipalOf } from '@polyvac/core/plugin'
import type { FolderMemory } from '@polyvac/documents'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HostOptions } from '../../host-options.js'
import { exampleQuestion } from '../../example-question.js'
import { homePage, links, POLICY, type Home } from './page.js'

export interface HomeParts {
  readonly vacs: Vacs
  readonly version: string
  readonly protocols: () => readonly string[]
  readonly publicUrl: () => string | null | undefined
  /** The folders of a VAC, for a question that they answer and for what they left out. */
  readonly foldersOf: (vac: string | undefined) => readonly FolderMemory[] | undefined
  readonly authenticate: HostOptions['authenticate']
}

/** GET /: a page for browsers, and for other clients a JSON index. */
export async function registerHome (app: FastifyInstance, parts: HomeParts): Promise<void> {
  await app.register(async scope => {
    const principalOf = authenticateCallers(scope, parts.authenticate)
    scope.get('/', { schema: { hide: true } }, async (request, reply) => {
      reply.header('vary', 'accept').header('cache-control', 'no-store')
      const home = await homeOf(request, parts, principalOf)
      if (/\btext\/html\b/.test(request.headers.accept ?? '')) return await sendPage(reply, home)
      const { url, version, vacs, protocols } = home
      const names = vacs.map(({ name }) => name)
      return { name: 'polyvac', version, vacs: names, links: links(url, protocols).map(([path]) => url + path) }
    })
  })
}

async function homeOf (request: FastifyRequest, { vacs, version, protocols, publicUrl, foldersOf }: HomeParts, principalOf: PrincipalOf): Promise<Home> {
  const url = (publicUrl() || `${request.protocol}://${request.host}`).replace(/\/+$/, '')
  const usable = vacsFor(vacs, principalOf(request)).list()
  return { url, version, vacs: usable, leftOutOf: vac => leftOutTexts(foldersOf(vac)), protocols: protocols(), question: await exampleQuestion(foldersOf(usable[0]?.name)) }
}

function leftOutTexts (folders: readonly FolderMemory[] = []): string[] {
  return folders.map(folder => folder.leftOut()).filter(({ files }) => files > 0).map(({ text }) => text)
}

async function sendPage (reply: FastifyReply, home: Home): Promise<FastifyReply> {
  return await reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin'
  }).send(homePage(home))
}
