import { isMissingModule } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import type { ServiceConfig } from '../config/service-config.js'
import { PackageMissingError } from '../errors.js'

/** Headers of responses that pages of other origins may read. */
const EXPOSED = ['retry-after', 'www-authenticate', 'mcp-session-id', 'a2a-extensions', 'x-a2a-extensions', 'x-request-id', 'etag', 'location', 'x-run-id', 'x-conversation-id', 'x-workflow-run-id', 'x-resumable-stream-id']

/** Methods of the routes. Pages end sessions of MCP, delete webhooks of A2A, and rename and delete conversations. */
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']

/**
 * CORS for the origins of `allowed_origins`, and the headers of Helmet, where they are switched on. Requests with
 * effects from other origins stay refused.
 * @throws PACKAGE_MISSING
 */
export async function sendBrowserHeaders (app: FastifyInstance, { cors, helmet, allowed_origins: origins = [] }: ServiceConfig): Promise<void> {
  if (helmet === true) {
    const plugin = (await loadPackage('helmet', async () => await import('@fastify/helmet'))).default
    // pages of the host set a stricter policy; other responses are not pages
    await app.register(plugin, { contentSecurityPolicy: { directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }, useDefaults: false } })
  }
  if (cors === true) {
    const plugin = (await loadPackage('cors', async () => await import('@fastify/cors'))).default
    await app.register(plugin, { origin: origins.includes('*') ? true : [...origins], methods: METHODS, exposedHeaders: EXPOSED, maxAge: 600 })
  }
}

async function loadPackage<T> (name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (err) {
    if (!isMissingModule(err)) throw err
    throw Object.assign(new PackageMissingError(name, `@fastify/${name}`), { cause: err })
  }
}
