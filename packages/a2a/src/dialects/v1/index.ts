import type { Dialect } from '../../protocol/dialect.js'
import * as answers from './answers.js'
import { toFailure } from './failures.js'
import { METHODS, VERSION } from './names.js'
import * as requests from './requests.js'

/** A2A 1.0. */
export const v1: Dialect = {
  version: VERSION,
  methods: METHODS,
  extensionsHeader: 'a2a-extensions',
  ...requests,
  ...answers,
  deleteResult: {},
  toRpcError (failure) {
    const { code, http, message, details } = toFailure(failure)
    return { code, status: http, message, data: details }
  }
}
