// A shop without agents: sign-in, CORS, security headers, rate limits, compression, API description, error messages.
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import underPressure from '@fastify/under-pressure'
import Fastify from 'fastify'

const orders = new Map([[7, { id: 7, item: 'kettle', state: 'on its way' }]])

export async function buildApp ({ requestsPerMinute = 1000, isOverloaded = () => false, ...options } = {}) {
  const app = Fastify(options)

  await app.register(cors, { origin: 'https://shop.example', credentials: true })
  await app.register(helmet)
  await app.register(compress)
  await app.register(swagger, { openapi: { info: { title: 'Shop', version: '1.0.0' } } })
  await app.register(rateLimit, {
    max: requestsPerMinute,
    errorResponseBuilder: (request, { after }) => ({ statusCode: 429, ok: false, reason: `try again in ${after}` })
  })
  await app.register(underPressure, {
    retryAfter: 20,
    healthCheck: async () => !isOverloaded(),
    healthCheckInterval: 100
  })

  // Customers sign in. Partners have keys, which are checked where their routes are registered.
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST' || request.url.startsWith('/partners/')) return
    if (request.headers.cookie !== 'session=7') return reply.code(401).send({ ok: false, reason: 'sign in first' })
  })
  app.setErrorHandler((error, request, reply) => {
    reply.code(error.statusCode ?? 500).send({ ok: false, reason: error.message ?? error.reason })
  })
  app.setNotFoundHandler((request, reply) => {
    reply.code(404).send({ ok: false, reason: `the shop has no ${request.url}` })
  })

  app.get('/orders/:id', {
    schema: { params: { type: 'object', properties: { id: { type: 'integer' } } } }
  }, async (request, reply) => {
    return orders.get(request.params.id) ?? reply.code(404).send({ ok: false, reason: 'no such order' })
  })
  app.post('/orders', {
    schema: {
      body: {
        type: 'object',
        required: ['item'],
        properties: { item: { type: 'string' }, count: { type: 'integer', default: 1 } }
      }
    }
  }, async (request, reply) => reply.code(201).send({ ...request.body, state: 'ordered' }))
  app.get('/broken', async () => { throw new Error('the till is jammed') })

  return app
}
