import type { Answer, ErrorBody, Vacs } from '@polyvac/core'
import { authenticateCallers, Disconnects, innerRequest, unsupportedType, vacsFor, type PrincipalOf } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ForeignFormError, NotAFormError } from '../../errors.js'
import type { HostOptions } from '../../host-options.js'
import { homePage, links, POLICY, type Asked, type Home } from './page.js'

export interface HomeParts {
  readonly vacs: Vacs
  readonly version: string
  readonly protocols: () => readonly string[]
  readonly publicUrl: () => string | null | undefined
  readonly authenticate: HostOptions['authenticate']
}

/** Largest body of the form, in bytes. */
const MAX_FORM_BYTES = 64 * 1024

/** The type of the form's body. */
const FORM = 'application/x-www-form-urlencoded'

/** Headers of the form's request that do not describe the question. */
const OF_THE_FORM = /^(?:content-|transfer-encoding$|connection$|keep-alive$|accept|expect$|origin$|referer$|sec-|upgrade)/

/**
 * GET /: a page for browsers, with a form that asks a VAC; for other clients a JSON index. POST /ask is the form: it
 * asks over POST /vac/<name>, so the limits, the log and the errors are those of that route.
 */
export async function registerHome (app: FastifyInstance, parts: HomeParts): Promise<void> {
  await app.register(async scope => {
    const disconnects = new Disconnects()
    const principalOf = authenticateCallers(scope, parts.authenticate)
    scope.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      (_request, body, done) => { done(null, new URLSearchParams(body as string)) })

    scope.get('/', { schema: { hide: true } }, async (request, reply) => {
      reply.header('vary', 'accept').header('cache-control', 'no-store')
      const home = homeOf(request, parts, principalOf)
      if (/\btext\/html\b/.test(request.headers.accept ?? '')) return await sendPage(reply, home)
      const { url, version, vacs, protocols } = home
      const names = vacs.map(({ name }) => name)
      return { name: 'polyvac', version, vacs: names, links: links(url, protocols).map(([path]) => url + path) }
    })

    scope.post('/ask', { bodyLimit: MAX_FORM_BYTES, schema: { hide: true }, onRequest: [async request => refuseForeign(request, parts), refuseOtherTypes] },
      async (request, reply) => {
        const fields = request.body as URLSearchParams
        const [vac, question] = [fields.get('vac') ?? '', fields.get('question') ?? '']
        const { status, ...asked } = await ask(app, request, reply, disconnects, vac, question)
        reply.code(status).header('cache-control', 'no-store')
        return await sendPage(reply, homeOf(request, parts, principalOf), { vac, question, ...asked })
      })
  })
}

/** A form of another site must not ask in the name of its visitor. A client without these headers is not a browser. */
async function refuseForeign ({ headers, host }: FastifyRequest, { publicUrl }: HomeParts): Promise<void> {
  const { 'sec-fetch-site': site, origin } = headers
  if (site !== undefined ? site === 'same-origin' : origin === undefined) return
  const known = [host, ...URL.canParse(publicUrl() ?? '') ? [new URL(publicUrl()!).host] : []]
  if (site === undefined && URL.canParse(origin!) && known.includes(new URL(origin!).host)) return
  throw new ForeignFormError()
}

/** Parsers of the application read other types. */
async function refuseOtherTypes (request: FastifyRequest): Promise<void> {
  const type = request.headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase()
  if (type !== FORM) throw new NotAFormError(unsupportedType(request, `${FORM}, or send JSON to POST /vac/<name>`))
}

/** Asks over the direct route. */
async function ask (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply, disconnects: Disconnects,
  vac: string, question: string): Promise<Pick<Asked, 'answer' | 'problem'> & { status: number }> {
  const { headers, socket } = request
  const stop = new AbortController()
  const unwatch = disconnects.watch(reply, () => { stop.abort() })
  try {
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_FORM.test(name)))
    const { response } = innerRequest(app, {
      method: 'POST',
      path: `/vac/${encodeURIComponent(vac)}`,
      headers: { ...kept, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ user_input: question }),
      remoteAddress: socket.remoteAddress,
      outer: request,
      signal: stop.signal
    })
    const answered = await response
    let text = ''
    for await (const piece of answered.setEncoding('utf8')) text += String(piece)
    const status = answered.statusCode ?? 500
    const body = JSON.parse(text) as Answer & Partial<ErrorBody>
    return status === 200 ? { status, answer: body } : { status, problem: body.error?.message }
  } catch (err) {
    if (stop.signal.aborted) return { status: 500, problem: 'the caller disconnected' }
    throw err
  } finally {
    unwatch()
  }
}

function homeOf (request: FastifyRequest, { vacs, version, protocols, publicUrl }: HomeParts, principalOf: PrincipalOf): Home {
  const url = (publicUrl() || `${request.protocol}://${request.host}`).replace(/\/+$/, '')
  return { url, version, vacs: vacsFor(vacs, principalOf(request)).list(), protocols: protocols() }
}

async function sendPage (reply: FastifyReply, home: Home, asked?: Asked): Promise<FastifyReply> {
  return await reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin'
  }).send(homePage(home, asked))
}
