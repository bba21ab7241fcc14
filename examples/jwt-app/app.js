// An app whose users sign in and get a JWT. Its agent answers over HTTP, A2A and MCP, each user as an owner.
import jwt from '@fastify/jwt'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'

export async function buildApp ({ secret, ...options }) {
  const app = Fastify(options)
  await app.register(jwt, { secret })
  app.setErrorHandler((error, request, reply) => {
    reply.code(error.statusCode ?? 500).send({ ok: false, reason: error.message })
  })
  app.post('/sign-in', async request => ({ token: app.jwt.sign({ sub: request.body.name }, { expiresIn: '1h' }) }))

  const vacs = createVacs({
    vacs: { helpdesk: { display_name: 'Helpdesk', description: 'Answers questions about orders' } },
    streamInterpreter: (question, vac, history, { principal }) => `Hello ${principal.owner}.`
  })

  // Programs of the app: the app's hook refuses, and the app's error handler answers.
  await app.register(async api => {
    api.addHook('onRequest', async request => { await request.jwtVerify() })
    await api.register(vacPlugin, { vacs, protocols: ['direct'], errorHandler: 'app', authenticate: ({ user }) => ({ owner: user.sub }) })
  }, { prefix: '/api' })

  // Agents and MCP clients: no hook around them, because their discovery is public. `authenticate` guards each call.
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  app.addHook('onClose', () => tasks.close())
  await app.register(a2aPlugin, { vacs, tasks, authenticate })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)], authenticate })
  return app
}

/** The user of the token, or undefined, which refuses the request with 401. */
async function authenticate (request) {
  const user = await request.jwtVerify().catch(() => undefined)
  return user && { owner: user.sub }
}
