import type { Vacs } from '@polyvac/core'
import { createHost } from '@polyvac/host/command'
import { loadConfig } from '../load-config.js'
import { ProgressBar } from '../progress-bar.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** Opens the VACs of the configuration in this process, calls `work`, and always closes them. */
export async function withVacs (args: Arguments, io: CommandIo, work: (vacs: Vacs) => Promise<void>): Promise<void> {
  const config = await loadConfig(args, io)
  const bar = new ProgressBar(io.stderr)
  const app = await createHost({
    config,
    watchDocuments: false,
    // this process serves no callers
    enable_a2a_agent: false,
    enable_mcp_server: false,
    mcp_servers: [],
    server: { logger: { level: args.logLevel ?? 'error', stream: io.stderr } },
    onIndexing: progress => bar.show(progress)
  })
  try {
    await work(app.polyvac.vacs)
  } finally {
    bar.clear()
    await app.close()
  }
}
