// An app with its own login. Its users talk to an agent, and find their conversations again on every device.
import jwt from '@fastify/jwt'
import files from '@fastify/static'
import { createVacs } from '@polyvac/core'
import { createRuns } from '@polyvac/runs'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'
import { agent } from './agent.js'

/** @param path the database; @param page the folder of the built page */
export async function buildApp ({ secret, path, page, ...options }) {
  const app = Fastify(options)
  await app.register(jwt, { secret })
  // a real app compares a password here
  app.post('/login', async request => ({ token: app.jwt.sign({ sub: request.body.name }, { expiresIn: '1d' }) }))

  const tasks = sqliteTaskStore({ path })
  await tasks.open()
  app.addHook('onClose', () => tasks.close())
  const vacs = createVacs({ vacs: { helpdesk: { display_name: 'Helpdesk' } }, streamInterpreter: agent })

  /** The user of the token, or undefined, which refuses the request with 401. */
  async function authenticate (request) {
    const user = await request.jwtVerify().catch(() => undefined)
    return user && { owner: user.sub }
  }

  // `direct` has the conversations, `ai_sdk` is what useChat speaks: version 6 and later know approvals
  await app.register(vacPlugin, {
    vacs, authenticate, runs: createRuns({ vacs, tasks, authenticate }), protocols: ['direct', ['ai_sdk', { version: 6 }]]
  })
  if (page !== undefined) await app.register(files, { root: page })
  return app
}
