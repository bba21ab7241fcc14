import type { Failure } from '@polyvac/core/protocol'
import { failureText } from '../../chat/failure-text.js'
import { openAiFailure } from '../../openai/errors.js'
import type { ResponseError } from './schemas.js'

/** Codes of the API for those of this service. */
const CODES: Readonly<Record<string, string>> = {
  bad_request: 'invalid_value',
  run_not_found: 'response_not_found',
  run_in_progress: 'conversation_locked',
  internal_error: 'server_error',
  runs_not_configured: 'unsupported_parameter'
}

/** A failure as the error object of the API. Its path is that of the field, such as `input[0].content`. */
export function toResponseError (failure: Failure): ResponseError {
  const { type, path, code } = openAiFailure(failure)
  const param = path.map(part => /^\d+$/.test(part) ? `[${part}]` : `.${part}`).join('').replace(/^\./, '')
  return { error: { message: failureText(failure), type, param: param || paramOf(code), code: CODES[code] ?? code } }
}

function paramOf (code: string): string {
  return code === 'previous_response_not_found' ? 'previous_response_id' : code === 'item_not_found' ? 'input' : ''
}
