import closeWithGrace from 'close-with-grace'
import { guardProcess } from '@polyvac/core'
import type { ServiceConfig } from '@polyvac/host/command'
import type { FastifyInstance } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** Longest time for closing once no answer is in progress, in ms; it is part of the grace time. */
const CLOSING_MS = 1_000

/** The process is killed so long after the grace time, in ms, where its event loop is blocked. */
const BLOCKED_MS = 500

/** Requests to the thread pool of Node.js, which waits for all of them at its exit. */
const IN_THREAD_POOL = /^(?:FSReq|FileHandleCloseReq|GetAddrInfoReqWrap|GetNameInfoReqWrap)/

/**
 * Stops the service at a signal or at an error of the host: answers in progress have `graceMs`, then the process ends,
 * whatever hangs: a file of a dead network drive, a thread, code that blocks the event loop.
 */
export function stopInTime (app: FastifyInstance, graceMs: number, onStrayError: ServiceConfig['on_stray_error'],
  onStop: () => void): void {
  let failed = false
  const stopping = closeWithGrace({
    delay: graceMs,
    logger: false,
    // those are the guard's
    skip: ['uncaughtException', 'unhandledRejection'],
    onTimeout () { kill() },
    onSecondSignal () {
      if (usesThreadPool()) kill()
      process.exit(1)
    }
  }, async ({ signal }) => {
    killAfter(graceMs + BLOCKED_MS)
    onStop()
    // an error does not wait for answers in progress
    if (signal !== undefined) await app.polyvac.drain(Math.max(0, graceMs - CLOSING_MS))
    await app.close()
    while (usesThreadPool()) await delay(20)
    // without its terminal, Node 20 fails an assertion about its streams at the exit and spins
    if (signal === 'SIGHUP') kill()
    if (failed) process.exit(1)
  })
  guardProcess(app, {
    onStrayError,
    onFatal (err) {
      app.log.fatal({ err }, 'stopping after an error')
      if (failed) kill()
      failed = true
      stopping.close()
    }
  })
}

function usesThreadPool (): boolean {
  return process.getActiveResourcesInfo().some(name => IN_THREAD_POOL.test(name))
}

/** `process.exit` would wait for the threads of Node.js. */
function kill (): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Kills this process after so many ms, from a thread, which a blocked event loop does not stop. */
function killAfter (ms: number): void {
  new Worker(`setTimeout(() => { process.kill(process.pid, 'SIGKILL') }, ${ms})`, { eval: true }).unref()
}
