// Starts programs for the drivers and the scripts of cases, and ends them with their children.
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

const MAX_WAIT_MS = 120_000
const MAX_OUTPUT_CHARS = 1024 * 1024

const children = new Set()
process.on('exit', () => { for (const child of children) killGroup(child) })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/** The environment of a user's shell, without the variables that the host reads. */
export function environment (more = {}) {
  const { NODE_OPTIONS, PORT, HOST, PUBLIC_URL, LOG_LEVEL, ...rest } = process.env
  return { ...rest, ...more }
}

/** Waits for a truthy value of `condition`, and resolves to it. Rejects with the name of the condition. */
export async function until (condition, what, ms = MAX_WAIT_MS) {
  const end = Date.now() + ms
  let last
  for (;;) {
    try {
      last = await condition()
      if (last) return last
    } catch (err) {
      last = err.message
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${ms / 1000} s; last: ${JSON.stringify(last)}`)
    await delay(50)
  }
}

/** A child in a process group: `{ out, ended, end }`. `ended` resolves to its exit code, or the name of its signal. */
export function start (command, args, { cwd, env } = {}) {
  const child = spawn(command, args, { cwd, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  children.add(child)
  const out = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => { out.text = (out.text + text).slice(-MAX_OUTPUT_CHARS) })
  const ended = new Promise(resolve => {
    child.on('error', err => { out.text += err.message })
    child.on('close', (code, signal) => {
      children.delete(child)
      resolve(code ?? signal ?? 'not started')
    })
  })
  const end = async () => {
    killGroup(child)
    await ended
  }
  return { out, ended, end }
}

/** Runs a program to its end: `{ code, text }`. */
export async function run (command, args, { ms = MAX_WAIT_MS, ...options } = {}) {
  const child = start(command, args, options)
  const stop = new AbortController()
  const code = await Promise.race([child.ended, delay(ms, `not ended after ${ms / 1000} s`, { signal: stop.signal })])
  stop.abort()
  await child.end()
  return { code, text: child.out.text }
}

function killGroup (child) {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (err) {
    if (err.code !== 'ESRCH') throw err
  }
}
