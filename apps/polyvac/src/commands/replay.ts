import { resolve } from 'node:path'
import { UsageError } from '../errors.js'
import { replaySession, type ReplayResult } from '../replay/send-exchange.js'
import { readSession } from '../replay/session-file.js'
import { toPlainText } from '../terminal.js'
import { withService } from './with-service.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/**
 * `polyvac replay`: sends the requests of a session that the playground exported again, to the service of `--url` or
 * to the one of the configuration, and compares the answers. The exit code is 1 if one is different.
 */
export async function replay (args: Arguments, io: CommandIo): Promise<void> {
  const [file] = args.words
  if (file === undefined) throw new UsageError('name the file of a session, for example: polyvac replay session.jsonl --url http://127.0.0.1:8080')
  const session = await readSession(resolve(io.cwd(), file))
  await withService(args, io, args.url, async client => {
    const counts = { same: 0, different: 0, skipped: 0 }
    for await (const result of replaySession(client, session, args.all)) {
      counts[result.result]++
      io.stdout.write(args.json ? `${JSON.stringify(result)}\n` : toLines(result))
    }
    if (!args.json) io.stdout.write(`${counts.same} same, ${counts.different} different, ${counts.skipped} skipped\n`)
    if (counts.different > 0) io.exitCode = 1
  })
}

function toLines ({ line, label, result, reason, differences = [] }: ReplayResult): string {
  const lines = differences.flatMap(({ what, recorded, now }) => [`  ${what}`, `  - ${recorded}`, `  + ${now}`])
  return [`${result.padEnd(9)}  line ${line}: ${label}${reason === undefined ? '' : `; ${reason}`}`, ...lines].map(text => `${toPlainText(text)}\n`).join('')
}
