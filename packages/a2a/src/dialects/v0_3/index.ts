import type { Dialect } from '../../protocol/dialect.js'
import { MethodNotFoundError } from '../../errors.js'
import * as answers from './answers.js'
import { toRpcError } from './failures.js'
import { METHODS, VERSION } from './names.js'
import * as requests from './requests.js'

/** A2A 0.3, and 0.2 where it is the same. */
export const v03: Dialect = {
  version: VERSION,
  methods: METHODS,
  extensionsHeader: 'x-a2a-extensions',
  ...requests,
  readGet: requests.readTask,
  readList: refuseList,
  ...answers,
  toPage: refuseList,
  toSnapshot: answers.toTask,
  deleteResult: null,
  toRpcError
}

/** JSON-RPC of 0.3 lists no tasks. */
function refuseList (): never {
  throw new MethodNotFoundError(VERSION)
}
