import { VERSION } from '@polyvac/core/basics'
import { HELP, readArguments, type Arguments, type Command } from './arguments.js'
import { toPlainLines } from './terminal.js'

/** Loaded lazily, so that `--help` does not load the server. */
const commands: Record<Command, () => Promise<(args: Arguments) => Promise<void>>> = {
  start: async () => (await import('./commands/start.js')).start,
  mcp: async () => (await import('./commands/mcp.js')).mcp,
  check: async () => (await import('./commands/check.js')).check,
  ask: async () => (await import('./commands/ask.js')).ask,
  chat: async () => (await import('./commands/chat.js')).chat,
  doctor: async () => (await import('./commands/doctor.js')).doctor,
  replay: async () => (await import('./commands/replay.js')).replay,
  init: async () => (await import('./commands/init.js')).init,
  tools: async () => (await import('./commands/tools.js')).tools,
  call: async () => (await import('./commands/call.js')).call,
  migrate: async () => (await import('./commands/migrate.js')).migrate,
  token: async () => (await import('./commands/token.js')).token,
  openapi: async () => (await import('./commands/openapi.js')).openapi
}

/** Commands that go on until they are stopped. */
const SERVING: ReadonlySet<string> = new Set<Command>(['start', 'mcp'])

/** The event loop is empty: what the command waits for cannot happen any more. Node.js itself exits with 13. */
const endIdle = (): void => {
  process.stderr.write('polyvac: the command waits for a promise that nothing settles; look whether the interpreter awaits something that never happens\n')
  process.exit(1)
}

let isServing = false
// The reader of the output has left, such as `head`: end a command without a stack. A service handles it as any error.
process.stdout.on('error', (err: NodeJS.ErrnoException) => {
  if (isServing || err.code !== 'EPIPE') throw err
  process.exit()
})
process.once('beforeExit', endIdle)
try {
  const args = readArguments(process.argv.slice(2), process.env)
  isServing = SERVING.has(args.command)
  if (args.command === 'help') process.stdout.write(HELP)
  else if (args.command === 'version') process.stdout.write(`${VERSION}\n`)
  else await (await commands[args.command]())(args)
} catch (err) {
  // coded errors have texts for people; any other is a bug, which needs the stack
  const { code, message, stack } = err as NodeJS.ErrnoException
  process.stderr.write(`${toPlainLines(code === undefined ? stack ?? String(err) : `polyvac: ${message}`)}\n`)
  process.exitCode = code === 'USAGE' ? 2 : 1
  isServing = false
}
process.off('beforeExit', endIdle)
// a module may have started a timer that never ends
if (!isServing) process.stdout.write('', () => process.exit())
