import type { Call } from './call.js'
import { rpcErrorOf, spokenError } from './failures.js'
import type { Method } from '../methods/shared.js'
import type { McpContext } from '../context.js'

/** Answers a request. It never rejects: whatever goes wrong is an answer too. */
export async function runCall (server: McpContext, call: Call, method: Method): Promise<void> {
  let place
  try {
    place = server.calls.add(call)
    call.finish(await method(server, call))
  } catch (err) {
    failOrAsk(call, err)
  } finally {
    if (place !== undefined) server.calls.remove(place)
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
