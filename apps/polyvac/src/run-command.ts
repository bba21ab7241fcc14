import { VERSION } from '@polyvac/core/basics'
import { readArguments, type Arguments } from './arguments.js'
import { helpOf } from './help.js'
import { toPlainLines } from './terminal.js'
import type { Command } from './commands.js'
import type { CommandIo } from './command-io.js'

/** Loaded lazily, so that `--help` does not load the server. */
const commands: Record<Command, () => Promise<(args: Arguments, io: CommandIo) => Promise<void>>> = {
  start: async () => (await import('./commands/start.js')).start,
  mcp: async () => (await import('./commands/mcp.js')).mcp,
  check: async () => (await import('./commands/check.js')).check,
  ask: async () => (await import('./commands/ask.js')).ask,
  chat: async () => (await import('./commands/chat.js')).chat,
  doctor: async () => (await import('./commands/doctor.js')).doctor,
  replay: async () => (await import('./commands/replay.js')).replay,
  eval: async () => (await import('./commands/eval.js')).evaluation,
  init: async () => (await import('./commands/init.js')).init,
  tools: async () => (await import('./commands/tools.js')).tools,
  call: async () => (await import('./commands/call.js')).call,
  migrate: async () => (await import('./commands/migrate.js')).migrate,
  token: async () => (await import('./commands/token.js')).token,
  openapi: async () => (await import('./commands/openapi.js')).openapi
}

/** Commands that go on until they are stopped. */
const SERVING: ReadonlySet<string> = new Set<Command>(['start', 'mcp'])

/**
 * Runs `polyvac` with these arguments: it writes to the streams of `io`, errors included, and sets its exit code.
 * @returns whether the command goes on, as a service does until it is stopped
 */
export async function runCommand (argv: readonly string[], io: CommandIo): Promise<boolean> {
  try {
    const args = readArguments(argv, io.env, io.cwd())
    const isServing = SERVING.has(args.command)
    if (!isServing) endWithReader(io)
    if (args.command === 'help') io.stdout.write(helpOf(args.topic))
    else if (args.command === 'version') io.stdout.write(`${VERSION}\n`)
    else await (await commands[args.command]())(args, io)
    return isServing
  } catch (err) {
    // coded errors have texts for people; any other is a bug, which needs the stack
    const { code, message, stack } = err as NodeJS.ErrnoException
    io.stderr.write(`${toPlainLines(code === undefined ? stack ?? String(err) : `polyvac: ${message}`)}${code === 'USAGE' ? `; see \`${helpFor(argv)}\`` : ''}\n`)
    io.exitCode = code === 'USAGE' ? 2 : 1
    return false
  }
}

/** The command that prints what these arguments should be. */
function helpFor ([name = '']: readonly string[]): string {
  return name in commands ? `polyvac help ${name}` : 'polyvac --help'
}

/** The reader of the output has left, such as `head`: ends without a stack. A service handles it as any error. */
function endWithReader (io: CommandIo): void {
  io.stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (err.code !== 'EPIPE') throw err
    io.exit()
  })
}
