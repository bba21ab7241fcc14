import { openGateway, serversOf, toSettings, type Gateway, type McpServerConfig } from '@polyvac/host/command'
import Fastify from 'fastify'
import { NoServersError } from '../errors.js'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'

/** A command waits as long as a start may take: `npx` may install the server first. */
const READY_WAIT_MS = 60_000

/**
 * Starts the MCP servers of the configuration, calls `work`, and always stops them.
 * @throws NO_MCP_SERVERS
 */
export async function withGateway (args: Arguments, work: (gateway: Gateway, signal: AbortSignal) => Promise<void>): Promise<void> {
  const config = await loadConfig(args)
  const { log } = Fastify({ logger: { level: args.logLevel ?? 'error', stream: process.stderr } })
  const settings = toSettings({}, config)
  const starts = Object.values(serversOf(settings.switches.mcp_servers)).map(server => ((server as McpServerConfig).start_timeout ?? 0) * 1000)
  const gateway = await openGateway(settings, config.variables, log, { readyWaitMs: Math.max(READY_WAIT_MS, ...starts) })
  if (gateway === undefined) throw new NoServersError(config.file)
  const stop = new AbortController()
  const onInterrupt = (): void => stop.abort(new Error('interrupted'))
  process.once('SIGINT', onInterrupt)
  process.once('SIGTERM', onInterrupt)
  try {
    gateway.start()
    await work(gateway, stop.signal)
  } finally {
    process.off('SIGINT', onInterrupt)
    process.off('SIGTERM', onInterrupt)
    await gateway.close()
  }
}
