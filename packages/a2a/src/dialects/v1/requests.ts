import { isBase64 } from '@polyvac/core/plugin'
import { taskStates, type NewPushConfig, type TaskPart } from '@polyvac/tasks'
import { newPushConfig } from '../../protocol/push-config.js'
import { nonEmpty, readParams, refuseField } from '../../protocol/read-params.js'
import type {
  ListPushRequest, ListRequest, PushRequest, SendRequest, SetPushRequest, TaskRequest
} from '../../protocol/requests.js'
import { readMessage } from '../../protocol/message.js'
import { STATES, UNSPECIFIED } from './names.js'
import {
  CardParams, CONTENTS, GetParams, ListParams, ListPushParams, PushConfig, PushIdParams, SendParams, TaskParams,
  type Part
} from './schemas.js'

export function readSend (params: unknown): SendRequest {
  const { tenant, message, metadata, configuration = {} } = readParams(SendParams, params)
  const { taskPushNotificationConfig: push, historyLength, returnImmediately = false } = configuration
  return {
    tenant: nonEmpty(tenant),
    message: readMessage(message, 'ROLE_USER', toPart),
    metadata,
    blocking: !returnImmediately,
    historyLength,
    push: push === undefined ? undefined : toNewPush(push)
  }
}

export function readGet (params: unknown): TaskRequest {
  const { tenant, id, historyLength } = readParams(GetParams, params)
  return { tenant: nonEmpty(tenant), id, historyLength }
}

export function readTask (params: unknown): TaskRequest {
  const { tenant, id } = readParams(TaskParams, params)
  return { tenant: nonEmpty(tenant), id }
}

export function readList (params: unknown): ListRequest {
  const {
    tenant, contextId, status = UNSPECIFIED, pageSize: limit = 50, pageToken, historyLength,
    statusTimestampAfter: after, includeArtifacts: artifacts = false
  } = readParams(ListParams, params)
  const since = after === undefined ? undefined : timeOf(after)
  const states = status === UNSPECIFIED ? undefined : taskStates.filter(state => STATES[state] === status)
  const cursor = nonEmpty(pageToken)
  const filter = { contextId: nonEmpty(contextId), states, since }
  return { tenant: nonEmpty(tenant), ...filter, limit, cursor, historyLength, artifacts }
}

export function readPushId (params: unknown): PushRequest {
  const { tenant, taskId, id } = readParams(PushIdParams, params)
  return { tenant: nonEmpty(tenant), taskId, id }
}

export function readSetPush (params: unknown): SetPushRequest {
  const config = readParams(PushConfig, params)
  const taskId = nonEmpty(config.taskId)
  if (taskId === undefined) refuseField('taskId', 'is missing')
  return { tenant: nonEmpty(config.tenant), taskId, config: toNewPush(config) }
}

export function readListPush (params: unknown): ListPushRequest {
  const { tenant, taskId, pageSize, pageToken } = readParams(ListPushParams, params)
  return { tenant: nonEmpty(tenant), taskId, limit: pageSize === 0 ? undefined : pageSize, cursor: nonEmpty(pageToken) }
}

export function readTenant (params: unknown): string | undefined {
  return nonEmpty(readParams(CardParams, params).tenant)
}

const RFC3339 = /^(\d{4}-\d\d-\d\d)t\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:\d\d)$/i

/** Milliseconds since 1970. `Date` itself would take the 30th of February for the 2nd of March. */
function timeOf (text: string): number {
  const [, day = ''] = RFC3339.exec(text) ?? []
  const at = Date.parse(text.toUpperCase())
  if (day === '' || Number.isNaN(at) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day) {
    refuseField('statusTimestampAfter', 'give a time like 2026-01-02T03:04:05Z')
  }
  return at
}

function toPart (part: Part, field: string): TaskPart {
  const contents = CONTENTS.filter(name => Object.hasOwn(part, name))
  if (contents.length !== 1) {
    const found = contents.length === 0 ? 'none' : contents.join(' and ')
    refuseField(field, `give exactly one of text, raw, url and data, not ${found}`)
  }
  const { text, raw, url, data, metadata, filename, mediaType } = part
  const extras = Object.assign({},
    metadata === undefined ? undefined : { metadata },
    filename === undefined || filename === '' ? undefined : { filename },
    mediaType === undefined || mediaType === '' ? undefined : { mediaType })
  if (text !== undefined) return { type: 'text', text, ...extras }
  if (raw !== undefined) {
    if (!isBase64(raw)) refuseField(`${field}.raw`, 'is not base64')
    return { type: 'file', bytes: raw, ...extras }
  }
  return url !== undefined ? { type: 'file', uri: url, ...extras } : { type: 'data', data, ...extras }
}

function toNewPush ({ id, url, token, authentication }: PushConfig): NewPushConfig {
  const { scheme, credentials } = authentication ?? {}
  return newPushConfig({ id: nonEmpty(id), url, dialect: 'v1', token, scheme, credentials })
}
