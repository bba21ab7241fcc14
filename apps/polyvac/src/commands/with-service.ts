import { createHost, listen } from '@polyvac/host/command'
import { environmentOptions } from '../environment.js'
import { HttpClient } from '../client/http-client.js'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'

/** Runs `use` with the running service at `url`, or with the one of the configuration, started on a free port. */
export async function withService (args: Arguments, url: string | undefined, use: (client: HttpClient) => Promise<void>): Promise<void> {
  if (url !== undefined) return await use(new HttpClient(url, args.headers))
  const config = await loadConfig(args)
  const app = await createHost({
    config, ...environmentOptions(config), watchDocuments: false, server: { logger: { level: 'error', stream: process.stderr } }
  })
  try {
    await use(new HttpClient(await listen(app, { host: '127.0.0.1', port: 0 }), args.headers))
  } finally {
    await app.close()
  }
}
