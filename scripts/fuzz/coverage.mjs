// The parts of the packages that run, by the precise coverage of V8. It is the feedback of the fuzzer.
import { Session } from 'node:inspector'

const OURS = /\/(?:packages|apps)\/[^/]+\/dist\//

export class Coverage {
  #session = new Session()
  #seen = new Set()

  constructor () {
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  get size () { return this.#seen.size }

  /** What ran since the last call and had not run before, or far more often than before. */
  take () {
    const found = new Set()
    for (const { url, functions } of this.#post('Profiler.takePreciseCoverage').result) {
      if (!OURS.test(url)) continue
      for (const { ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges) {
          const place = `${url} ${startOffset} ${endOffset} ${Math.min(8, Math.floor(Math.log2(count) / 2))}`
          if (count > 0 && !this.#seen.has(place)) found.add(place)
        }
      }
    }
    return found
  }

  add (places) {
    for (const place of places) this.#seen.add(place)
  }

  close () { this.#session.disconnect() }

  /** Calls of a session of the same thread end before they return. */
  #post (method, params) {
    let outcome
    this.#session.post(method, params, (err, result) => { outcome = err === null ? result : err })
    if (outcome instanceof Error) throw outcome
    return outcome
  }
}
