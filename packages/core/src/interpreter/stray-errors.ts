import { AsyncLocalStorage } from 'node:async_hooks'
import { LinkedSet, type LinkedNode } from '../basics/linked-set.js'
import { LogGate } from '../basics/log-gate.js'
import type { Log } from '../basics/log.js'
import { packagesFolder } from '../basics/own-files.js'

/** A call of an interpreter, which fails with the stray errors that belong to it. */
export interface GuardedCall {
  readonly vac: string
  readonly log: Log | undefined
  fail (err: unknown): void
}

export interface GuardOptions {
  /** `fail`: the call that caused the error fails, and the process goes on. `end`: the process ends. Default `fail`. */
  readonly onStrayError?: 'fail' | 'end' | undefined
  /**
   * Ends the process: called with errors of Polyvac itself, and with `end` for all. Default: the error is thrown, which
   * ends the process as Node.js does without a handler.
   */
  readonly onFatal?: ((err: unknown) => void) | undefined
}

/** The calls in progress: one list per process, also with two hosts; undefined in a process without a guard. */
// @keyed none: a list in order, of the calls in progress; MAX_ANSWERS
let open: LinkedSet<GuardedCall> | undefined
/**
 * The call of each asynchronous step. It costs a short call 13 % on Node.js 20 (measured: 62 µs, 70 µs with it), so it
 * begins with the first stray error of the process.
 */
let steps: AsyncLocalStorage<GuardedCall> | undefined

/** Adds a call to those that a stray error may belong to. */
export function guardCall (call: GuardedCall): LinkedNode<GuardedCall> | undefined {
  return open?.add(call)
}

/** Whether steps are attributed to their calls. */
export function isTracking (): boolean {
  return steps !== undefined
}

/** Executes a step of an interpreter, so that the errors of what it starts can be attributed to its call. */
export function inCall<T> (call: GuardedCall, step: () => T): T {
  return steps === undefined ? step() : steps.run(call, step)
}

/**
 * Keeps an error that an interpreter throws outside of its call from ending the process, such as in a timer, or a
 * rejection that it does not handle. The call that caused it fails with VAC_INTERPRETER_FAILED. The first such error is
 * attributed where only one call is in progress, later ones exactly. It installs handlers of `uncaughtException` and
 * `unhandledRejection`, so it is the choice of the application. Returns the function that removes them.
 * @example
 * const unguard = guardProcess(app)
 * app.addHook('onClose', unguard)
 */
export function guardProcess ({ log }: { readonly log: Log }, { onStrayError = 'fail', onFatal }: GuardOptions = {}): () => void {
  const gate = new LogGate()
  let strayErrors = 0
  open ??= new LinkedSet()

  const onError = (err: unknown): void => {
    const ours = isOwnFault(err)
    const call = steps?.getStore() ?? (ours || open?.size !== 1 ? undefined : open.first?.value)
    if (onStrayError === 'end' || (ours && call === undefined)) return onFatal === undefined ? rethrow(err) : onFatal(err)
    steps ??= new AsyncLocalStorage()
    strayErrors++
    call?.fail(err)
    const suppressed = gate.pass(call?.vac ?? '')
    if (suppressed === undefined) return
    const consequence = call === undefined ? 'the call that caused it is not known' : 'its call fails'
    const line = { vac: call?.vac, strayErrors, suppressed }
    try {
      (call?.log ?? log).error({ err, ...line }, `an interpreter threw an error outside of its call; ${consequence}`)
    } catch {
      // the properties of the thrown value throw
      log.error(line, `an interpreter threw a value that cannot be read; ${consequence}`)
    }
  }
  const unguard = (): void => {
    process.off('uncaughtException', onError)
    process.off('unhandledRejection', onError)
  }
  const rethrow = (err: unknown): void => {
    unguard()
    setImmediate(() => { throw err })
  }
  process.on('uncaughtException', onError)
  process.on('unhandledRejection', onError)
  return unguard
}

const FRAME = /((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^\n()]+?):\d+:\d+/g

/**
 * Whether the first frame outside of Node.js and of other packages is in a file of Polyvac. Never in a bundle, where
 * its frames and those of interpreters are of one file.
 */
function isOwnFault (err: unknown): boolean {
  try {
    const packages = packagesFolder()
    const folders = packages === undefined ? [] : [packages, new URL('../apps/', packages).href]
    for (const [, place = ''] of String((err as Partial<Error> | undefined)?.stack).matchAll(FRAME)) {
      const file = place.startsWith('file:') ? place : `file://${place}`
      if (/\/(?:@polyvac\/[\w-]+|node_modules\/polyvac)\/dist\//.test(file)) return true
      if (folders.some(folder => file.startsWith(folder) && /^[\w-]+\/(?:dist|src)\//.test(file.slice(folder.length)))) return true
      if (!file.includes('/node_modules/')) return false
    }
  } catch { /* the properties of the thrown value throw */ }
  return false
}
