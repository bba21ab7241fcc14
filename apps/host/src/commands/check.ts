import { createHost } from '../create-host.js'
import { loadConfig } from '../load-config.js'
import type { Arguments } from '../arguments.js'

/** `polyvac check`: reports what would prevent a start, without starting: the file, modules, folders, the plugins. */
export async function check (args: Arguments): Promise<void> {
  const config = await loadConfig(args)
  for (const { text } of config.warnings) process.stdout.write(`${text}\n`)
  const server = { logger: { level: 'warn', stream: process.stdout } }
  const app = await createHost({ config, watchDocuments: false, server })
  await app.close()
  const names = Object.keys(config.vac)
  process.stdout.write(`${config.file}: good; ${names.length} VAC${names.length === 1 ? '' : 's'}: ${names.join(', ')}\n`)
}
