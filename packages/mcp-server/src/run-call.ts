import type { Call } from './call.js'
import { rpcErrorOf } from './failures.js'
import type { Method } from './methods/shared.js'
import type { Server } from './server.js'

/** Answers a request. It never rejects: whatever goes wrong is an answer too. */
export async function runCall (server: Server, call: Call, method: Method): Promise<void> {
  try {
    server.calls.add(call)
    call.finish(await method(server, call))
  } catch (err) {
    if (call.waits) call.finish('')
    else call.fail(rpcErrorOf(err, call))
  } finally {
    server.calls.delete(call)
  }
}
