import { createVacs, type ChatTurn, type Interpreter, type Vacs } from '@polyvac/core'
import { createRuns, type OwnRuns } from '@polyvac/runs'
import type { TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin, type ProtocolChoice } from '@polyvac/vac'
import Fastify, { type FastifyInstance } from 'fastify'
import { once } from 'node:events'
import type { Test } from 'tap'

/** What the agent was asked, and what happened to its answers. */
export interface Work {
  readonly asked: Array<{ readonly question: string, readonly history: readonly ChatTurn[], readonly request: Readonly<Record<string, unknown>> }>
  aborted: number
  /** The bodies of the requests that ask. */
  readonly sent: Array<Readonly<Record<string, unknown>>>
}

export interface ResponsesService { readonly app: FastifyInstance, readonly url: string, readonly work: Work, readonly vacs: Vacs, readonly tasks: TaskStore | undefined, readonly runs: OwnRuns | undefined }

export const SOURCES = [
  { page_content: 'A passage.', metadata: { source: 'https://example.org/a.md', title: 'A' } },
  { page_content: 'Another one.', metadata: { source: 'https://example.org/b.md', title: 'B' } }
]

/** Answers by the first word of the question; anything that is not a keyword is repeated, with steps and sources. */
function makeAgent (work: Work): Interpreter {
  return async function * (question, _vac, history, { signal, attempt, request }) {
    work.asked.push({ question, history, request: { ...request as object } })
    const [keyword] = question.split(' ')
    if (keyword === 'wait') signal.addEventListener('abort', () => { work.aborted++ })
    yield { progress: 0.1, message: 'Looks up' }
    yield { reasoning: 'A thought' }
    if (keyword === 'fail') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 422, expose: true })
    if (keyword === 'break') throw new Error('MARKER-SECRET')
    if (keyword === 'ask') return { answer: 'Which one?', input_required: 'Which one?' }
    if (keyword === 'recall') return { answer: history.map(({ role, content }) => `${role}: ${content}`).join(' | ') }
    yield 'You asked: '
    if (keyword === 'late') throw new Error('MARKER-SECRET')
    if (keyword === 'silent') await Promise.race([once(signal, 'abort'), new Promise(resolve => { setTimeout(resolve, 10_000) })])
    if (keyword === 'wait' || (keyword === 'crash' && attempt !== 1)) {
      if (!signal.aborted) await once(signal, 'abort')
      signal.throwIfAborted()
    }
    yield question
    yield ' [1]'
    return { answer: `You asked: ${question} [1]`, source_documents: SOURCES }
  }
}

/** @param runs false for a service that keeps no answers */
export async function makeService (t: Test, { runs: keeps = true, agent = makeAgent, responses = 'responses', takes = [] }: {
  readonly runs?: boolean, readonly agent?: (work: Work) => Interpreter, readonly responses?: ProtocolChoice, readonly takes?: readonly string[]
} = {}): Promise<ResponsesService> {
  const work: Work = { asked: [], aborted: 0, sent: [] }
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: Object.assign(agent(work), { takes }) })
  const app = Fastify({ forceCloseConnections: true })
  app.addHook('preHandler', async ({ method, body, url }) => { if (method === 'POST' && url.endsWith('/responses')) work.sent.push(body as Work['sent'][number]) })
  const tasks = keeps ? sqliteTaskStore({ path: ':memory:' }) : undefined
  await tasks?.open()
  const runs = tasks === undefined ? undefined : createRuns({ vacs, tasks, concurrency: 64 })
  app.addHook('onClose', async () => { await tasks?.close() })
  await app.register(vacPlugin, { vacs, protocols: ['direct', 'openai', responses], ...runs !== undefined && { runs } })
  t.teardown(() => app.close())
  return { app, url: await app.listen({ port: 0, host: '127.0.0.1' }), work, vacs, tasks, runs }
}
