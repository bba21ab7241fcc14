// The agent for compatibility kits, after a build:
//   node test/a2a-agent/agent.mjs [--port 9999] [--grpc-port 10000] [--profile full|plain|v0_3]
// `full` has all features; `plain` has neither streams nor push notifications, and requires an extension. `v0_3` is for
// the kit of 0.3: its card is the one of 0.3, and a message that selects nothing is asked for more, since that kit
// continues and cancels the tasks that it has sent.
import { a2aPlugin } from '@polyvac/a2a'
import { a2aGrpc } from '@polyvac/a2a/grpc'
import { createVacs } from '@polyvac/core'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import Fastify from 'fastify'
import { parseArgs } from 'node:util'
import { steered, steeredBy } from './steered.mjs'

const push = { allow: ['localhost', '127.0.0.1', '::1'] }
const PROFILES = {
  full: { push },
  v0_3: { push, unnamedCard: 'both' },
  plain: { push: false, streaming: false, extensions: [{ uri: 'urn:a2a:tck:required-extension', required: true }] }
}

const { values: { port, 'grpc-port': grpcPort, profile } } = parseArgs({ options: { port: { type: 'string', default: '9999' }, 'grpc-port': { type: 'string' }, profile: { type: 'string', default: 'full' } } })
const options = PROFILES[profile]
if (options === undefined) throw new Error(`no profile is named ${profile}; there are ${Object.keys(PROFILES).join(', ')}`)

const tasks = sqliteTaskStore({ path: ':memory:' })
await tasks.open()
const app = Fastify({ logger: { level: 'warn' }, forceCloseConnections: true })
app.addHook('onClose', () => tasks.close())
await app.register(a2aPlugin, {
  vacs: createVacs({ vacs: { demo: { display_name: 'Steered agent', description: 'Does what the id of a message selects.' } }, streamInterpreter: profile === 'v0_3' ? steeredBy('ask') : steered }),
  tasks,
  rootRpc: true,
  unnamedCard: '1.0',
  publicUrl: `http://localhost:${port}`,
  grpcUrl: grpcPort === undefined ? undefined : `localhost:${grpcPort}`,
  ...options
})
if (grpcPort !== undefined) await a2aGrpc(app, { host: 'localhost', port: Number(grpcPort) })
await app.listen({ port: Number(port), host: 'localhost' })
process.stdout.write(`${profile} agent at http://localhost:${port}\n`)
process.once('SIGTERM', () => app.close())
