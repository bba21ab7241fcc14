import { refuseOtherMethods } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { MethodNotAllowedError } from '../errors.js'

/** Refuses the other methods of the routes that the scope gets from now on, with the code of A2A. */
export function refuseOthers (scope: FastifyInstance): () => void {
  return refuseOtherMethods(scope, (method, allow) => new MethodNotAllowedError(allow, method))
}

/** A path without and with a slash at its end; one path where the application ignores the slash. */
export function withSlash (app: FastifyInstance, url: string): string[] {
  const { routerOptions, ignoreTrailingSlash } = app.initialConfig
  return routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false ? [url] : [url, `${url}/`]
}
