import type { Authenticate, Log } from '@polyvac/core'
import { isExposed, refuseOtherMethods } from '@polyvac/core/plugin'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressInfo } from 'node:net'
import type { Callback, SignIns } from '../sign-in/sign-ins.js'
import { PAGE_HEADERS, refusedPage, signedInPage, signInPage } from './sign-in-pages.js'

const COOKIE = 'polyvac_sign_in'
const tags = ['mcp-gateway']

export interface SignInRouteOptions {
  readonly signIns: SignIns
  readonly log: Log
  readonly authenticate: Authenticate | undefined
}

/**
 * The pages of the sign-in. Browsers open them without the credentials of the caller, so no hook authenticates them:
 * encrypted tickets name the owner, and a cookie binds the callback to the browser that opened the page.
 */
export async function signInRoutes (app: FastifyInstance, { signIns, log, authenticate }: SignInRouteOptions): Promise<void> {
  const refuseOthers = refuseOtherMethods(app)
  app.addHook('onListen', async () => {
    const { address, family, port } = app.server.address() as AddressInfo
    const host = ['::', '0.0.0.0'].includes(address) ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
    signIns.listensAt ??= `http://${host}:${port}${app.prefix}`
  })
  app.setErrorHandler((err, _request, reply: FastifyReply) => {
    const { statusCode = 500 } = err as { statusCode?: number }
    if (statusCode >= 500) log.warn({ err }, 'a sign-in to an MCP server failed')
    return reply.code(statusCode).headers(PAGE_HEADERS).send(refusedPage(isExposed(err) || statusCode < 500 ? (err as Error).message : 'the service failed'))
  })
  const page = Type.String({ description: 'a page of HTML' })
  const answers = { response: { 200: page, '4xx': page, '5xx': page } }

  app.get('/mcp/sign-in', {
    schema: { operationId: 'openMcpSignIn', summary: 'Page that leads to the sign-in at an MCP server', tags, ...answers }
  }, async (request, reply) => {
    const { ticket } = request.query as { ticket?: unknown }
    const opened = await signIns.open(ticket, await callerOf(request))
    const { path, isSecure } = signIns.cookieScope
    const seconds = Math.ceil((opened.until - Date.now()) / 1000)
    reply.header('set-cookie', `${COOKIE}=${opened.cookie}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`)
    return await reply.headers(PAGE_HEADERS).send(signInPage(opened))
  })

  app.get('/mcp/sign-in/callback', {
    schema: { operationId: 'completeMcpSignIn', summary: 'End of the sign-in at an MCP server', tags, ...answers }
  }, async (request, reply) => {
    const server = await signIns.complete(request.query as Callback, cookieOf(request), await callerOf(request))
    return await reply.headers(PAGE_HEADERS).send(signedInPage(server))
  })

  app.get('/mcp/sign-in/client.json', {
    schema: { operationId: 'getMcpClientMetadata', summary: 'This service as an OAuth client', tags, response: { 200: Type.Record(Type.String(), Type.Unknown()) } }
  }, async (_request, reply) => await reply.type('application/json').header('cache-control', 'public, max-age=300').serializer(JSON.stringify).send(signIns.clientDocument))
  refuseOthers()

  /** The owner of a request with credentials; undefined for a browser without them. */
  async function callerOf (request: FastifyRequest): Promise<string | undefined> {
    try {
      return (await authenticate?.(request))?.owner
    } catch {
      return undefined
    }
  }
}

function cookieOf ({ headers: { cookie = '' } }: FastifyRequest): string | undefined {
  return cookie.split(/; */).map(pair => pair.split('=')).find(([name]) => name === COOKIE)?.[1]
}
