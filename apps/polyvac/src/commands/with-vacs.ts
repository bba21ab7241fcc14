import type { Vacs } from '@polyvac/core'
import { within } from '@polyvac/core/plugin'
import { createHost } from '@polyvac/host/command'
import { loadConfig } from '../load-config.js'
import { ProgressBar } from '../progress-bar.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** Passages of a folder whose vectors are waited for, and the longest wait in ms: a model takes 100 ms for one. */
const SMALL_FOLDER = 200
const EMBED_PATIENCE_MS = 60_000

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
          const folders = assembly.folders.get(vac) ?? []
          await Promise.allSettled(folders.map(async folder => await folder.ready))
          const small = folders.filter(folder => folder.stats().passages <= SMALL_FOLDER)
          await within(Promise.allSettled(small.map(async folder => await folder.embedded())), EMBED_PATIENCE_MS)
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
