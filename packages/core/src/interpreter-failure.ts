import { isForCaller } from './create-error.js'
import { CallAbortedError, VacInterpreterFailedError } from './errors.js'

/** The failure of a call whose interpreter threw `err`: any value, also one whose properties throw. */
export function interpreterFailure (vac: string, err: unknown): unknown {
  const failure = new VacInterpreterFailedError(JSON.stringify(vac))
  try {
    // the failure of another VAC names that VAC
    if (isForCaller(err) && !(err instanceof VacInterpreterFailedError)) return err
    return Object.assign(failure, { cause: err })
  } catch {
    return failure
  }
}

/** The error for the reason of an abort. */
export function reasonOf (reason: unknown): Error {
  if (reason instanceof Error && reason.name !== 'AbortError') return reason
  return new CallAbortedError(reason instanceof Error ? reason.message : String(reason))
}
