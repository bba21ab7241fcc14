import type { FastifyRequest } from 'fastify'
import type { Vac, VacCall } from '../vac/vac.js'

/** What bounds the calls of one caller. The application sets it. */
export interface CallerBound {
  /** Counts one more call in the rate of the caller. @throws the refusal */
  count (): void
  /** Takes one of the places that the caller may have at once. @throws the refusal */
  take (): void
  /** Gives it back. */
  leave (): void
}

/**
 * The slot of a call among those that its owner, and its address, may have at once. Whatever works for the call holds
 * it: the response, the handler, and the interpreter, which may go on long after its caller has disconnected.
 */
export class CallPlace {
  readonly #bounds: CallerBound[]
  #holders = 0
  #hasCall = false

  constructor (bounds: CallerBound[] = []) {
    this.#bounds = bounds
  }

  /** Adds a bound, such as that of the owner once it is known. @throws its refusal */
  add (bound: CallerBound): void {
    if (this.#holders > 0) bound.take()
    this.#bounds.push(bound)
  }

  /** Call `release` when the work is over. @throws the refusal of a bound, where nothing held the place any more */
  hold (): void {
    if (this.#holders === 0) this.#take()
    this.#holders++
  }

  release (): void {
    if (--this.#holders === 0) for (const bound of this.#bounds) bound.leave()
  }

  /**
   * The slot of the next call of a request, held: its own for the first one, and another one for each further one.
   * @param isCounted whether a further call counts in the rate of its caller
   * @throws the refusal of a bound
   */
  next (isCounted: boolean): CallPlace {
    const isFirst = !this.#hasCall
    this.#hasCall = true
    if (!isFirst && isCounted) for (const bound of this.#bounds) bound.count()
    const place = isFirst ? this : new CallPlace(this.#bounds)
    place.hold()
    return place
  }

  /** Holds it until a promise settles, also where its caller waits no more. */
  async during<T> (work: () => Promise<T>): Promise<T> {
    this.hold()
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  #take (): void {
    let taken = 0
    try {
      for (const bound of this.#bounds) {
        bound.take()
        taken++
      }
    } catch (err) {
      for (const bound of this.#bounds.slice(0, taken)) bound.leave()
      throw err
    }
  }
}

/** A call of a VAC that holds a place until its interpreter has ended. */
export interface PlacedCall extends VacCall {
  readonly place?: CallPlace | undefined
  /** Whether a stream has only text that was streamed, and not that of an answer at its end. */
  readonly streamedOnly?: boolean | undefined
  /** Whether another run, of the main thread, calls the tools and has their steps. */
  readonly hasRemoteTools?: boolean | undefined
}

// @keyed none: the keys are requests in progress, and an entry ends with its request
const places = new WeakMap<FastifyRequest, CallPlace>()

/** The slot of a request; undefined where its caller has no bounds. */
export function placeOf (request: FastifyRequest): CallPlace | undefined {
  return places.get(request)
}

export function setPlace (request: FastifyRequest, place: CallPlace): void {
  places.set(request, place)
}

/** The same VAC, whose searches hold a place until its memory has ended them. */
export function placedMemory (vac: Vac, place: CallPlace | undefined): Vac {
  const { memory } = vac
  if (place === undefined || memory === undefined) return vac
  return { ...vac, memory: { search: async query => await place.during(async () => await memory.search(query)) } }
}
