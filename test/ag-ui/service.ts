import { createVacs, type ChatTurn, type Interpreter, type Principal, type Vacs } from '@polyvac/core'
import { createRuns, type OwnRuns } from '@polyvac/runs'
import type { TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin, type ProtocolChoice } from '@polyvac/vac'
import Fastify, { type FastifyInstance } from 'fastify'
import { once } from 'node:events'
import type { Test } from 'tap'

/** What the agent was asked, and what its answers wait for. */
export interface Work {
  readonly asked: Array<{ readonly question: string, readonly history: readonly ChatTurn[], readonly extra: Readonly<Record<string, any>> }>
  aborted: number
  /** Lets the answers that wait go on. */
  open: () => void
  gate: Promise<void>
}

export interface Service { readonly app: FastifyInstance, readonly url: string, readonly work: Work, readonly vacs: Vacs, readonly tasks: TaskStore | undefined, readonly runs: OwnRuns | undefined }

export const SOURCES = [
  { page_content: 'A passage.', metadata: { source: 'https://example.org/a.md', title: 'A' } },
  { page_content: 'Another one.', metadata: { source: 'b.md' } }
]
export const ARTIFACT = { name: 'plan', parts: [{ data: { steps: 2 } }] }
export const FILE = { name: 'a.txt', media_type: 'text/plain', bytes: 'aGk=' }

/** Answers by the first word of the question; anything that is not a keyword is repeated. */
export function makeAgent (work: Work): Interpreter {
  return async function * (question, _vac, history, { signal, ...extra }) {
    work.asked.push({ question, history, extra })
    const [keyword, count] = question.split(' ')
    const waits = async (): Promise<void> => {
      const left = (): void => { work.aborted++ }
      signal.addEventListener('abort', left, { once: true })
      if (!signal.aborted) await Promise.race([work.gate, once(signal, 'abort')])
      signal.throwIfAborted()
      signal.removeEventListener('abort', left)
    }
    if (keyword === 'break') throw new Error('MARKER-SECRET')
    if (keyword === 'refuse') throw Object.assign(new Error('the source is away'), { code: 'SOURCE_AWAY', statusCode: 422, expose: true })
    if (keyword === 'ask') return { input_required: 'Which one?' }
    if (keyword === 'confirm') return { input_required: 'Really?', input_schema: { type: 'boolean' } }
    if (keyword === 'choose') return { answer: 'I have two.', input_required: 'Which one?', choices: ['a', 'b'], input_schema: { type: 'string', enum: ['a', 'b'] } }
    if (keyword === 'sign') return { auth_required: 'Sign in at example.org' }
    if (keyword === 'reject') return { answer: 'Not for me.', rejected: true }
    if (keyword === 'recall') return { answer: history.map(({ role, content }) => `${role}: ${content}`).join(' | ') }
    if (keyword === 'call') return { answer: '', tool_calls: [{ id: 'call_1', name: 'paint', input: { colour: 'red' } }] }
    if (keyword === 'steps') {
      yield { progress: 0.5, message: 'half' }
      yield { reasoning: 'I ' }
      yield { reasoning: 'think.' }
      yield 'First. '
      yield { tool_call: { id: '1', name: 'kettle', server: 'kitchen', input: { cups: 2 } } }
      yield { tool_result: { id: '1', output: { hot: true } } }
      yield { tool_call: { id: 'b', name: 'oven', input: {} } }
      yield { tool_result: { id: 'b', error: { message: 'cold' } } }
      yield { source: SOURCES[0]! }
      yield { data: { type: 'note', value: { a: null } } }
      yield { file: FILE }
      yield 'Then [1].'
      return { answer: 'First. Then [1].', source_documents: SOURCES, artifacts: [ARTIFACT], metadata: { usage: { input_tokens: 3, output_tokens: 4 } } }
    }
    if (keyword === 'many') {
      for (let i = 0; i < Number(count); i++) yield `${i} `
      return undefined
    }
    yield 'You asked: '
    if (keyword === 'late') throw new Error('MARKER-SECRET')
    if (keyword === 'wait') {
      await waits()
      yield `${question}.`
      return undefined
    }
    yield question
    return { answer: `You asked: ${question}`, source_documents: [] }
  }
}

interface Options {
  /** False for a service that keeps no answers. */
  readonly runs?: boolean
  readonly agent?: (work: Work) => Interpreter
  readonly agUi?: ProtocolChoice
  readonly takes?: readonly string[]
  /** Callers by the header x-user. */
  readonly authenticated?: boolean
}

export async function makeService (t: Test, { runs: keeps = true, agent = makeAgent, agUi = 'ag_ui', takes = [], authenticated = false }: Options = {}): Promise<Service> {
  let open!: () => void
  const gate = new Promise<void>(resolve => { open = resolve })
  const work: Work = { asked: [], aborted: 0, open, gate }
  const vacs = createVacs({ vacs: ['docs', 'other'], streamInterpreter: Object.assign(agent(work), { takes }) })
  const app = Fastify({ forceCloseConnections: true })
  const tasks = keeps ? sqliteTaskStore({ path: ':memory:' }) : undefined
  await tasks?.open()
  const runs = tasks === undefined ? undefined : createRuns({ vacs, tasks, concurrency: 64 })
  app.addHook('onClose', async () => { await tasks?.close() })
  const authenticate = async ({ headers }: { headers: Record<string, unknown> }): Promise<Principal> => ({ owner: String(headers['x-user'] ?? 'alice') })
  await app.register(vacPlugin, { vacs, protocols: ['direct', agUi], ...runs !== undefined && { runs }, ...authenticated && { authenticate } })
  t.teardown(() => app.close())
  return { app, url: await app.listen({ port: 0, host: '127.0.0.1' }), work, vacs, tasks, runs }
}
