import { ExcessiveAnswer } from '../client/remote-answer.js'
import { OddAnswer } from '../client/follow-task.js'
import {
  RemoteAgentAnswerError, RemoteAgentCardError, RemoteAgentFailedError, RemoteAgentRefusedError, RemoteAgentTaskLostError, RemoteAgentUnauthorizedError,
  RemoteAgentUnavailableError
} from '../errors.js'
import { CODES, HttpFailure, isPassing, isRefusedCertificate, RpcFailure } from '../http/failures.js'

/** What the codes of A2A mean for the caller of the agent here. */
const MEANINGS: Readonly<Record<number, (name: string, err: RpcFailure) => Error>> = {
  [CODES.TASK_NOT_FOUND]: name => new RemoteAgentTaskLostError(name),
  [CODES.CONTENT_TYPE_NOT_SUPPORTED]: refused,
  [CODES.INVALID_PARAMS]: refused,
  [CODES.EXTENDED_AGENT_CARD_NOT_CONFIGURED]: unfit,
  [CODES.EXTENSION_SUPPORT_REQUIRED]: unfit,
  [CODES.VERSION_NOT_SUPPORTED]: unfit,
  [CODES.METHOD_NOT_FOUND]: unfit
}

/** The error for the caller of an agent; errors that are for callers already stay. */
export function callerError (name: string, err: unknown): unknown {
  const error = errorFor(name, err)
  return error === undefined ? err : Object.assign(error, { cause: err })
}

function errorFor (name: string, err: unknown): Error | undefined {
  if (err instanceof RpcFailure) return (MEANINGS[err.code] ?? failed)(name, err)
  if (err instanceof HttpFailure) {
    if (err.status === 401 || err.status === 403) return new RemoteAgentUnauthorizedError(name, `status ${err.status}`)
    return err.status === 413 ? new RemoteAgentAnswerError(name, err.message.replace('it answered with ', '')) : new RemoteAgentUnavailableError(name, err.message)
  }
  if (isRefusedCertificate(err)) return new RemoteAgentUnauthorizedError(name, 'the certificate of the connection')
  if (err instanceof OddAnswer || err instanceof ExcessiveAnswer) return new RemoteAgentAnswerError(name, err.message)
  const { code } = (err ?? {}) as { code?: unknown }
  // such as the code of a certificate that is not valid
  return isPassing(err) || (typeof code === 'string' && !code.startsWith('REMOTE_AGENT_')) ? new RemoteAgentUnavailableError(name, 'it cannot be reached') : undefined
}

function refused (name: string, { message }: RpcFailure): Error { return new RemoteAgentRefusedError(name, message) }

function failed (name: string, { message }: RpcFailure): Error { return new RemoteAgentFailedError(name, message) }

function unfit (name: string, { message, code }: RpcFailure): Error {
  return new RemoteAgentCardError(name, `the agent does not do what it states (${code}: ${message})`, 'have its operator correct it, or set `protocol` of the entry')
}
