import { isRecord } from '@polyvac/core/plugin'
import { UsageError } from '../errors.js'
import { withGateway } from './with-gateway.js'
import { toPlainLines } from '../terminal.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** `polyvac call`: calls a tool. It writes the result to standard output as JSON, and progress to standard error. */
export async function call (args: Arguments, io: CommandIo): Promise<void> {
  const [server, tool, text = '{}'] = args.words
  if (server === undefined || tool === undefined) {
    throw new UsageError('name the server and the tool: polyvac call files list_directory \'{"path":"."}\'')
  }
  const toolArguments = toArguments(text)
  await withGateway(args, io, async (gateway, signal) => {
    const result = await gateway.call(server, tool, toolArguments, {
      signal,
      onProgress ({ progress, total, message }) {
        io.stderr.write(`${toPlainLines(`${progress}${total === undefined ? '' : ` of ${total}`}${message === undefined ? '' : `: ${message}`}`)}\n`)
      }
    })
    io.stdout.write(`${toPlainLines(JSON.stringify(result, null, 2))}\n`)
  })
}

function toArguments (text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (err) {
    throw new UsageError(`the arguments are not JSON (${(err as Error).message}); write them in single quotes: '{"path":"."}'`)
  }
  if (!isRecord(value)) throw new UsageError('the arguments must be a JSON object, such as \'{"path":"."}\'')
  return value
}
