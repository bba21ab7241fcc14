import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

const isWindows = process.platform === 'win32'
/** Longest time in ms of a command, so that a hang is a failure. */
const TIMEOUT_MS = 180_000

/**
 * The environment of a user's shell: without the variables of an outer `npm run`, of this repository's switches, and
 * of the settings of a service.
 */
export function cleanEnvironment (more = {}) {
  const foreign = /^(?:npm_(?:package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|NODE_ENV$|NODE_OPTIONS$|TAP|PORT$|HOST$|PUBLIC_URL$|LOG_LEVEL$|VAC_CONFIG_FOLDER$)/
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))), ...more }
}

const running = new Set()
process.once('exit', () => { for (const command of running) command.kill() })
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

/**
 * Starts a command without standard input, in a separate process group: `kill` then ends its child processes as well.
 * `out` and `output` (both streams) grow as it writes; `ended` resolves to `{ code, signal }` once both are closed.
 */
export function start (command, args, { cwd, env } = {}) {
  const child = spawn(command, args, {
    cwd, env: cleanEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'], detached: !isWindows, shell: isWindows && command === 'npm'
  })
  const started = { child, out: '', output: '', ended: undefined, kill: () => killGroup(child) }
  running.add(started)
  child.stdout.on('data', piece => { started.out += piece; started.output += piece })
  child.stderr.on('data', piece => { started.output += piece })
  started.ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  }).finally(() => running.delete(started))
  return started
}

function killGroup (child) {
  try {
    if (isWindows) child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch { /* all processes have exited */ }
}

/** Runs a command to its end and returns its standard output; the error of a failure has all its output. */
export async function run (command, args, options = {}) {
  const started = start(command, args, options)
  const timer = setTimeout(started.kill, TIMEOUT_MS)
  try {
    const { code, signal } = await started.ended
    if (code === 0) return started.out
    throw new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}\n${started.output.trim()}`)
  } finally {
    clearTimeout(timer)
  }
}

export function npm (args, cwd) {
  return run('npm', [...args, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd })
}
