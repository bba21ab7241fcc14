import { within } from '@polyvac/core/plugin'
import { createHost } from '@polyvac/host/command'
import { environmentOptions } from '../environment.js'
import { loadConfig } from '../load-config.js'
import { toPlainLines, toPlainText } from '../terminal.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** Longest wait for the documents of all folders, in ms. */
const INDEX_PATIENCE_MS = 60_000

/**
 * `polyvac check`: reports what would prevent a start, without starting: the file, modules, folders, the plugins. It
 * starts no MCP server: a start may have effects, or download a package.
 */
export async function check (args: Arguments, io: CommandIo): Promise<void> {
  const config = await loadConfig(args, io)
  for (const { text } of config.warnings) io.stdout.write(`${toPlainLines(text)}\n`)
  const server = { logger: { level: 'warn', stream: io.stdout } }
  const app = await createHost({ config, ...environmentOptions(config, io.env), watchDocuments: false, server })
  // the log has the line of each folder whose files are read in time
  const folders = [...app.polyvac.assembly.folders.values()].flat()
  await within(Promise.allSettled(folders.map(async folder => await folder.ready)), INDEX_PATIENCE_MS)
  const servers = app.polyvac.gateway?.names ?? []
  const parts = [countOf('VAC', app.polyvac.vacs.names), countOf('MCP server', servers)].filter(Boolean)
  await app.close()
  io.stdout.write(`${toPlainText(`${config.file}: good; ${parts.join('; ')}`)}\n`)
  if (servers.length > 0) io.stdout.write('MCP servers are not started by this command: `polyvac tools` starts them, and lists their tools or names what fails\n')
}

function countOf (what: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `${names.length} ${what}${names.length === 1 ? '' : 's'}: ${names.join(', ')}`
}
