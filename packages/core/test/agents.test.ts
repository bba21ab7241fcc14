import { test } from 'tap'
import { createVacs, workerInterpreter, type Answer, type Interpreter, type InterpreterExtra, type Step } from '../src/index.js'
import { agentQuestionOf, isRecord, runMemoryOf, withRunMemory, withRunTurn } from '../src/plugin.js'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

type Asking = (question: string, extra: InterpreterExtra) => Promise<Answer | string>

/** VACs whose interpreters are functions of the question and of `extra`. */
function vacsOf (agents: Record<string, Asking>) {
  const of = (asking: Asking): Interpreter => async (question, _vac, _history, extra) => await asking(question, extra)
  return createVacs({
    vacs: Object.fromEntries(Object.keys(agents).map(name => [name, { display_name: `The ${name}` }])),
    parts: Object.fromEntries(Object.entries(agents).map(([name, asking]) => [name, { streamInterpreter: of(asking) }]))
  })
}

test('an interpreter asks another VAC, as a step of its answer, with the caller', async t => {
  const seen: InterpreterExtra[] = []
  const vacs = vacsOf({
    front: async (question, { callAgent, signal }) => {
      const { answer, source_documents: sources } = await callAgent('back', [{ text: question }, { data: { a: 1 } }, { url: 'https://a.example/b', filename: 'b' }], { signal })
      return { answer: `back: ${answer}`, source_documents: sources }
    },
    back: async (question, extra) => {
      seen.push(extra)
      return { answer: question.toUpperCase(), source_documents: [{ page_content: 'p', metadata: {} }] }
    }
  })
  const steps: Step[] = []
  const principal = { owner: 'ada' }
  const answer = await vacs.get('front').ask({ question: 'hi', principal, steps: 'all', onStep: step => steps.push(step) })
  t.strictSame(answer, { answer: 'back: HI', source_documents: [{ page_content: 'p', metadata: {} }] })
  t.match(seen, [{ principal, protocol: 'code', data: [{ a: 1 }], files: [{ url: 'https://a.example/b', filename: 'b' }], conversation: undefined }])
  t.match(steps, [{ tool_call: { name: 'back', input: { message: 'hi' } } }, { tool_result: { state: 'completed', output: { answer: 'HI' } } }])
  const [call, result] = steps as any[]
  t.equal(call.tool_call.id, result.tool_result.id)
})

test('agents that the caller may not use do not exist, in lists and in errors', async t => {
  const list = async (_: string, { listAgents }: InterpreterExtra): Promise<string> => JSON.stringify(await listAgents())
  const vacs = vacsOf({ front: async (name, { callAgent }) => await callAgent(name, 'x').catch((err: { code: string, message: string }) => `${err.code}: ${err.message}`), list, back: async () => 'yes', secret: async () => 'no' })
  const principal = { owner: 'ada', scopes: ['vac:front', 'vac:list', 'vac:back'] }
  const ask = async (question: string, scopes: string[] | undefined = principal.scopes): Promise<string> => (await vacs.get('front').ask({ question, principal: { owner: 'ada', scopes } })).answer
  t.equal(await ask('back'), 'yes')
  t.equal((await ask('secret')).replace('secret', 'zzzzzz'), await ask('zzzzzz'), 'foreign is unknown')
  t.equal(await ask('secret'), 'AGENT_NOT_FOUND: there is no agent "secret" for this caller; there are: front, list, back')
  t.equal(await ask('secret', ['vac:*']), 'no')
  t.match(JSON.parse((await vacs.get('list').ask({ question: 'x', principal })).answer), [{ name: 'front', description: 'The front', remote: false }, { name: 'back' }])
  await t.rejects(vacsOf({ a: async (_, { callAgent }) => await callAgent('b', 'x') }).get('a').ask({ question: 'x' }), { code: 'VAC_INTERPRETER_FAILED' }, 'a mistake of the interpreter')
})

test('agents that ask each other are refused after eight, and so is the hundred-and-first question', async t => {
  let asked = 0
  const vacs = vacsOf({
    a: async (question, { callAgent }) => await callAgent('b', question),
    b: async (question, { callAgent }) => {
      asked++
      return await callAgent('a', question)
    },
    many: async (_, { callAgent }) => {
      for (let i = 0; i < 100; i++) await callAgent('end', 'x')
      return await callAgent('end', 'x')
    },
    end: async () => 'end'
  })
  await t.rejects(vacs.get('a').ask({ question: 'x' }), { code: 'AGENT_LOOP', statusCode: 508, message: /the question has passed 8 agents/ })
  t.equal(asked, 4)
  const message = { metadata: { 'polyvac/hops': 7 } }
  t.equal((await vacs.get('a').ask({ question: 'x', extra: { message } }).catch((err: { code: string }) => err.code)), 'AGENT_LOOP')
  t.equal(asked, 5, 'the agents of other services count')
  for (const hops of [-100, '9', NaN]) t.equal(agentQuestionOf({ message: { metadata: { 'polyvac/hops': hops } } }).hops, 0)
  await t.rejects(vacs.get('many').ask({ question: 'x' }), { code: 'AGENT_CALLS' })
})

test('another attempt gives each question its id again, and finds what its agent kept; equal questions differ', async t => {
  let value: unknown
  const memory = { get value () { return value }, async set (next: unknown) { value = next } }
  const seen: Array<{ call: string | undefined, found: unknown }> = []
  const vacs = vacsOf({
    front: async (_, { callAgent }) => {
      await Promise.all([callAgent('back', 'one'), callAgent('back', 'one'), callAgent('back', 'two')])
      return 'done'
    },
    back: async (question, extra) => {
      const { call, run, hops } = agentQuestionOf(extra)
      t.strictSame([run, hops], ['r1', 1])
      const own = runMemoryOf(extra)!
      seen.push({ call, found: own.value })
      await own.set({ back: question, call })
      return question
    }
  })
  const ask = async (question: string): Promise<unknown> => await vacs.get('front').ask({ question, extra: withRunMemory(withRunTurn({}, { id: 'r1', turn: 0 }), memory) })
  await ask('x')
  const first = seen.splice(0)
  t.equal(new Set(first.map(({ call }) => call)).size, 3)
  t.strictSame(first.map(({ found }) => found), [undefined, undefined, undefined])
  await ask('x')
  t.strictSame(seen.map(({ call, found }) => [call, isRecord(found) && found.call]), first.map(({ call }) => [call, call]))
  seen.length = 0
  await ask('the next turn')
  t.strictSame(seen.filter(({ call }) => first.some(other => other.call === call)), [])
})

test('what a run remembers has a bound, and the latest stays', async t => {
  let value: any
  const memory = { get value () { return value }, async set (next: unknown) { value = next } }
  const vacs = vacsOf({
    front: async (_, { callAgent }) => {
      for (let i = 0; i < 50; i++) await callAgent('back', `${i}`)
      return 'done'
    },
    back: async (question, extra) => {
      await runMemoryOf(extra)!.set({ question, long: 'x'.repeat(1_000) })
      return 'ok'
    }
  })
  await vacs.get('front').ask({ question: 'x', extra: withRunMemory(withRunTurn({}, { id: 'r1', turn: 0 }), memory) })
  const kept = Object.values<any>(value['@calls'])
  t.ok(kept.length > 20 && JSON.stringify(kept).length < 40_000)
  t.equal(kept.at(-1).question, '49')
})

test('the next question in a run is the reply to an agent that asked back', async t => {
  let value: unknown
  const memory = { get value () { return value }, async set (next: unknown) { value = next } }
  const found: unknown[] = []
  const vacs = vacsOf({
    front: async (question, { callAgent }) => await callAgent('back', question),
    back: async (question, extra) => {
      const own = runMemoryOf(extra)!
      found.push(own.value)
      await own.set({ asked: question })
      return question === 'weather' ? { input_required: 'Which city?' } as never : `rain in ${question}`
    }
  })
  const ask = async (question: string): Promise<Answer> => await vacs.get('front').ask({ question, extra: withRunMemory(withRunTurn({}, { id: 'r1', turn: 0 }), memory) })
  t.match(await ask('weather'), { input_required: 'Which city?' })
  t.match(await ask('Bern'), { answer: 'rain in Bern' })
  await ask('Basel')
  t.strictSame(found, [undefined, { asked: 'weather' }, undefined], 'only the reply has what the question had')
  found.length = 0
  await ask('Bern')
  t.strictSame(found, [{ asked: 'Bern' }], 'another attempt at the reply')
})

test('a question needs a text, its signal ends it, and the end of the asking answer too', async t => {
  const signals: AbortSignal[] = []
  const vacs = vacsOf({
    front: async (question, { callAgent }) => {
      if (question === 'no text') return await callAgent('back', [{ data: 1 }]).catch((err: Error) => err.message)
      return await callAgent('back', 'x', question === 'stop' ? { signal: AbortSignal.abort(new Error('enough')) } : {}).catch((err: Error) => err.message)
    },
    back: async (_, { signal }) => {
      signals.push(signal)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      return 'late'
    }
  })
  t.match((await vacs.get('front').ask({ question: 'no text' })).answer, /callAgent needs the question/)
  t.equal((await vacs.get('front').ask({ question: 'stop' })).answer, 'enough')
  await t.rejects(vacs.get('front').ask({ question: 'x', timeoutMs: 50 }), { code: 'VAC_TIMEOUT' })
  t.ok(signals.at(-1)!.aborted)
})

test('an interpreter in a worker thread asks agents too', async t => {
  const folder = t.testdir()
  await writeFile(join(folder, 'front.mjs'), `export async function stream_interpreter (question, vac, history, { callAgent, listAgents }) {
    const [{ name }] = await listAgents()
    const wrong = await callAgent('bakc', 'x').catch(({ code, message }) => code + ' ' + message)
    return { answer: name + ': ' + (await callAgent(name, question)).answer + '; ' + wrong }
  }`)
  const worker = await workerInterpreter('./front.mjs', folder)
  t.teardown(async () => { await worker.close() })
  const vacs = createVacs({ vacs: ['front', 'back'], parts: { front: { streamInterpreter: worker.stream_interpreter }, back: { streamInterpreter: async question => `heard ${question}` } } })
  const steps: Step[] = []
  t.equal((await vacs.get('front').ask({ question: 'hi', steps: 'names', onStep: step => steps.push(step) })).answer, 'back: heard hi; AGENT_NOT_FOUND there is no agent "bakc" for this caller; did you mean "back"?')
  t.match(steps, [{ tool_call: { name: 'back' } }, { tool_result: { state: 'completed' } }])
})

test('agents that ask each other many times are refused after a hundred questions of all together', async t => {
  let asked = 0
  const many = (name: string): Asking => async (question, { callAgent }) => {
    asked++
    const answers = await Promise.allSettled(Array.from({ length: 5 }, (_, i) => callAgent(name, `${question} ${i}`)))
    return String(answers.length)
  }
  await vacsOf({ a: many('b'), b: many('a') }).get('a').ask({ question: 'x' })
  t.equal(asked, 101)
})
