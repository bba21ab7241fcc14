import { CODES, isServerRequestMethod, TASKS_EXTENSION } from '@polyvac/mcp-protocol'
import { RpcError } from './json-rpc.js'
import type { CallOptions, ToolResult } from './call-options.js'
import { isRecord } from '@polyvac/core/plugin'

/** Input requests in one result of revision 2026-07-28. */
export const MAX_AT_ONCE = 20

/** Longest `requestState` of a server, in characters: the caller sends it back with each answer. */
const MAX_STATE_CHARS = 128 * 1024

/** Longest id of a task, in characters: it is part of the signed id, which callers repeat in a header. */
const MAX_TASK_ID_CHARS = 2_000

/**
 * Checks that a result of revision 2026-07-28 is complete and of a type that the client declared.
 * @throws RpcError
 */
export function checkResult (result: ToolResult, { capabilities }: CallOptions): void {
  const { resultType = 'complete' } = result
  if (resultType === 'complete') return
  if (resultType === 'input_required') {
    if (result.inputRequests === undefined && result.requestState === undefined) throw unusable('with resultType input_required, but without inputRequests and requestState')
    return checkInputRequests(result)
  }
  const { extensions } = (capabilities ?? {}) as { extensions?: Readonly<Record<string, unknown>> }
  if (resultType !== 'task' || extensions?.[TASKS_EXTENSION] === undefined) throw unusable(`with a result of the type ${JSON.stringify(resultType)?.slice(0, 50)}, which the client did not declare`)
  const { taskId } = result
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > MAX_TASK_ID_CHARS) throw unusable(`with a task whose id is not a string of 1 to ${MAX_TASK_ID_CHARS} characters`)
}

/** @throws RpcError for input requests that are malformed, unknown or too many */
export function checkInputRequests ({ inputRequests, requestState }: ToolResult): void {
  if (requestState !== undefined && (typeof requestState !== 'string' || requestState.length > MAX_STATE_CHARS)) throw unusable(`with a requestState that is not a string of at most ${MAX_STATE_CHARS} characters`)
  if (inputRequests === undefined) return
  if (!isRecord(inputRequests)) throw unusable('with inputRequests that are not an object')
  const requests = Object.entries(inputRequests)
  if (requests.length > MAX_AT_ONCE) throw unusable(`with ${requests.length} input requests at once, and ${MAX_AT_ONCE} are accepted`)
  for (const [key, request] of requests) {
    if (!isRecord(request) || !isServerRequestMethod(request.method) || (request.params !== undefined && !isRecord(request.params))) throw unusable(`with the input request ${JSON.stringify(key.slice(0, 50))}, which is malformed or of a method that clients do not serve`)
  }
}

function unusable (what: string): RpcError {
  return new RpcError(CODES.internalError, `it answered ${what}`)
}
