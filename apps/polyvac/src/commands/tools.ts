import type { ServerItem } from '@polyvac/host/command'
import { withGateway } from './with-gateway.js'
import { toPlainLines } from '../terminal.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** Longest description in one line, in characters. */
const MAX_DESCRIPTION_CHARS = 100

/** `polyvac tools`: lists the tools of all MCP servers, or of one. */
export async function tools (args: Arguments, io: CommandIo): Promise<void> {
  await withGateway(args, io, async gateway => {
    const [server] = args.words
    const listed = server === undefined
      ? await gateway.list('tools')
      : { items: (await gateway.get(server).list('tools')).map(item => ({ server, item })), unavailable: [] }
    if (args.json) io.stdout.write(`${toPlainLines(JSON.stringify(listed.items.map(({ server, item }) => ({ ...item, server })), null, 2))}\n`)
    else io.stdout.write(toPlainLines(lines(listed.items)))
    for (const { name, toolsFingerprint, leftOutTools = [], unknownTools = [] } of gateway.status()) {
      if (toolsFingerprint === undefined) continue
      for (const problem of unknownTools) io.stderr.write(`${toPlainLines(`${name}: ${problem}`)}\n`)
      for (const { tool, problem } of leftOutTools) io.stderr.write(`${toPlainLines(`${name}: ${tool} is left out: ${problem}`)}\n`)
      io.stderr.write(`${toPlainLines(name)}: the fingerprint of its tools is ${toolsFingerprint}\n`)
    }
    for (const { server, error } of listed.unavailable) io.stderr.write(`${toPlainLines(`${server}: ${(error as Error).message}`)}\n`)
    if (listed.unavailable.length > 0) io.exitCode = 1
  })
}

function lines (items: readonly ServerItem[]): string {
  const names = items.map(({ server, item }) => `${server} ${String(item.name)}`)
  const width = Math.min(50, Math.max(0, ...names.map(name => name.length)))
  return items.map(({ item: { description = '' } }, i) => {
    const text = String(description).split('\n')[0]!.trim()
    return `  ${names[i]!.padEnd(width)}  ${text.length > MAX_DESCRIPTION_CHARS ? `${text.slice(0, MAX_DESCRIPTION_CHARS)}…` : text}`.trimEnd()
  }).join('\n') + (items.length === 0 ? '' : '\n')
}
