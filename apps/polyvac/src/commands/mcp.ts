import { createHost, loadPlugin, type McpServerModule } from '@polyvac/host/command'
import { Writable } from 'node:stream'
import { McpServerMissingError } from '../errors.js'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/**
 * `polyvac mcp`: the MCP server over standard input and output, until the input ends, or SIGTERM or SIGINT. It does not
 * listen, and does not use the task file of a running service.
 * @throws MCP_SERVER_MISSING
 */
export async function mcp (args: Arguments, io: CommandIo): Promise<void> {
  const output = ownOutput()
  const config = await loadConfig(args, io)
  // the caller is the user of this process
  const { auth, ...service } = config.service
  const module = await loadPlugin('@polyvac/mcp-server') as McpServerModule | undefined
  if (module === undefined) throw new McpServerMissingError()
  const app = await createHost({
    config: { ...config, service },
    enable_mcp_server: true,
    enable_a2a_agent: false,
    tasks: { store: 'memory' },
    server: { logger: { level: args.logLevel ?? 'warn', stream: io.stderr } }
  })
  try {
    await app.ready()
    const server = module.serveStdio(app, { output })
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => { server.close() })
    await server.done
  } finally {
    await app.close()
  }
  // an open standard input would keep the process alive
  process.stdin.destroy()
}

/** Reserves standard output for the protocol: what modules print goes to standard error; clients would parse it. */
function ownOutput (): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  const output = new Writable({ write: (chunk: Buffer, _encoding, done) => { write(chunk, done) } })
  // the client has disconnected
  stdout.on('error', err => { output.destroy(err) })
  return output
}
