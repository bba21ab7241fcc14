import type { Dialect } from '../../protocol/dialect.js'
import { toEvents, toSnapshot, toNotification, toPage, toPushConfig, toPushConfigs, toSendResult, toTask } from './answers.js'
import { toFailure } from './failures.js'
import { METHODS, VERSION } from './names.js'
import { readGet, readList, readListPush, readPushId, readSend, readSetPush, readTask, readTenant } from './requests.js'

/** A2A 1.0. */
export const v1: Dialect = {
  version: VERSION,
  methods: METHODS,
  extensionsHeader: 'a2a-extensions',
  readSend,
  readGet,
  readTask,
  readList,
  readSetPush,
  readPushId,
  readListPush,
  readTenant,
  toTask,
  toSendResult,
  toPage,
  toSnapshot,
  toEvents,
  toNotification,
  toPushConfig,
  toPushConfigs,
  deleteResult: {},
  toRpcError (failure) {
    const { code, http, message, details } = toFailure(failure)
    return { code, status: http, message, data: details }
  }
}
