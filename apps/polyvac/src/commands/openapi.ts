import { createHost, openApiOf } from '@polyvac/host/command'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** `polyvac openapi`: prints the OpenAPI document of the service. */
export async function openapi (args: Arguments, io: CommandIo): Promise<void> {
  const app = await createHost({ config: await loadConfig(args, io), watchDocuments: false, tasks: { store: 'memory' } })
  try {
    await app.ready()
    io.stdout.write(`${JSON.stringify(openApiOf(app), null, 2)}\n`)
  } finally {
    await app.close()
  }
}
