import type { Dialect } from '../../protocol/dialect.js'
import { MethodNotFoundError } from '../../errors.js'
import { toEvents, toNotification, toPushConfig, toSendResult, toTask } from './answers.js'
import { toRpcError } from './failures.js'
import { METHODS, VERSION } from './names.js'
import { readListPush, readPushId, readSend, readSetPush, readTask, readTenant } from './requests.js'

/** A2A 0.3, and 0.2 as far as it is the same. */
export const v03: Dialect = {
  version: VERSION,
  methods: METHODS,
  extensionsHeader: 'x-a2a-extensions',
  readSend,
  readGet: readTask,
  readTask,
  readList: noList,
  readSetPush,
  readPushId,
  readListPush,
  readTenant,
  toTask,
  toSendResult,
  toPage: noList,
  toSnapshot: toTask,
  toEvents,
  toNotification,
  toPushConfig,
  toPushConfigs: configs => configs.map(toPushConfig),
  deleteResult: null,
  toRpcError
}

/** JSON-RPC of 0.3 lists no tasks. */
function noList (): never {
  throw new MethodNotFoundError(VERSION)
}
