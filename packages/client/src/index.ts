// The public API of @polyvac/client. Each protocol is an object of a subpath as well.
import { a2a, type A2aQuestion, type A2aRun } from './a2a.js'
import { agUi } from './ag-ui.js'
import { aiSdk } from './ai-sdk.js'
import { direct, type DirectQuestion } from './direct.js'
import { mcp } from './mcp.js'
import { openai } from './openai.js'
import { responses, type ResponsesQuestion } from './responses.js'
import type { Question, RunReference, Update } from './types.js'

export { conversations, type Conversation, type ConversationHead, type ConversationPage, type Conversations, type ConversationTurn } from './conversations.js'
export { ServiceError, UnreachableError } from './errors.js'
export type { A2aQuestion, A2aRun, A2aVersion } from './a2a.js'
export type { DirectQuestion } from './direct.js'
export type { ResponsesQuestion } from './responses.js'
export type { Connection, InputRequest, Protocol, Question, RunProtocol, RunReference, Source, Step, Turn, Update } from './types.js'

/** What a question has, by the name of its protocol. */
export interface Questions { direct: DirectQuestion, openai: Question, responses: ResponsesQuestion, ai_sdk: Question, ag_ui: Question, a2a: A2aQuestion, mcp: Question }
export type ProtocolName = keyof Questions
/** What a run is named by, for each protocol whose answers go on without their reader. */
export interface Runs { direct: RunReference, responses: RunReference, ai_sdk: RunReference, ag_ui: RunReference, a2a: A2aRun }

const PROTOCOLS = { direct, openai, responses, ai_sdk: aiSdk, ag_ui: agUi, a2a, mcp }

/**
 * Asks a VAC. The updates end with one that has `done`; leaving the loop closes the connection. A bundle with all
 * protocols is larger than one with `@polyvac/client/direct`.
 * @throws ServiceError with the code and the text of the service; UnreachableError; the reason of the signal
 * @example
 * let text = ''
 * for await (const update of ask('direct', { base: 'http://127.0.0.1:8080', vac: 'docs', text: 'What is a VAC?' })) {
 *   text = update.text ?? text + (update.delta ?? '')
 * }
 */
export function ask<Name extends ProtocolName> (protocol: Name, question: Questions[Name]): AsyncGenerator<Update, void> {
  return PROTOCOLS[protocol].ask(question)
}

/** Reads a run from its beginning, or after the cursor of the last update that the reader has. @throws as `ask` */
export function resume<Name extends keyof Runs> (protocol: Name, run: Runs[Name]): AsyncGenerator<Update, void> {
  return PROTOCOLS[protocol].resume(run)
}

/** Stops a run. Closing its stream does not. @throws ServiceError, also for a run that has ended */
export async function stop<Name extends keyof Runs> (protocol: Name, run: Runs[Name]): Promise<void> {
  await PROTOCOLS[protocol].stop(run)
}
