import { createHost } from '@polyvac/host/command'
import { environmentOptions } from '../environment.js'
import { loadConfig } from '../load-config.js'
import { toPlainLines, toPlainText } from '../terminal.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** `polyvac check`: reports what would prevent a start, without starting: the file, modules, folders, the plugins. */
export async function check (args: Arguments, io: CommandIo): Promise<void> {
  const config = await loadConfig(args, io)
  for (const { text } of config.warnings) io.stdout.write(`${toPlainLines(text)}\n`)
  const server = { logger: { level: 'warn', stream: io.stdout } }
  const app = await createHost({ config, ...environmentOptions(config, io.env), watchDocuments: false, server })
  const parts = [countOf('VAC', app.polyvac.vacs.names), countOf('MCP server', app.polyvac.gateway?.names ?? [])].filter(Boolean)
  await app.close()
  io.stdout.write(`${toPlainText(`${config.file}: good; ${parts.join('; ')}`)}\n`)
}

function countOf (what: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `${names.length} ${what}${names.length === 1 ? '' : 's'}: ${names.join(', ')}`
}
