import { createHost } from '@polyvac/host'
import { fileURLToPath } from 'node:url'

/** An MCP server with tasks for the service, which itself serves one VAC to everyone. */
export async function startFar (): Promise<{ readonly url: string, close (): Promise<void> }> {
  const app = await createHost({
    vacs: ['deep'], stream_interpreter: fileURLToPath(new URL('./files/interpreter.mjs', import.meta.url)), enable_mcp_server: true, tasks: { store: 'memory' }
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url: `${url}/mcp`, close: async () => { await app.close() } }
}
