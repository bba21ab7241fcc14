// Two published MCP servers behind plain HTTP: one reads the folder documents/, one keeps notes in memory.jsonl.
import mcpGateway from '@polyvac/mcp-gateway'
import Fastify from 'fastify'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An installed server. `npx -y <package>` would download it at the first start. */
const installed = name => join(createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`), '..', 'dist', 'index.js')
const documents = fileURLToPath(new URL('./documents', import.meta.url))

const app = Fastify({ logger: true })

await app.register(mcpGateway, {
  servers: [
    { name: 'files', command: process.execPath, args: [installed('server-filesystem'), documents], inherit_env: [], allow: ['read_text_file', 'list_directory', 'search_files'] },
    { name: 'memory', command: process.execPath, args: [installed('server-memory')], env: { MEMORY_FILE_PATH: process.env.MEMORY_FILE ?? fileURLToPath(new URL('./memory.jsonl', import.meta.url)) }, timeout: 10 }
  ]
})

const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
process.once('SIGINT', () => app.close())
