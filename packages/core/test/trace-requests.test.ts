import Fastify, { type FastifyInstance } from 'fastify'
import { Readable } from 'node:stream'
import { test } from 'tap'
import { traceRequests } from '../src/plugin.js'
import { linesOf, recordSpans, takeSpans } from '../../../test/fixtures/traces.js'

/** An application with a scope inside a scope, each traced, and the hooks that were added. */
async function nested (): Promise<{ app: FastifyInstance, hooks: string[] }> {
  const hooks: string[] = []
  const app = Fastify()
  const traced = async (scope: FastifyInstance): Promise<void> => {
    const { addHook } = scope
    scope.addHook = ((name: string, hook: never) => {
      hooks.push(name)
      return addHook.call(scope, name as never, hook)
    }) as never
    await traceRequests(scope)
  }
  await app.register(async outer => {
    await traced(outer)
    outer.post('/outer', async () => 'x')
    await outer.register(async inner => {
      await traced(inner)
      inner.post('/inner', async () => 'x')
    })
  })
  return { app, hooks }
}

test('without an SDK a scope gets no hooks; with one, a scope has the hooks of the scope around it', async t => {
  const without = await nested()
  t.strictSame(without.hooks, [])
  await without.app.close()
  recordSpans()
  const { app, hooks } = await nested()
  t.teardown(() => app.close())
  t.strictSame(hooks, ['onRequest', 'preValidation'])
  for (const url of ['/outer', '/inner']) {
    await app.inject({ method: 'POST', url, payload: {} })
    t.strictSame(linesOf(await takeSpans()), [`SERVER POST ${url}`])
  }
})

test('the span of a stream that its reader cuts ends with an error, that of one that is read to its end does not', async t => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await traceRequests(app)
  let end = (): void => {}
  app.get('/stream', async (_request, reply) => await reply.send(Readable.from((async function * () {
    yield 'first'
    await new Promise<void>(resolve => { end = resolve })
  })())))
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/stream`
  for (const [leaves, error] of [[false, ''], [true, ' !CLIENT_DISCONNECTED']] as const) {
    const abort = new AbortController()
    const reader = (await fetch(url, { signal: abort.signal })).body!.getReader()
    await reader.read()
    if (leaves) abort.abort()
    else end()
    await reader.read().catch(() => {})
    t.strictSame(linesOf(await takeSpans()), [`SERVER GET /stream${error}`])
  }
})
