import { createVacs, type Authenticate, type ChatTurn, type Interpreter, type Principal, type Vacs } from '@polyvac/core'
import { createRuns, type OwnRuns } from '@polyvac/runs'
import type { TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { type FastifyInstance } from 'fastify'
import { once } from 'node:events'
import type { Test } from 'tap'
import { until } from '../fixtures/until.js'

/** What the agent was asked, and what happened to its answers. */
export interface Work {
  readonly asked: Array<{ readonly question: string, readonly history: readonly ChatTurn[], readonly extra: Readonly<Record<string, unknown>> }>
  aborted: number
  /** Lets the answers to `hold` go on. */
  release (): void
}

export interface Service {
  readonly app: FastifyInstance
  readonly url: string
  readonly work: Work
  readonly vacs: Vacs
  readonly tasks: TaskStore | undefined
  readonly runs: OwnRuns | undefined
}

export const SOURCES = [
  { page_content: 'A passage.', metadata: { source: 'https://example.org/a.md', title: 'A' } },
  { page_content: 'Another one. '.repeat(400), metadata: { source: 'notes/b.pdf', heading: 'B', page: 2, author: null } }
]

const FORMS: Readonly<Record<string, object>> = {
  plain: {}, choice: { choices: ['red', 'blue'] }, form: { input_schema: { type: 'object', properties: { color: { type: 'string' } } } }, agree: { input_schema: { type: 'boolean' } }
}

/** Answers by the first words of the question; anything that is not a keyword is repeated in pieces. */
function makeAgent (work: Work, released: () => Promise<void>): Interpreter {
  return async function * (question, _vac, history, { signal, attempt, callTool: _callTool, log: _log, callback: _callback, vac: _config, ...extra }) {
    work.asked.push({ question, history, extra })
    const [keyword, form = ''] = question.split(' ')
    if (keyword === 'fail') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 422, expose: true })
    if (keyword === 'recall') return { answer: history.map(({ role, content }) => `${role}: ${content}`).join(' | ') }
    if (keyword === 'ask') return { input_required: 'Which one?', ...FORMS[form] }
    if (keyword === 'sign') return { auth_required: 'Sign in at https://example.org/login' }
    if (keyword === 'reject') return { answer: 'I do not do that.', rejected: true }
    if (keyword === 'many') {
      for (let i = 0; i < Number(form); i++) yield `word${i % 10} `
      return
    }
    if (keyword === 'rich') {
      yield { progress: 0.5, message: 'Looks up' }
      yield { reasoning: 'A ' }
      yield { reasoning: 'thought' }
      yield { tool_call: { id: 'call-1', name: 'search', server: 'files', input: { q: 'x' } } }
      yield { tool_result: { id: 'call-1', output: { hits: 2 }, duration_ms: 5 } }
      yield 'First [1]'
      yield { tool_call: { id: 'call-2', name: 'read', input: {} } }
      yield { tool_result: { id: 'call-2', error: { message: 'no such file' } } }
      yield { tool_call: { id: 'call-3', name: 'forgotten' } }
      yield { tool_result: { id: 'unknown', output: 1 } }
      yield { data: { type: 'chart', value: { bars: [1, 2] } } }
      yield { data: { type: 'none', value: null } }
      yield { file: { name: 'a.txt', media_type: 'text/plain', bytes: 'QQ==' } }
      yield ' and second [2].'
      return {
        answer: 'First [1] and second [2].',
        source_documents: SOURCES,
        metadata: { usage: { prompt_tokens: 3, completion_tokens: 4 }, model: 'm', nothing: null },
        artifacts: [{ name: 'report', parts: [{ url: 'https://example.org/r.pdf', media_type: 'application/pdf', filename: 'r.pdf' }, { data: { rows: 1 } }, { text: 'note' }] }],
        follow_up: ['more?']
      }
    }
    yield 'You '
    yield 'asked: '
    if (keyword === 'late') throw new Error('MARKER-SECRET')
    if (keyword === 'hold' || (keyword === 'crash' && attempt !== 1)) {
      signal.addEventListener('abort', () => { work.aborted++ })
      await Promise.race([released(), once(signal, 'abort')])
      signal.throwIfAborted()
    }
    yield question
    return { answer: `You asked: ${question}`, source_documents: [] }
  }
}

const OWNERS: Readonly<Record<string, Principal>> = { 'Bearer a': { owner: 'a' }, 'Bearer b': { owner: 'b' } }

/**
 * @param runs false for a service that keeps no answers
 * @param agent for other answers
 */
export async function makeService (t: Test, { runs: keeps = true, version, agent, takes = [], isOpen = true, unread_timeout: unread }: {
  readonly runs?: boolean, readonly version?: 5 | 6 | 7, readonly agent?: Interpreter, readonly takes?: readonly string[], readonly isOpen?: boolean, readonly unread_timeout?: number
} = {}): Promise<Service> {
  const waiting: Array<() => void> = []
  const work: Work = { asked: [], aborted: 0, release: () => { for (const go of waiting.splice(0)) go() } }
  const streamInterpreter = agent ?? makeAgent(work, async () => { await new Promise<void>(resolve => { waiting.push(resolve) }) })
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: Object.assign(streamInterpreter, { takes }) })
  const app = Fastify({ forceCloseConnections: true })
  const tasks = keeps ? sqliteTaskStore({ path: ':memory:' }) : undefined
  await tasks?.open()
  const runs = tasks === undefined ? undefined : createRuns({ vacs, tasks, concurrency: 64 })
  app.addHook('onClose', async () => { await tasks?.close() })
  const authenticate: Authenticate | undefined = isOpen ? undefined : ({ headers }) => OWNERS[String(headers.authorization)]
  await app.register(vacPlugin, {
    vacs,
    protocols: ['direct', ['ai_sdk', { ...version !== undefined && { version }, ...unread !== undefined && { unread_timeout: unread } }]],
    ...runs !== undefined && { runs },
    ...authenticate !== undefined && { authenticate }
  })
  t.teardown(() => app.close())
  return { app, url: await app.listen({ port: 0, host: '127.0.0.1' }), work, vacs, tasks, runs }
}

/** Waits until it is noted that a reader has got the end of an answer, which is after the reader has it. */
export async function untilRead (url: string, id: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${url}/ai/docs/${encodeURIComponent(id)}/stream`)
    await response.body?.cancel()
    return response.status === 204
  }, 'the end has been read')
}
