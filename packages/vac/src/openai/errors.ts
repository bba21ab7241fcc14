import type { Failure } from '@polyvac/core/protocol'

/** Error types of the OpenAI API by HTTP status; any other below 500 is an invalid request. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error'
}

/** What an error object of the OpenAI API is made of. */
export interface OpenAiFailure {
  readonly message: string
  readonly type: string
  /** The path of the first problem of the request, in segments; empty for any other failure. */
  readonly path: readonly string[]
  readonly code: string
}

/** A failure in the terms of the OpenAI API. */
export function openAiFailure ({ status, body: { error } }: Failure): OpenAiFailure {
  const notFound = error.code === 'VAC_NOT_FOUND'
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  const path = error.details?.[0]?.path.split('/').slice(1) ?? (notFound ? ['model'] : [])
  return { message: error.message, type, path, code: notFound ? 'model_not_found' : error.code.toLowerCase() }
}

/**
 * The clients of OpenAI repeat a request that fails with 409 or from 500 on: an agent would run three times. The header
 * ends that where a repetition would fail again; 429, 503 and a conversation that is busy invite one.
 */
export function retryHeaders ({ status, body: { error: { code } } }: Failure): Readonly<Record<string, string>> {
  return (status >= 500 && status !== 503) || code === 'RUN_CANCELLED' ? { 'x-should-retry': 'false' } : {}
}
