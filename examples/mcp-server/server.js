// An MCP server at /mcp in a Fastify app, and with --stdio on standard input and output.
import { mcpServerPlugin, serveStdio } from '@polyvac/mcp-server'
import Fastify from 'fastify'
import { tools } from './tools.js'

const stdio = process.argv.includes('--stdio')
const app = Fastify({ logger: { stream: process.stderr }, forceCloseConnections: true })

await app.register(mcpServerPlugin, { sources: [tools], name: 'tea-shop', instructions: 'Look up the stock before you order.' })

if (stdio) {
  await app.ready()
  const server = serveStdio(app)
  process.once('SIGTERM', () => server.close())
  await server.done
  await app.close()
} else {
  const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
  process.stdout.write(`listening on ${address}\n`)
  process.once('SIGTERM', () => app.close())
  process.once('SIGINT', () => app.close())
}
