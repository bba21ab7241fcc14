// A shop without agents: its own routes, CORS, security headers and error messages.
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import Fastify from 'fastify'

const orders = new Map([[7, { id: 7, item: 'kettle', state: 'on its way' }]])

export async function buildApp (options) {
  const app = Fastify(options)

  await app.register(cors, { origin: 'https://shop.example' })
  await app.register(helmet)

  app.setErrorHandler((error, request, reply) => {
    reply.code(error.statusCode ?? 500).send({ ok: false, reason: error.message })
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
