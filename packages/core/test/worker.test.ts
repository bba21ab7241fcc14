import { test } from 'tap'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { createVacs, loadInterpreters, workerInterpreter, type ToolCallResult } from '../src/index.js'

const tools = {
  callTool: async (server: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<ToolCallResult> =>
    ({ content: [{ type: 'text', text: `${tool} of ${server} saw ${String(args.question)}` }] }),
  listTools: async () => [{ server: 'server', name: 'tool', description: '', inputSchema: { type: 'object' } }]
}
const folder = fileURLToPath(new URL('fixtures', import.meta.url))

test('a blocking interpreter module runs in a thread', async t => {
  const worker = await workerInterpreter('./blocking.mjs', folder, { maxThreads: 2 })
  t.teardown(() => worker.close())
  const logged: unknown[] = []
  const log = { debug () {}, info: (obj: object, message?: string) => { logged.push([obj, message]) }, warn () {}, error () {} }
  const vac = createVacs({
    vacs: { docs: { model: 'm' } }, streamInterpreter: worker.stream_interpreter, ...tools
  }).get('docs')

  t.match(await vac.ask({ question: 'where', history: [{ role: 'user', content: 'h' }], extra: { fields: { a: 1 } }, protocol: 'direct' }),
    { answer: 'false', vectorName: 'docs', history: [{ role: 'user', content: 'h' }], fields: { a: 1 }, model: 'm', protocol: 'direct' })

  await t.test('its chunks are sent while it is busy, and the event loop is not blocked', async t => {
    let ticks = 0
    const timer = setInterval(() => { ticks++ }, 5)
    const arrivals: number[] = []
    for await (const chunk of vac.stream({ question: 'block', extra: { block_ms: 200 } })) if (typeof chunk === 'string') arrivals.push(ticks)
    clearInterval(timer)
    t.ok(arrivals.length >= 5, `${arrivals.length} chunks`)
    t.ok(new Set(arrivals).size > 3, 'they arrived at different times')
  })

  await t.test('an abort ends the thread, and the next call gets a new one', async t => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 30)
    await t.rejects(vac.ask({ question: 'block', extra: { block_ms: 60_000 }, signal: controller.signal }), { message: 'enough' })
    t.match(await vac.ask({ question: 'where' }), { answer: 'false' })
  })

  await t.test('a slow reader slows the thread down', async t => {
    const chunks = vac.stream({ question: 'flood' })[Symbol.asyncIterator]()
    await chunks.next()
    await delay(100)
    const before = process.memoryUsage().external + process.memoryUsage().heapUsed
    await delay(200)
    t.ok(process.memoryUsage().external + process.memoryUsage().heapUsed - before < 5e6)
    let text = 0
    for (;;) {
      const { value, done } = await chunks.next()
      if (done === true) break
      if (typeof value === 'string') text += value.length
    }
    t.equal(text + 100, 100_000 * 100, 'and nothing is lost')
  })

  await t.test('its errors have the same codes as on the main thread', async t => {
    await t.rejects(vac.ask({ question: 'fail' }), { code: 'VAC_INTERPRETER_FAILED', cause: { message: 'failed inside the thread' } })
    await t.rejects(vac.ask({ question: 'refuse' }), { code: 'TOO_MANY', statusCode: 429, message: 'too many' })
    await t.rejects(vac.ask({ question: 'circular' }), { code: 'VAC_INTERPRETER_FAILED', cause: { message: 'its own cause' } })
    await t.rejects(vac.ask({ question: 'number' }), { code: 'VAC_INVALID_RESULT' })
    await t.rejects(vac.ask({ question: 'exit' }), { code: 'VAC_INTERPRETER_FAILED' })
    t.match(await vac.ask({ question: 'where' }), { answer: 'false' }, 'other calls are unaffected')
  })

  await t.test('a tool that needs a sign-in of the caller asks for it, as on the main thread', async t => {
    const signIn = { server: 'mail', url: 'https://agents.example/mcp/sign-in' }
    const callTool = async (): Promise<never> => { throw Object.assign(new Error('mail needs a sign-in'), { code: 'MCP_SIGN_IN_REQUIRED', signIn }) }
    const asking = createVacs({
      vacs: ['docs'], streamInterpreter: worker.stream_interpreter, vacInterpreter: worker.vac_interpreter, ...tools, callTool
    }).get('docs')
    t.match(await asking.ask({ question: 'hello' }), { auth_required: 'mail needs a sign-in', sign_in: signIn })
  })

  await t.test('it can use the log and the tools of the main thread', async t => {
    const once = createVacs({
      vacs: ['docs'], streamInterpreter: worker.stream_interpreter, vacInterpreter: worker.vac_interpreter, ...tools
    }).get('docs')
    t.match(await once.ask({ question: 'hello', log }), { answer: 'tool of server saw hello' })
    t.strictSame(logged, [[{ question: 'hello' }, 'asked']])
  })
})

test('calls beyond the threads and the queue are refused', async t => {
  const worker = await workerInterpreter('./blocking.mjs', folder, { maxThreads: 1, maxQueue: 1 })
  t.teardown(() => worker.close())
  const vac = createVacs({ vacs: ['docs'], streamInterpreter: worker.stream_interpreter }).get('docs')
  const calls = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => vac.ask({ question: 'block', extra: { block_ms: 50 } })))
  const refused = calls.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 4, 'one runs, one waits, the rest is refused')
  for (const call of refused) t.match(call, { reason: { code: 'VAC_BUSY', statusCode: 503 } })
})

test('a module that cannot be used is reported with the reason', async t => {
  for (const load of [loadInterpreters, workerInterpreter]) {
    await t.rejects(load('./missing.mjs', folder), { code: 'INTERPRETER_MODULE', message: /missing\.mjs.*there is no file/ })
    await t.rejects(load('./empty.mjs', folder), { code: 'INTERPRETER_MODULE', message: /exports other; export a function named stream_interpreter/ })
    await t.rejects(load('./broken.mjs', folder), { code: 'INTERPRETER_MODULE', message: /loading it failed/ })
    await t.rejects(load('no-such-package/x', folder), { code: 'INTERPRETER_MODULE', message: /no-such-package/ })
  }
})
