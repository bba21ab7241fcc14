import { createHost, listen, type HostConfig } from '@polyvac/host/command'
import { environmentOptions } from '../environment.js'
import { HttpClient } from '../client/http-client.js'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** Runs `use` with the service at `url`, or with the one of the configuration, which is started on a free port. */
export async function withService (args: Arguments, io: CommandIo, url: string | undefined, use: (client: HttpClient, config?: HostConfig) => Promise<void>): Promise<void> {
  if (url !== undefined) return await use(new HttpClient(url, args.headers))
  const config = await loadConfig(args, io)
  const app = await createHost({
    config, ...environmentOptions(config, io.env), watchDocuments: false, server: { logger: { level: 'error', stream: io.stderr } }
  })
  try {
    await use(new HttpClient(await listen(app, { host: '127.0.0.1', port: 0 }), args.headers), config)
  } finally {
    await app.close()
  }
}
