import { isForCaller } from '../basics/create-error.js'
import type { AuthRequired } from '../vac/interpreter.js'
import { CallAbortedError, VacInterpreterFailedError } from '../basics/errors.js'

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

/**
 * The answer of an interpreter that did not catch the failure of a tool whose server needs a sign-in of the caller:
 * what the caller has to do, as an interpreter itself would ask for it.
 */
export function signInRequest (err: unknown): AuthRequired | undefined {
  try {
    if (!(err instanceof Error) || (err as { code?: unknown }).code !== 'MCP_SIGN_IN_REQUIRED') return undefined
    const { signIn } = err as { signIn?: unknown }
    return { auth_required: err.message, sign_in: signIn }
  } catch {
    return undefined
  }
}

/** The error for the reason of an abort. */
export function reasonOf (reason: unknown): Error {
  if (reason instanceof Error && reason.name !== 'AbortError') return reason
  return new CallAbortedError(reason instanceof Error ? reason.message : String(reason))
}
