import { negotiate } from '@fastify/accept-negotiator'
import { errorHandler, failureOf, HIDDEN, logFailure, matchesEtag, readOptions, refuseOtherMethods } from '@polyvac/core/plugin'
import fp from 'fastify-plugin'
import { createHash } from 'node:crypto'
import { readAssets, STYLE, textAsset, type Asset } from './assets.js'
import { InvalidOptionsError } from './errors.js'
import { OPTIONS, ROUTES, THEME, type PlaygroundOptions, type PlaygroundTheme } from './options.js'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'

/** The page loads its own files and calls its own origin. */
const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "base-uri 'none'",
  "form-action 'none'", "frame-ancestors 'none'"
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // kept, and asked for again at each use
  'cache-control': 'no-cache'
}

/** Strictest first: the smallest body that the caller takes. */
const CODINGS = ['br', 'gzip', 'identity'] as const

const routes: FastifyPluginAsync<PlaygroundOptions> = async (app, options) => {
  const { title, readOnly, routes = {}, theme = {}, signIn } = readOptions(OPTIONS, options, InvalidOptionsError, 'the playground plugin')
  const unknown = Object.keys(routes).find(name => !(name in ROUTES))
  if (unknown !== undefined) throw new InvalidOptionsError(`routes.${unknown} is not a route of the page; it has ${Object.keys(ROUTES).join(', ')}`)
  const given = Object.entries(routes).filter(([, address]) => address !== undefined)
  const named: Record<keyof typeof ROUTES, string | null> = { ...ROUTES, ...Object.fromEntries(given) }
  let known: { body: string, tag: string } | undefined
  /** Once, after all plugins are registered. */
  const settings = (): { body: string, tag: string } => {
    if (known !== undefined) return known
    const body = JSON.stringify({ title, readOnly, signIn, routes: { ...named, ...routesBeside(app, named.vac), ...Object.fromEntries(given) } })
    known = { body, tag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
    return known
  }

  app.setErrorHandler(errorHandler((err, request, reply) => {
    const failure = failureOf(err, request)
    logFailure(err, request, failure)
    reply.code(failure.status).send(failure.body)
  }))
  const refuseOthers = refuseOtherMethods(app)
  // relative, since a proxy may hide a part of the path
  app.get('/playground', { schema: HIDDEN }, async (_request, reply) => await reply.redirect('playground/', 308))
  const assets = [...readAssets(), textAsset('theme.css', STYLE, styleOf(theme))]
  for (const asset of assets.filter(({ path }) => !path.startsWith('parts/'))) {
    app.get(`/playground/${asset.path}`, { schema: HIDDEN }, async (request, reply) => await sendAsset(request, reply, asset))
  }
  app.get<{ Params: { part: string } }>('/playground/parts/:part', { schema: HIDDEN }, async (request, reply) => {
    const asset = assets.find(({ path }) => path === `parts/${request.params.part}`)
    return asset === undefined ? reply.callNotFound() : await sendAsset(request, reply, asset)
  })
  app.get('/playground/settings.json', { schema: HIDDEN }, async (request, reply) => {
    const { body, tag } = settings()
    reply.headers({ ...HEADERS, etag: tag })
    if (matchesEtag(request.headers['if-none-match'], tag)) return await reply.code(304).send()
    return await reply.type('application/json; charset=utf-8').send(body)
  })
  refuseOthers()
}

/** A path of each protocol that an app may have next to the direct routes. */
const BESIDE = { openai: '/chat/completions', responses: '/responses', ai_sdk: '/:vector_name', ag_ui: '/:vector_name' } as const

/**
 * The addresses of those routes that no option names: where @polyvac/vac puts them, or null where the app has none
 * there, as with `protocols: ['direct']`.
 */
function routesBeside (app: FastifyInstance, vac: string | null): Record<keyof typeof BESIDE, string | null> {
  const base = `http://localhost${app.prefix}/playground/`
  const where = ([name, path]: [string, string]): [string, string | null] => {
    const usual = ROUTES[name as keyof typeof BESIDE]
    const address = vac === null ? usual : vac.replace(/\/vac\/?$/, usual.slice('..'.length))
    const pathname = URL.canParse(address, base) ? new URL(address, base).pathname : undefined
    return [name, pathname !== undefined && app.hasRoute({ method: 'POST', url: `${pathname}${path}` }) ? address : null]
  }
  return Object.fromEntries(Object.entries(BESIDE).map(where)) as Record<keyof typeof BESIDE, string | null>
}

/** The declarations of a theme. */
function styleOf (theme: PlaygroundTheme): string {
  const declarations = THEME.filter(name => theme[name] !== undefined).map(name => `--${name.replace('_', '-')}:${theme[name]}`)
  return declarations.length === 0 ? '' : `:root{${declarations.join(';')}}\n`
}

/** The page of the last address that the application named. */
let front: { readonly base: string, readonly asset: Asset } | undefined

/**
 * Sends the page, to browsers, at another address than `<prefix>/playground/`: the host has it at `/`.
 * @param base the address of the playground, relative to that one, such as `playground/`
 */
export async function sendPage (request: FastifyRequest, reply: FastifyReply, base: string): Promise<FastifyReply> {
  if (front?.base !== base) {
    const [index] = readAssets()
    front = { base, asset: textAsset('', index!.type, index!.bodies.identity.toString().replace(/ (href|src)="/g, ` $1="${base}`)) }
  }
  return await sendAsset(request, reply, front.asset, 'accept, accept-encoding')
}

async function sendAsset ({ headers }: FastifyRequest, reply: FastifyReply, { type, bodies, etags }: Asset, vary = 'accept-encoding'): Promise<FastifyReply> {
  const accepted = headers['accept-encoding']
  const coding = accepted === undefined ? 'identity' : (negotiate(accepted, [...CODINGS]) ?? 'identity') as keyof Asset['bodies']
  reply.headers({ ...HEADERS, etag: etags[coding], vary })
  if (matchesEtag(headers['if-none-match'], etags[coding])) return await reply.code(304).send()
  if (coding !== 'identity') reply.header('content-encoding', coding)
  return await reply.type(type).send(bodies[coding])
}

/**
 * The plugin. It serves a page at `<prefix>/playground/` that uses the public routes of the service around it: chat,
 * comparison of protocols, discovery documents, raw frames. Hooks of the scope, such as authentication, apply.
 * @example await app.register(playgroundPlugin, { title: 'My agents', readOnly: true })
 */
export const playgroundPlugin = fp(routes, { name: '@polyvac/playground', fastify: '5.x', encapsulate: true })
