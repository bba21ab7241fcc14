import type { OpenCalls } from '@polyvac/core/plugin'
import type { Json } from '../protocol/rpc.js'
import type { Call } from './call.js'
import { protocolError, rpcErrorOf } from './failures.js'

/** Answers a request with the JSON that `work` resolves to. It never rejects: a failure is answered with an error. */
export async function runCall (openCalls: OpenCalls<Call>, call: Call, work: () => Promise<Json>): Promise<void> {
  let node
  try {
    node = openCalls.add(call)
    call.finish(await work())
  } catch (err) {
    failOrAsk(call, err)
  } finally {
    if (node !== undefined) openCalls.remove(node)
  }
}

/** A handler that `ask` ended has not failed. */
function failOrAsk (call: Call, err: unknown): void {
  try {
    if (call.isWaiting && protocolError(err) === undefined) return call.finish('')
    call.fail(rpcErrorOf(err, call))
  } catch (other) {
    call.fail(rpcErrorOf(other, call))
  }
}
