import { isLargeText, matchesEtag, yieldToEventLoop } from '@polyvac/core/plugin'
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServerItem } from '../servers.js'
import type { ListKind } from '@polyvac/mcp-protocol'
import { listBody } from './bodies.js'

/** Bodies kept: one for each list, of all servers or of one. */
const MAX_KEPT = 200

interface Kept {
  readonly items: readonly ServerItem[]
  readonly text: string
  readonly etag: string
}

/** Serialized lists with their ETag, cached until an entry changes: lists are long and requested often. */
export class ListBodies {
  // @keyed kind of list and server of the configuration | holds: the list as text | whose: the server | bound:
  //   MAX_KEPT, then all leave; a list has at most MAX_LIST_CHARS | share: of no owner: a list that left is made
  //   again | test: packages/mcp-gateway/test/hostile-lists.test.ts: ten thousand tools are listed, and a list
  //   without end or of too many bytes ends with the reason
  readonly #kept = new Map<string, Kept>()

  async send (request: FastifyRequest, reply: FastifyReply, kind: ListKind, of: string, items: readonly ServerItem[]): Promise<FastifyReply> {
    const { text, etag } = await this.#body(kind, `${kind} ${of}`, items)
    reply.header('etag', etag).header('cache-control', 'no-cache')
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').serializer(String).send(text)
  }

  async #body (kind: ListKind, key: string, items: readonly ServerItem[]): Promise<Kept> {
    const known = this.#kept.get(key)
    if (known !== undefined && known.items.length === items.length && known.items.every(({ item, server }, i) => items[i]!.item === item && items[i]!.server === server)) return known
    const text = JSON.stringify(listBody(kind, items))
    if (isLargeText(text)) await yieldToEventLoop()
    const kept = { items, text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear()
    this.#kept.set(key, kept)
    return kept
  }
}
