import { ErrorBody, type Principal } from '@polyvac/core'
import { CallRecord, MemorySearchInput, MemorySearchResult, NOT_BLANK, placedMemory, placeOf, searchMemory, type OpenStreams } from '@polyvac/core/plugin'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { NoMemoryError } from './errors.js'
import { VectorName } from './schemas.js'
import type { VacOf } from './unknown-paths.js'

interface SearchOptions {
  readonly vacOf: VacOf
  readonly streams: OpenStreams
  readonly principalOf: (request: FastifyRequest) => Principal | undefined
  readonly timeoutMs: number
  readonly bodyLimit: number
}

/** The input of the memory skill as a query string. */
const SearchQuery = Type.Object({
  q: Type.String({ ...MemorySearchInput.properties.search_query, pattern: NOT_BLANK }),
  limit: MemorySearchInput.properties.limit,
  similarity_threshold: MemorySearchInput.properties.similarity_threshold
})

/** The routes that search the memory of a VAC: the result is that of its memory skill. */
export function addSearchRoutes (host: FastifyInstance, { vacOf, streams, principalOf, timeoutMs, bodyLimit }: SearchOptions): void {
  const app = host.withTypeProvider<TypeBoxTypeProvider>()
  const schema = {
    summary: 'Search the memory of a VAC',
    tags: ['vac'],
    params: VectorName,
    response: { 200: MemorySearchResult, '4xx': ErrorBody, '5xx': ErrorBody }
  }
  app.get('/vac/:vector_name/search', { schema: { ...schema, operationId: 'searchVac', querystring: SearchQuery } },
    async (request, reply) => {
      const { q, ...rest } = request.query
      return await search(request, reply, request.params.vector_name, { search_query: q, ...rest })
    })
  app.post('/vac/:vector_name/search', { bodyLimit, schema: { ...schema, operationId: 'searchVacWithBody', body: MemorySearchInput } },
    (request, reply) => search(request, reply, request.params.vector_name, request.body))

  async function search (request: FastifyRequest, reply: FastifyReply, name: string, input: MemorySearchInput): Promise<MemorySearchResult> {
    const vac = vacOf(request, name)
    if (vac.memory === undefined) throw new NoMemoryError(JSON.stringify(vac.name))
    const record = new CallRecord({ vac: vac.name, protocol: 'direct', skill: 'memory', principal: principalOf(request) }, request.log)
    const { signal, end } = streams.begin(reply)
    try {
      const found = await searchMemory(placedMemory(vac, placeOf(request)), input, { signal, timeoutMs, owner: principalOf(request)?.owner })
      record.outcome = 'completed'
      return found
    } catch (err) {
      throw record.failed(err)
    } finally {
      end()
      record.end('searched')
    }
  }
}
