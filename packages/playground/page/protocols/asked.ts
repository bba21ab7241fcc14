import type { Question as ClientQuestion, RunReference, Update as ClientUpdate } from '@polyvac/client'
import { ANSWER } from '@polyvac/client/a2a'
import { recorder, SIGN_IN, type Named } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { settings, type RouteName } from '../shared/settings.js'
import { attachmentsOf } from './attachments.js'
import type { Question, Update } from './chat-protocol.js'

/** A question for @polyvac/client, whose requests the page keeps. */
export function clientQuestion ({ vac, text, history, conversation, reply, signal, onSent }: Question, route: RouteName, named: Named): ClientQuestion {
  return { base: '', url: settings.value.routes[route]!, vac, text, history, conversation, reply, signal, steps: true, fetch: recorder(named, onSent) }
}

/** The run of an answer. */
export function clientRun (run: string, route: RouteName, named: Named, { vac = '', cursor: after, signal, onSent }: Partial<Question> = {}): RunReference {
  return { base: '', url: settings.value.routes[route]!, vac, run, after, signal, fetch: recorder(named, onSent) }
}

/** The same over A2A. The address is that of the page's settings, as `url` of the client is one without skills. */
export const a2aQuestion = (question: Question, named: Named): ClientQuestion =>
  ({ ...clientQuestion(question, 'a2a', named), url: undefined, fetch: atA2a(named, question.onSent) })

export const a2aRun = (run: string, named: Named, question: Partial<Question> = {}): RunReference =>
  ({ ...clientRun(run, 'a2a', named, question), url: undefined, fetch: atA2a(named, question.onSent) })

function atA2a (named: Named, onSent: Question['onSent']): ReturnType<typeof recorder> {
  const send = recorder(named, onSent)
  return async (_url, init) => await send(settings.value.routes.a2a!, init)
}

/** The updates of @polyvac/client, with files. @throws Error with what a person does about the status 401 */
export async function * shownUpdates (updates: AsyncIterable<ClientUpdate>): AsyncGenerator<Update> {
  // @keyed by the ids of the artifacts of one answer, which the bounds of responses bound
  const files = new Map<unknown, Fields>()
  try {
    for await (const { event, run, ...update } of updates) {
      for (const [index, artifact] of artifactsOf(event).entries()) files.set(artifact.artifactId ?? index, artifact)
      yield { ...update, event, task: run, files: files.size === 0 ? undefined : attachmentsOf([...files.values()]) }
    }
  } catch (err) {
    throw (err as { status?: number }).status === 401 ? new Error(`${(err as Error).message}: ${SIGN_IN}`, { cause: err }) : err
  }
}

/** What is not the text of an answer: of a task or an update of A2A, a direct result, or a result of MCP. */
function artifactsOf ({ artifact, artifacts, metadata }: Fields = {}): Fields[] {
  const found: unknown = artifacts ?? metadata?.artifacts ?? (artifact === undefined ? [] : [artifact])
  return Array.isArray(found) ? (found as Fields[]).filter(one => !ANSWER.test(one?.artifactId)) : []
}
