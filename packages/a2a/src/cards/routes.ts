import { errorHandler, matchesEtag, setRetryAfter, type ExposedVacs } from '@polyvac/core/plugin'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuseOthers } from '../bindings/paths.js'
import type { Cards, CardKind, RenderedCard } from './cards.js'
import { AgentCard, agentCard, type CardFacts } from '../dialects/description/card.js'
import type { PushKeys } from '../push/signing-keys.js'
import { codedFailure } from '../protocol/failure.js'
import { toFailure, toHttpBody } from '../dialects/v1/failures.js'
import { versionOf } from '../protocol/request-headers.js'
import { VersionNotSupportedError } from '../errors.js'

export interface CardRoutesOptions {
  readonly cards: Cards
  /** The VACs that the caller may use. */
  readonly seenBy: (request: FastifyRequest) => Promise<ExposedVacs>
  readonly baseUrl: (request: FastifyRequest) => string
  /** Whether all callers get the same card. A card with the address of its request must not be cached for others. */
  readonly isFixed: boolean
  /** The card for a client that names no version. */
  readonly unnamed: CardKind
  readonly title: () => string
  readonly version: string
  /** The path of an MCP server of the same application; undefined where there is none. */
  readonly mcpPath: string | undefined
}

const KeySet = Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }, { title: 'JsonWebKeySet' })
const Card = Type.Object({}, { additionalProperties: true })

/** Seconds for which clients may cache a card. */
const MAX_AGE_SECONDS = 300

/** Seconds for one that has the address of its request, or that of one caller. No other client may get it. */
const OWN_MAX_AGE_SECONDS = 60

export interface DescriptionCardOptions {
  readonly seenBy: CardRoutesOptions['seenBy']
  readonly baseUrl: (request: FastifyRequest) => string
  readonly agent: Pick<CardFacts, 'name' | 'description' | 'version'>
  /** The keys that sign push notifications; undefined where push is off. */
  readonly keys: PushKeys | undefined
}

/** The agent card of the service description, and the keys that it names. */
export function descriptionCardRoutes (app: FastifyInstance, options: DescriptionCardOptions): void {
  const { seenBy, baseUrl, agent, keys } = options
  const refuseRest = refuseOthers(app)
  const operationId = 'a2aDescriptionCard'
  const schema = { operationId, summary: 'Agent card', tags: ['a2a'], response: { 200: AgentCard } }
  app.get('/.well-known/agent.json', { schema }, async (request, reply) => {
    reply.header('cache-control', 'no-cache').header('vary', 'Authorization')
    const url = baseUrl(request)
    const jwksUrl = keys === undefined ? undefined : `${url}/.well-known/jwks.json`
    return agentCard({ ...agent, vacs: (await seenBy(request)).list(), url, jwksUrl })
  })
  if (keys !== undefined) {
    const summary = 'Keys that sign push notifications'
    const schema = { operationId: 'a2aSigningKeys', summary, tags: ['a2a'], response: { 200: KeySet } }
    app.get('/.well-known/jwks.json', { schema }, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return await keys.publicJwks()
    })
  }
  refuseRest()
}

/** The card of all VACs, that of each, and the catalog of them. */
export async function cardRoutes (app: FastifyInstance, options: CardRoutesOptions): Promise<void> {
  const { cards, seenBy, baseUrl, isFixed, unnamed, title, version, mcpPath } = options
  const cachingFor = ({ headers }: FastifyRequest): string =>
    headers.authorization === undefined && isFixed ? `public, max-age=${MAX_AGE_SECONDS}` : `private, max-age=${OWN_MAX_AGE_SECONDS}`
  app.setErrorHandler(errorHandler((err, request, reply) => {
    const failure = toFailure(codedFailure(err, request))
    setRetryAfter(reply, failure.http)
    reply.code(failure.http).send(toHttpBody(failure))
  }))

  const refuseRest = refuseOthers(app)
  const schemaOf = (operationId: string, summary: string): object =>
    ({ schema: { operationId, summary, tags: ['a2a'], response: { 200: Card } } })
  app.get('/.well-known/agent-card.json', schemaOf('a2aCard', 'Agent card of A2A 1.0 and 0.3, by A2A-Version'),
    async (request, reply) => await send(request, reply))
  app.get('/a2a/vacs/:vac/.well-known/agent-card.json', schemaOf('a2aVacCard', 'Agent card of one VAC'),
    async (request, reply) => await send(request, reply, (request.params as { vac: string }).vac))
  const catalog = schemaOf('a2aCatalog', 'Catalog of all agents here; a draft, its shape may change')
  app.get('/.well-known/ai-catalog.json', catalog, async (request, reply) => {
    const url = baseUrl(request)
    // a request may name a host that is not valid in a URL
    const host = URL.canParse(url) ? new URL(url).host : request.host
    const publisher = publisherOf(host)
    reply.header('cache-control', cachingFor(request)).header('vary', 'Authorization')
    const seen = await seenBy(request)
    return {
      specVersion: '1.0',
      host: { displayName: title(), identifier: host },
      entries: [...seen.list().map(({ name, config }) => ({
        identifier: `urn:air:${publisher}:a2a:${encodeURIComponent(name)}`,
        displayName: config.display_name ?? name,
        ...(config.description === undefined ? {} : { description: config.description }),
        type: 'application/a2a-agent-card+json',
        url: `${url}/a2a/vacs/${encodeURIComponent(name)}/.well-known/agent-card.json`
      })), ...mcpPath === undefined ? [] : [mcpEntry(publisher, title(), version, `${url}${mcpPath}`)]]
    }
  })
  refuseRest()

  async function send (request: FastifyRequest, reply: FastifyReply, vac?: string): Promise<FastifyReply> {
    // first, because caches store error responses, too
    reply.header('vary', 'A2A-Version, Authorization')
    const card = await cards.render(kindOf(request), baseUrl(request), vac, await seenBy(request))
    if (card === undefined) return await reply.code(404).send(vacNotFound(request))
    reply.header('etag', card.etag).header('last-modified', card.modified).header('cache-control', cachingFor(request))
    if (isNotModified(request, card)) return await reply.code(304).send()
    return await reply.type('application/json; charset=utf-8').serializer(asString).send(card.text)
  }

  function kindOf (request: FastifyRequest): CardKind {
    const named = request.headers['a2a-version'] ?? (request.query as Record<string, unknown>)['A2A-Version'] ?? ''
    if (named === '') return unnamed
    const version = versionOf(request)
    if (version === '1.0' || version === '0.3') return version
    throw new VersionNotSupportedError('there is no card of this version; send A2A-Version: 1.0 or 0.3')
  }
}

/** The host of an address as one segment of a URN: without its port, and with the colons of IPv6 encoded. */
function publisherOf (host: string): string {
  return encodeURIComponent(host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1'))
}

/** The MCP server of the same application, with its card: MCP has no route for that. */
function mcpEntry (publisher: string, title: string, version: string, url: string): object {
  const name = /^[A-Za-z0-9._-]+$/.test(title) ? title : 'polyvac'
  return {
    identifier: `urn:air:${publisher}:mcp:${name}`,
    displayName: title,
    type: 'application/mcp-server-card+json',
    data: {
      $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
      name: `${publisher.split('.').reverse().join('.')}/${name}`,
      version,
      description: `The MCP server of ${title}`,
      title,
      remotes: [{ type: 'streamable-http', url }]
    }
  }
}

function asString (text: unknown): string { return text as string }

function vacNotFound ({ id: requestId }: FastifyRequest): object {
  const message = 'no VAC of this name is exposed here; /.well-known/ai-catalog.json lists those that are'
  return toHttpBody({ ...toFailure({ status: 404, code: 'NOT_FOUND', message, requestId }), grpc: 'NOT_FOUND' })
}

/** Whether the caller has this version of the card (RFC 9110, section 13.1). */
function isNotModified ({ headers }: FastifyRequest, { etag, modified }: RenderedCard): boolean {
  const { 'if-none-match': tags, 'if-modified-since': since } = headers
  if (tags !== undefined) return matchesEtag(tags, etag)
  return since !== undefined && Date.parse(modified) <= Date.parse(since)
}
