import type { NewPushConfig, TaskPart, TaskState } from '@polyvac/tasks'
import { newPushConfig } from '../../protocol/push-config.js'
import { isBase64, nonEmpty, readParams, refuseField } from '../../protocol/read-params.js'
import type { ListPushRequest, ListRequest, PushRequest, SendRequest, SetPushRequest, TaskRequest } from '../../protocol/requests.js'
import { readMessage } from '../../protocol/message.js'
import { STATES } from './names.js'
import {
  CardParams, CONTENTS, GetParams, ListParams, ListPushParams, PushConfig, PushIdParams, SendParams, TaskParams, type Part
} from './schemas.js'

export function readSend (params: unknown): SendRequest {
  const { tenant, message, configuration = {} } = readParams(SendParams, params) as SendParams
  const { taskPushNotificationConfig: push, historyLength, returnImmediately = false } = configuration
  return {
    tenant: nonEmpty(tenant),
    message: readMessage(message, 'ROLE_USER', toPart),
    blocking: !returnImmediately,
    historyLength,
    push: push === undefined ? undefined : toNewPush(push)
  }
}

export function readGet (params: unknown): TaskRequest {
  const { tenant, id, historyLength } = readParams(GetParams, params) as GetParams
  return { tenant: nonEmpty(tenant), id, historyLength }
}

export function readTask (params: unknown): TaskRequest {
  const { tenant, id } = readParams(TaskParams, params) as TaskParams
  return { tenant: nonEmpty(tenant), id }
}

export function readList (params: unknown): ListRequest {
  const { tenant, contextId, status, pageSize: limit = 50, pageToken, historyLength, statusTimestampAfter, includeArtifacts: artifacts = false } = readParams(ListParams, params) as ListParams
  const since = statusTimestampAfter === undefined ? undefined : timeOf(statusTimestampAfter)
  const states = status === undefined || status === 'TASK_STATE_UNSPECIFIED' ? undefined : (Object.keys(STATES) as TaskState[]).filter(state => STATES[state] === status)
  return { tenant: nonEmpty(tenant), contextId: nonEmpty(contextId), states, limit, cursor: nonEmpty(pageToken), since, historyLength, artifacts }
}

export function readPushId (params: unknown): PushRequest {
  const { tenant, taskId, id } = readParams(PushIdParams, params) as PushIdParams
  return { tenant: nonEmpty(tenant), taskId, id }
}

export function readSetPush (params: unknown): SetPushRequest {
  const config = readParams(PushConfig, params) as PushConfig
  const taskId = nonEmpty(config.taskId)
  if (taskId === undefined) refuseField('taskId', 'is missing')
  return { tenant: nonEmpty(config.tenant), taskId, config: toNewPush(config) }
}

export function readListPush (params: unknown): ListPushRequest {
  const { tenant, taskId, pageSize, pageToken } = readParams(ListPushParams, params) as ListPushParams
  return { tenant: nonEmpty(tenant), taskId, limit: pageSize === 0 ? undefined : pageSize, cursor: nonEmpty(pageToken) }
}

export function readTenant (params: unknown): string | undefined {
  return nonEmpty((readParams(CardParams, params) as CardParams).tenant)
}

const RFC3339 = /^(\d{4}-\d\d-\d\d)t\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:\d\d)$/i

/** Milliseconds since 1970. `Date` alone would take the 30th of February for the 2nd of March. */
function timeOf (text: string): number {
  const [, day = ''] = RFC3339.exec(text) ?? []
  const at = Date.parse(text.toUpperCase())
  if (day === '' || Number.isNaN(at) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day) refuseField('statusTimestampAfter', 'give a time like 2026-01-02T03:04:05Z')
  return at
}

function toPart (part: Part, field: string): TaskPart {
  const contents = CONTENTS.filter(name => Object.hasOwn(part, name))
  if (contents.length !== 1) refuseField(field, `give exactly one of text, raw, url and data, not ${contents.length === 0 ? 'none' : contents.join(' and ')}`)
  const { text, raw, url, data, metadata, filename, mediaType } = part
  const extras = Object.assign({},
    metadata === undefined ? undefined : { metadata },
    filename === undefined || filename === '' ? undefined : { filename },
    mediaType === undefined || mediaType === '' ? undefined : { mediaType })
  if (text !== undefined) return { type: 'text', text, ...extras }
  if (raw !== undefined) {
    if (!isBase64(raw)) refuseField(`${field}.raw`, 'is no base64')
    return { type: 'file', bytes: raw, ...extras }
  }
  return url !== undefined ? { type: 'file', uri: url, ...extras } : { type: 'data', data, ...extras }
}

function toNewPush ({ id, url, token, authentication }: PushConfig): NewPushConfig {
  const { scheme, credentials } = authentication ?? {}
  return newPushConfig({ id: nonEmpty(id), url, dialect: 'v1', token, scheme, credentials })
}
