import { openGateway, serversOf, toSettings, type Gateway, type McpServerConfig } from '@polyvac/host/command'
import Fastify from 'fastify'
import { NoServersError } from '../errors.js'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** A command waits as long as a start may take: `npx` may install the server first. */
const READY_WAIT_MS = 60_000

/**
 * Starts the MCP servers of the configuration, calls `work`, and always stops them.
 * @throws NO_MCP_SERVERS
 */
export async function withGateway (args: Arguments, io: CommandIo, work: (gateway: Gateway, signal: AbortSignal) => Promise<void>): Promise<void> {
  const config = await loadConfig(args, io)
  const { log } = Fastify({ logger: { level: args.logLevel ?? 'error', stream: io.stderr } })
  const settings = toSettings({}, config)
  const starts = Object.values(serversOf(settings.switches.mcp_servers)).map(server => ((server as McpServerConfig).start_timeout ?? 0) * 1000)
  const gateway = await openGateway(settings, config.variables, log, { readyWaitMs: Math.max(READY_WAIT_MS, ...starts) })
  if (gateway === undefined) throw new NoServersError(config.file)
  const stop = new AbortController()
  const onInterrupt = (): void => stop.abort(new Error('interrupted'))
  io.once('SIGINT', onInterrupt)
  io.once('SIGTERM', onInterrupt)
  try {
    gateway.start()
    await work(gateway, stop.signal)
  } finally {
    io.off('SIGINT', onInterrupt)
    io.off('SIGTERM', onInterrupt)
    await gateway.close()
  }
}
