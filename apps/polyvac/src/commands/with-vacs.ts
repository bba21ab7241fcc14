import type { Vacs } from '@polyvac/core'
import { createHost } from '@polyvac/host/command'
import { loadConfig } from '../load-config.js'
import { ProgressBar } from '../progress-bar.js'
import type { Arguments } from '../arguments.js'

/** Opens the VACs of the configuration in this process, calls `work`, and always closes them. */
export async function withVacs (args: Arguments, work: (vacs: Vacs) => Promise<void>): Promise<void> {
  const config = await loadConfig(args)
  const bar = new ProgressBar(process.stderr)
  const app = await createHost({
    config,
    watchDocuments: false,
    // this process serves no callers
    enable_a2a_agent: false,
    enable_mcp_server: false,
    mcp_servers: [],
    server: { logger: { level: args.logLevel ?? 'error', stream: process.stderr } },
    onIndexing: progress => bar.show(progress)
  })
  try {
    await work(app.polyvac.vacs)
  } finally {
    bar.clear()
    await app.close()
  }
}
