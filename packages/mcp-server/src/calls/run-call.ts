import type { OpenCalls } from '@polyvac/core/plugin'
import type { Call } from './call.js'
import { rpcErrorOf, spokenError } from './failures.js'

/** Answers a request with the JSON text that `work` resolves to. It never rejects: a failure is answered with an error. */
export async function runCall (openCalls: OpenCalls<Call>, call: Call, work: () => Promise<string>): Promise<void> {
  let place
  try {
    place = openCalls.add(call)
    call.finish(await work())
  } catch (err) {
    failOrAsk(call, err)
  } finally {
    if (place !== undefined) openCalls.remove(place)
  }
}

/** A handler that its question has ended has not failed. */
function failOrAsk (call: Call, err: unknown): void {
  try {
    if (call.waits && spokenError(err) === undefined) return call.finish('')
    call.fail(rpcErrorOf(err, call))
  } catch (other) {
    call.fail(rpcErrorOf(other, call))
  }
}
