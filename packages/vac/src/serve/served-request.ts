import { quoteName, VacNotFoundError, vacRemedy } from '@polyvac/core/plugin'
import type { ExposedVacs } from '@polyvac/core/protocol'
import type { Vac } from '@polyvac/core'
import type { FastifyRequest } from 'fastify'
import type { ChatRequest } from '../protocol.js'
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

  // an arrow function: protocols take it out of the object
  readonly vac = (name: string): Vac => {
    const { table, protocol } = this.#served
    const { url = '' } = this.#request.routeOptions
    if (name === '') throw noSuchPath(this.#request, table, url.split('/:', 1)[0]!)
    const { vacs } = this
    if (!vacs.has(name)) throw new VacNotFoundError(quoteName(name), vacRemedy(name, vacs.list().map(({ name }) => name), `GET ${this.#request.server.prefix}${protocol.list ?? '/vac'}`))
    return vacs.get(name)
  }
}
