import { createError, MethodNotAllowedError, nearest, quoteName, RouteTable } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'

/** Longest path that is compared with the routes, in characters. */
const MAX_COMPARED_CHARS = 200

const NotFoundError = createError<[string, string]>('NOT_FOUND', 'there is no route %s; %s', 404)

/**
 * Answers requests without a route: 405 with `Allow` where the path has routes of other methods, otherwise 404 with the
 * route that was most likely meant. Call it before the routes are registered.
 * @param names the names of the VACs
 */
export function registerNotFound (app: FastifyInstance, names: () => readonly string[]): void {
  const table = new RouteTable(app)

  app.setNotFoundHandler((request, reply) => {
    const { method, url } = request
    const path = url.split('?', 1)[0]!.slice(0, MAX_COMPARED_CHARS)
    const asked = `${method} ${url.slice(0, MAX_COMPARED_CHARS)}`
    const methods = table.methodsOf(path)
    if (methods.length > 0) {
      reply.header('allow', methods.join(', '))
      throw new MethodNotAllowedError(method, methods.join(', '))
    }
    const meant = hint(path)
    throw new NotFoundError(asked, meant === undefined ? 'GET /openapi.json lists the routes' : `did you mean ${quoteName(meant)}?`)
  })

  /** The path that was most likely meant: without its last slash, with the prefix of the routes, or the nearest one. */
  function hint (path: string): string | undefined {
    const meant = table.meant(path)
    if (meant !== undefined) return meant
    const bare = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
    const chat = chatAddress(bare, names())
    if (chat !== undefined && table.methodsOf(chat).length > 0) return chat
    const fixed = table.routes.map(({ url }) => url).filter(url => !/[:*]/.test(url) && url !== '/')
    const name = bare.slice(bare.lastIndexOf('/') + 1)
    if (names().includes(name)) return `/vac/${name}`
    // a whole segment at least, such as /v1/models for /openai/v1/models
    return fixed.find(url => bare !== '/' && url.endsWith(bare)) ?? nearest(bare, fixed)
  }
}

/** What chat clients ask by default, and other names of the protocols. */
const CHAT_ADDRESSES: ReadonlyArray<readonly [asked: RegExp, protocol: 'ai' | 'ag-ui', isNamed: boolean]> = [
  [/^\/api\/(?:chat|completion)(?=\/|$)/, 'ai', false],
  [/^(?:\/api)?\/ai(?:[-_]?sdk)?(?=\/)/, 'ai', true],
  [/^\/api\/copilotkit(?=\/|$)/, 'ag-ui', true],
  [/^(?:\/api)?\/ag[-_]?ui(?=\/|$)/, 'ag-ui', true]
]

/** The address that a chat client meant; undefined for a path that none asks. */
function chatAddress (path: string, [name = '<vector_name>', ...others]: readonly string[]): string | undefined {
  const [asked, protocol, isNamed] = CHAT_ADDRESSES.find(([asked]) => asked.test(path)) ?? []
  if (asked === undefined) return undefined
  return path.replace(asked, () => isNamed === true ? `/${protocol}` : `/${protocol}/${others.length === 0 ? name : '<vector_name>'}`)
}
