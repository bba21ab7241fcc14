import { runCommand } from './run-command.js'

/** The event loop is empty: what the command waits for cannot happen any more. Node.js itself exits with 13. */
const endIdle = (): void => {
  process.stderr.write('polyvac: the command waits for a promise that nothing settles; look whether the interpreter awaits something that never happens\n')
  process.exit(1)
}

process.once('beforeExit', endIdle)
const isServing = await runCommand(process.argv.slice(2), process)
process.off('beforeExit', endIdle)
// a module may have started a timer that never ends
if (!isServing) process.stdout.write('', () => process.exit())
