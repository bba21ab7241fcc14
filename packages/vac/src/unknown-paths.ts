import { MethodNotAllowedError, quoteName } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { NoSuchPathError } from './errors.js'

interface Route { readonly method: string, readonly url: string, readonly pattern: RegExp }

/** The routes of a plugin, and the errors for paths below them that no route has. */
export class OwnRoutes {
  readonly #routes: Route[] = []

  /** Records the routes that are added to the scope after this. */
  constructor (scope: FastifyInstance) {
    scope.addHook('onRoute', ({ method, url }) => {
      const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
      for (const verb of [method].flat()) this.#routes.push({ method: verb, url, pattern })
    })
  }

  /**
   * Answers other requests below the prefix of a scope: 405 with `Allow` for another method of a path, otherwise 404
   * that names the route which is probably meant. The not-found handler of the application keeps all other paths.
   */
  refuseOthers (scope: FastifyInstance): void {
    scope.setNotFoundHandler((request, reply) => {
      const path = request.url.split('?', 1)[0] as string
      const methods = this.#methodsOf(path)
      if (methods === '') throw new NoSuchPathError(request.method, path.slice(0, 200), this.#hint(path, scope.prefix))
      reply.header('allow', methods)
      throw new MethodNotAllowedError(request.method, methods)
    })
  }

  #methodsOf (path: string): string {
    return this.#routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method).join(', ')
  }

  #hint (path: string, prefix: string): string {
    const trimmed = path.replace(/\/+$/, '')
    if (this.#methodsOf(trimmed) !== '') return `did you mean ${quoteName(trimmed)}?`
    const below = this.#routes.filter(({ method, url }) => method !== 'HEAD' && url.startsWith(prefix))
    return `the routes here are ${below.map(({ method, url }) => `${method} ${url}`).join(', ')}`
  }
}
