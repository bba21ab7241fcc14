import type { Vacs } from '@polyvac/core'
import { authenticateCallers, vacsFor, type PrincipalOf } from '@polyvac/core/plugin'
import type { FolderMemory } from '@polyvac/documents'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HostOptions } from '../../host-options.js'
import { exampleQuestions } from '../../example-question.js'
import { loadPlugin } from '../../protocols.js'
import { homePage, links, PLAYGROUND, POLICY, type Home } from './page.js'

export interface HomeParts {
  readonly vacs: Vacs
  readonly version: string
  readonly protocols: () => readonly string[]
  readonly publicUrl: () => string | null | undefined
  /** The folders of a VAC, for a question that they answer and for what they left out. */
  readonly foldersOf: (vac: string | undefined) => readonly FolderMemory[] | undefined
  readonly authenticate: HostOptions['authenticate']
}

/** Most VACs whose example questions and left out files are in the index. */
const MAX_VACS = 20

/** GET /: for browsers the chat, or a page without it where the playground is off; for other clients a JSON index. */
export async function registerHome (app: FastifyInstance, parts: HomeParts): Promise<void> {
  await app.register(async scope => {
    // the document has nothing of the service; its chat asks for a token where the routes refuse its caller
    scope.addHook('onRequest', async (request, reply) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') return
      if (!isBrowser(request) || !parts.protocols().includes(PLAYGROUND)) return
      const { sendPage } = await loadPlugin(PLAYGROUND) as unknown as typeof import('@polyvac/playground')
      return await sendPage(request, reply, 'playground/')
    })
    const principalOf = authenticateCallers(scope, parts.authenticate)
    scope.get('/', { schema: { hide: true } }, async (request, reply) => {
      reply.header('vary', 'accept').header('cache-control', 'no-store')
      const home = await homeOf(request, parts, principalOf)
      if (isBrowser(request)) return await sendHome(reply, home)
      const { url, version, vacs, protocols } = home
      const shown = vacs.slice(0, MAX_VACS)
      const examples = shown.map(async vac => [vac.name, await exampleQuestions(vac, parts.foldersOf(vac.name))] as const)
      return {
        name: 'polyvac',
        version,
        vacs: vacs.map(({ name }) => name),
        links: links(url, protocols).map(([path]) => url + path),
        questions: Object.fromEntries(await Promise.all(examples)),
        left_out: Object.fromEntries(shown.map(({ name }) => [name, home.leftOutOf(name)] as const).filter(([, texts]) => texts.length > 0))
      }
    })
  })
}

async function homeOf (request: FastifyRequest, { vacs, version, protocols, publicUrl, foldersOf }: HomeParts, principalOf: PrincipalOf): Promise<Home> {
  const url = (publicUrl() || `${request.protocol}://${request.host}`).replace(/\/+$/, '')
  const usable = vacsFor(vacs, principalOf(request)).list()
  const [question] = await exampleQuestions(usable[0], foldersOf(usable[0]?.name))
  return { url, version, vacs: usable, leftOutOf: vac => leftOutTexts(foldersOf(vac)), protocols: protocols(), question }
}

function leftOutTexts (folders: readonly FolderMemory[] = []): string[] {
  return folders.map(folder => folder.leftOut()).filter(({ files }) => files > 0).map(({ text }) => text)
}

const isBrowser = ({ headers }: FastifyRequest): boolean => /\btext\/html\b/.test(headers.accept ?? '')

async function sendHome (reply: FastifyReply, home: Home): Promise<FastifyReply> {
  return await reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin'
  }).send(homePage(home))
}
