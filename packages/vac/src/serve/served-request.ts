import { conversationAccess, quoteName, VacNotFoundError, vacRemedy } from '@polyvac/core/plugin'
import type { ExposedVacs } from '@polyvac/core/protocol'
import type { Answer, Vac } from '@polyvac/core'
import type { FastifyRequest } from 'fastify'
import { SourceNotFoundError } from '../errors.js'
import type { CallerConversations, CallerRuns, ChatRequest, Citation, Passage } from '../protocol.js'
import { callerConversations, callerOf, callerRuns } from './caller-runs.js'
import { citationsOf } from './citations.js'
import type { Served } from './served.js'
import { noSuchPath } from './unknown-paths.js'

/** A request as its protocol reads it. */
export class ServedRequest implements ChatRequest {
  readonly #served: Served
  readonly #request: FastifyRequest

  constructor (served: Served, request: FastifyRequest) {
    this.#served = served
    this.#request = request
  }

  get body (): unknown { return this.#request.body }
  get params (): unknown { return this.#request.params }
  get query (): unknown { return this.#request.query }
  get headers (): FastifyRequest['headers'] { return this.#request.headers }
  get vacs (): ExposedVacs { return this.#served.vacsOf(this.#request) }

  get runs (): CallerRuns { return callerRuns(this.#served, this.#request) }

  get keepsRuns (): boolean { return this.#served.runs !== undefined }

  get keepsConversations (): boolean { return this.#served.runs?.conversations !== undefined }

  keeps (id: string | undefined): boolean {
    return this.keepsConversations && (id === undefined || conversationAccess(callerOf(this.#served, this.#request), id) !== 'none')
  }

  get conversations (): CallerConversations { return callerConversations(this.#served, this.#request) }

  /** The request that lists the VACs, with the prefix of the application. */
  get #list (): string {
    const { protocol: { prefix, list = '/vac' } } = this.#served
    const { prefix: whole } = this.#request.server
    return `GET ${whole.endsWith(prefix) ? whole.slice(0, -prefix.length) : whole}${list}`
  }

  // protocols take the functions out of the object; each is made when it is read
  get vac () { return (name: string): Vac => this.#vac(name) }

  get cite () {
    return (vac: Vac, answer: Pick<Answer, 'answer' | 'source_documents'>): readonly Citation[] => {
      const { passages } = this.#served
      return citationsOf(answer, source => passages?.addressOf(this.#request, vac, source))
    }
  }

  get passage () {
    return async (name: string, id: string): Promise<Passage> => {
      const { vacs } = this
      const passage = vacs.has(name) ? await this.#served.passages?.read(vacs.get(name), id) : undefined
      if (passage === undefined) throw new SourceNotFoundError()
      return passage
    }
  }

  #vac (name: string): Vac {
    const { table } = this.#served
    if (name === '') throw noSuchPath(this.#request, [table], (this.#request.routeOptions.url ?? '').split('/:', 1)[0]!)
    const { vacs } = this
    if (!vacs.has(name)) throw new VacNotFoundError(quoteName(name), vacRemedy(name, vacs.list().map(({ name }) => name), this.#list))
    return vacs.get(name)
  }
}
