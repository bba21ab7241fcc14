import type { Vacs } from '@polyvac/core'
import { createHost } from '@polyvac/host/command'
import { loadConfig } from '../load-config.js'
import { ProgressBar } from '../progress-bar.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** The VACs of a configuration; `ready` waits for the documents of one, and resolves also where they cannot be read. */
export interface OpenVacs {
  readonly vacs: Vacs
  ready (vac: string): Promise<void>
}

/** Opens the VACs of the configuration in this process, calls `work`, and always closes them. */
export async function withVacs (args: Arguments, io: CommandIo, work: (open: OpenVacs) => Promise<void>): Promise<void> {
  const config = await loadConfig(args, io)
  // only while nothing else writes to the terminal: the bar would erase a prompt and an answer
  let bar: ProgressBar | undefined
  const app = await createHost({
    config,
    watchDocuments: false,
    // this process serves no callers
    enable_a2a_agent: false,
    enable_mcp_server: false,
    mcp_servers: [],
    server: { logger: { level: args.logLevel ?? 'error', stream: io.stderr } },
    onIndexing: progress => bar?.show(progress)
  })
  const { vacs, assembly } = app.polyvac
  try {
    await work({
      vacs,
      async ready (vac) {
        const shown = bar = new ProgressBar(io.stderr)
        try {
          await Promise.allSettled((assembly.folders.get(vac) ?? []).map(async folder => await folder.ready))
        } finally {
          bar = undefined
          shown.clear()
        }
      }
    })
  } finally {
    await app.close()
  }
}
