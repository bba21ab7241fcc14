import { FastifyOtelInstrumentation } from '@fastify/otel'
import { createVacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'
import { test } from 'tap'
import { recordSpans, takeSpans } from '../../../test/fixtures/traces.js'

recordSpans()

test('next to @fastify/otel a request has one span of the request, and the call of the VAC is below it', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(new FastifyOtelInstrumentation().plugin())
  await app.register(vacPlugin, { vacs: createVacs({ vacs: ['demo'], streamInterpreter: async function * () { yield 'answer' } }) })
  for (const url of ['/vac/demo', '/vac/streaming/demo/sse']) {
    t.equal((await app.inject({ method: 'POST', url, payload: { user_input: 'hello' } })).statusCode, 200)
    const spans = await takeSpans()
    t.strictSame(spans.filter(({ name }) => /^(?:request|POST)/.test(name)).map(({ name }) => name), ['request'], url)
    const request = spans.find(({ name }) => name === 'request')!
    t.equal(new Set(spans.map(span => span.spanContext().traceId)).size, 1, 'all spans are one trace')
    let above = spans.find(({ name }) => name === 'invoke_agent demo')
    while (above?.parentSpanContext !== undefined) above = spans.find(span => span.spanContext().spanId === above?.parentSpanContext?.spanId)
    t.equal(above, request, 'the call is below the request')
  }
})
