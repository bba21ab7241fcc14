import {
  isResponseTo, missingCapabilities,
  type ClientCapabilities, type InputRequests, type InputResponses, type ServerRequest
} from '@polyvac/mcp-protocol'
import { CannotAskError } from '../errors.js'

/** Thrown into a handler that runs again once its caller has answered. */
export class InputRequired extends Error {}

/**
 * The answers to all questions. An answer of the wrong form counts as none.
 * @param wait gets the questions without an answer before this throws: a handler may catch the error
 * @throws InputRequired if an answer is missing
 */
export function askAgain<K extends string> (
  questions: InputRequests<K>, answers: Readonly<Record<string, unknown>>, wait: (open: InputRequests) => void
): InputResponses<K> {
  const asked = Object.entries(questions) as Array<[K, ServerRequest]>
  const open = asked.filter(([key, question]) => !isResponseTo(question, answers[key]))
  if (open.length === 0) return Object.fromEntries(asked.map(([key]) => [key, answers[key]])) as InputResponses<K>
  wait(Object.fromEntries(open))
  throw new InputRequired(`the caller has to answer ${open.map(([key]) => key).join(', ')} first`)
}

/** @throws MCP_CANNOT_ASK for a question whose capability the client did not declare */
export function checkDeclared (questions: readonly ServerRequest[], capabilities: ClientCapabilities): void {
  const missing = questions.find(question => missingCapabilities(question, capabilities) !== undefined)
  if (missing !== undefined) throw new CannotAskError(missing.method, 'it did not declare the capability')
}
