import type { Authenticate, Log } from '@polyvac/core'
import { describeRoutes, errorHandler, labelRoutes, refuseOtherMethods } from '@polyvac/core/plugin'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { AddressInfo } from 'node:net'
import type { Callback, SignIns } from '../sign-in/sign-ins.js'
import { SignInRefusedError } from '../errors.js'
import { Failures } from './failures.js'
import { FORM_HEADERS, leadingPage, PAGE_HEADERS, refusedPage, signedInPage, signInPage } from './sign-in-pages.js'

/** Largest body of the form in bytes; it has no fields. */
const MAX_FORM_BYTES = 1_024
const tags = ['mcp-gateway']
const InPath = Type.Object({ server_name: Type.String({ description: 'name of the server, cut if it is long' }) })
const Metadata = Type.Record(Type.String(), Type.Unknown())

export interface SignInRouteOptions {
  readonly signIns: SignIns
  readonly log: Log
  readonly authenticate: Authenticate | undefined
}

/**
 * The pages of the sign-in. Browsers open them without the credentials of the caller, so no hook authenticates them:
 * encrypted tickets name the owner, and a cookie binds the callback to the browser that sent the form of the page.
 */
export async function signInRoutes (app: FastifyInstance, { signIns, log, authenticate }: SignInRouteOptions): Promise<void> {
  const refuseOthers = refuseOtherMethods(app)
  app.addHook('onListen', async () => {
    const { address, family, port } = app.server.address() as AddressInfo
    const host = ['::', '0.0.0.0'].includes(address) ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
    signIns.addresses.listensAt ??= `http://${host}:${port}${app.prefix}`
  })
  // pages are texts, errors of other codes objects
  app.setSerializerCompiler(() => value => typeof value === 'string' ? value : JSON.stringify(value))
  const failures = new Failures(() => undefined)
  app.setErrorHandler(errorHandler((err, request, reply) => {
    const { code, statusCode = 500, message } = err as { code?: unknown, statusCode?: number, message: string }
    // other refusals, such as those of the application, have the format of the plugin
    if (typeof code !== 'string' || !code.startsWith('MCP_SIGN_IN')) return failures.send(err, request, reply)
    if (statusCode >= 500) log.warn({ err }, 'a sign-in failed')
    reply.code(statusCode).headers(PAGE_HEADERS).serializer(String).send(refusedPage(message))
  }))
  const page = Type.String({ description: 'a page of HTML' })
  const answers = { response: { 200: page, '4xx': page, '5xx': page } }

  app.get('/mcp/sign-in', {
    schema: { operationId: 'openMcpSignIn', summary: 'Page that leads to the sign-in at an MCP server', tags, ...answers }
  }, async (request, reply) => {
    return await reply.headers(FORM_HEADERS).send(signInPage(await signIns.open(ticketOf(request), await callerOf(request))))
  })

  // the form has no fields, whatever its type
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_FORM_BYTES }, (_request, _body, done) => { done(null) })
  app.post('/mcp/sign-in', {
    schema: { operationId: 'beginMcpSignIn', summary: 'Form of that page: binds the sign-in to this browser', tags, ...answers }
  }, async (request, reply) => {
    refuseForeign(request)
    const begun = await signIns.begin(ticketOf(request), await callerOf(request))
    const { url, until, cookie: { name, value } } = begun
    const seconds = Math.ceil((until - Date.now()) / 1000)
    reply.header('set-cookie', `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${signIns.addresses.isSecure ? '; Secure' : ''}`)
    return await reply.headers(PAGE_HEADERS).header('refresh', `0; url=${url}`).send(leadingPage(begun))
  })

  app.get('/mcp/sign-in/callback/:server_name', {
    schema: { operationId: 'completeMcpSignIn', summary: 'End of the sign-in at an MCP server', tags, params: InPath, ...answers }
  }, async (request, reply) => {
    const { server_name: path } = request.params as Static<typeof InPath>
    const server = await signIns.complete(request.query as Callback, { path, cookieOf: name => cookieOf(request, name), caller: await callerOf(request) })
    return await reply.headers(PAGE_HEADERS).send(signedInPage(server))
  })

  app.get('/mcp/sign-in/client/:server_name', {
    schema: { operationId: 'getMcpClientMetadata', summary: 'This service as an OAuth client of an MCP server', tags, params: InPath, response: { 200: Metadata } }
  }, async (request, reply) => await sendDocument(reply, signIns.clientDocument((request.params as Static<typeof InPath>).server_name)))

  app.get('/mcp/sign-in/client.json', {
    schema: { operationId: 'getFormerMcpClientMetadata', summary: 'The same, for tokens of earlier versions', tags, response: { 200: Metadata } }
  }, async (_request, reply) => await sendDocument(reply, signIns.formerDocument))
  refuseOthers()

  /** A cookie is set only for the form of the page: not for a page of another site, nor one in a frame of it. */
  function refuseForeign ({ headers: { origin, 'sec-fetch-site': site = 'same-origin' } }: FastifyRequest): void {
    if (origin === undefined || origin !== signIns.addresses.origin || site !== 'same-origin') throw new SignInRefusedError('another page sent the form of its page')
  }

  /** The owner of a request with credentials; undefined for a browser without them. */
  async function callerOf (request: FastifyRequest): Promise<string | undefined> {
    try {
      return (await authenticate?.(request))?.owner
    } catch {
      return undefined
    }
  }
}

/**
 * The Fastify plugin with only the pages of sign-ins, for an application with agents that owners sign in to, and
 * without the routes of MCP servers: the gateway plugin has these pages as well.
 * @example await app.register(signInPlugin, { signIns: gateway.signIns, log: app.log, authenticate })
 */
export const signInPlugin = fp(async (host: FastifyInstance, options: SignInRouteOptions): Promise<void> => {
  describeRoutes(host, true)
  labelRoutes(host, 'mcp')
  await host.register(signInRoutes, options)
}, { name: '@polyvac/mcp-gateway/sign-in', fastify: '5.x', encapsulate: true })

function ticketOf ({ query }: FastifyRequest): unknown {
  return (query as { ticket?: unknown }).ticket
}

function cookieOf ({ headers: { cookie = '' } }: FastifyRequest, name: string): string | undefined {
  return cookie.split(/; */).map(pair => pair.split('=')).find(([known]) => known === name)?.[1]
}

async function sendDocument (reply: FastifyReply, document: object | undefined): Promise<FastifyReply> {
  if (document === undefined) throw new SignInRefusedError('there is no such client')
  return await reply.type('application/json').header('cache-control', 'public, max-age=300').serializer(JSON.stringify).send(document)
}
