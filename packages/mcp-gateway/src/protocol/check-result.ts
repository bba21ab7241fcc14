import { CODES, isServerRequestMethod, TASKS_EXTENSION } from '@polyvac/mcp-protocol'
import { RpcError } from './json-rpc.js'
import type { CallOptions, ToolResult } from './call-options.js'
import { isRecord } from '@polyvac/core/plugin'

/** Questions in one answer of revision 2026-07-28. */
export const MAX_AT_ONCE = 20

/** Longest state of a server, in characters: whoever holds it sends it back with each answer. */
const MAX_STATE_CHARS = 128 * 1024

/** Longest id of a task, in characters: it is part of another one, which callers repeat in a header. */
const MAX_TASK_ID_CHARS = 2_000

/**
 * Whether a result of revision 2026-07-28 is one that the request can have, and whole (its section on results).
 * @throws RpcError that says what is wrong
 */
export function checkResult (result: ToolResult, { capabilities }: CallOptions): void {
  const { resultType = 'complete' } = result
  if (resultType === 'complete') return
  if (resultType === 'input_required') {
    if (result.inputRequests === undefined && result.requestState === undefined) throw odd('that it needs input, and asks for none')
    return checkQuestions(result)
  }
  const { extensions } = (capabilities ?? {}) as { extensions?: Readonly<Record<string, unknown>> }
  if (resultType !== 'task' || extensions?.[TASKS_EXTENSION] === undefined) throw odd(`with a result of the type ${JSON.stringify(resultType)?.slice(0, 50)}, which was not asked for`)
  const { taskId } = result
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > MAX_TASK_ID_CHARS) throw odd(`with a task whose id is no text of 1 to ${MAX_TASK_ID_CHARS} characters`)
}

/** @throws RpcError that says what is wrong with them */
export function checkQuestions ({ inputRequests, requestState }: ToolResult): void {
  if (requestState !== undefined && (typeof requestState !== 'string' || requestState.length > MAX_STATE_CHARS)) throw odd(`with a state that is no text of at most ${MAX_STATE_CHARS} characters`)
  if (inputRequests === undefined) return
  if (!isRecord(inputRequests)) throw odd('with questions that are no object')
  const questions = Object.entries(inputRequests)
  if (questions.length > MAX_AT_ONCE) throw odd(`with ${questions.length} questions at once, and ${MAX_AT_ONCE} are taken`)
  for (const [key, question] of questions) {
    if (!isRecord(question) || !isServerRequestMethod(question.method) || (question.params !== undefined && !isRecord(question.params))) throw odd(`with a question ${JSON.stringify(key.slice(0, 50))} that clients do not know`)
  }
}

function odd (what: string): RpcError {
  return new RpcError(CODES.internalError, `it answered ${what}`)
}
