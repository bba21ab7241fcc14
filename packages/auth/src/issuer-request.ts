import { IssuerGuard, type Resolve } from '@polyvac/core/plugin'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'

/** Longest metadata or key set in bytes. */
export const MAX_ISSUER_BYTES = 256 * 1024
/** Longest time in ms for one of these requests. */
export const MAX_ISSUER_MS = 5_000

/** Reads JSON of an issuer. It follows no redirect. */
export class IssuerRequests {
  readonly #guard: IssuerGuard

  /** @param named the URLs of the configuration: that of the issuer first */
  constructor (named: readonly URL[], resolve?: Resolve) {
    this.#guard = new IssuerGuard(named, 'keys are not read from', resolve)
  }

  /** Rejects without a request where the URL is refused. */
  async readJson (address: string): Promise<unknown> {
    const url = new URL(address)
    this.#guard.check(url)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    return await new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(MAX_ISSUER_MS)
      const call = request(url, { lookup: this.#guard.lookup, agent: false, signal, headers: { accept: 'application/json' } }, response => {
        // @keyed none: a list in order, of one answer of an issuer; MAX_ISSUER_BYTES
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('error', reject)
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > MAX_ISSUER_BYTES) call.destroy(new Error(`${url.origin} answered with more than ${MAX_ISSUER_BYTES} bytes`))
          else chunks.push(chunk)
        })
        response.on('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`${url.href} answered with status ${response.statusCode}`))
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
          } catch {
            reject(new Error(`${url.href} did not answer with JSON`))
          }
        })
      })
      call.on('error', reject)
      call.end()
    })
  }
}
