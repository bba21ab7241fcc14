import { isBase64 } from '@polyvac/core/plugin'
import type { NewPushConfig, TaskPart } from '@polyvac/tasks'
import { newPushConfig } from '../../protocol/push-config.js'
import { nonEmpty, readParams, refuseField } from '../../protocol/read-params.js'
import type { ListPushRequest, PushRequest, SendRequest, SetPushRequest, TaskRequest } from '../../protocol/requests.js'
import { readMessage } from '../../protocol/message.js'
import {
  CardParams, PushIdParams, SendParams, SetPushParams, TaskParams, type Part, type PushConfig
} from './schemas.js'

/** The name of a config without one: setting it again replaces it. */
const DEFAULT_ID = 'default'

export function readSend (params: unknown): SendRequest {
  const { tenant, message, metadata, configuration = {} } = readParams(SendParams, params)
  const { pushNotificationConfig: push, historyLength, blocking = true } = configuration
  const config = push === undefined ? undefined : toNewPush(push)
  return { tenant, message: readMessage(message, 'user', toPart), metadata, blocking, historyLength, push: config }
}

export function readTask (params: unknown): TaskRequest {
  const { tenant, id, historyLength } = readParams(TaskParams, params)
  return { tenant, id, historyLength }
}

export function readPushId (params: unknown): PushRequest {
  const { tenant, id: taskId, pushNotificationConfigId: id } = readParams(PushIdParams, params)
  return { tenant, taskId, id }
}

export function readSetPush (params: unknown): SetPushRequest {
  const { tenant, taskId, pushNotificationConfig } = readParams(SetPushParams, params)
  return { tenant, taskId, config: toNewPush(pushNotificationConfig) }
}

export function readListPush (params: unknown): ListPushRequest {
  const { tenant, id: taskId } = readParams(TaskParams, params)
  return { tenant, taskId }
}

export function readTenant (params: unknown): string | undefined {
  return readParams(CardParams, params).tenant
}

function toPart ({ kind, text, file, data, metadata }: Part, field: string): TaskPart {
  const content = { text, file, data }
  const names = (Object.keys(content) as (keyof typeof content)[]).filter(name => content[name] !== undefined)
  if (names.length !== 1 || names[0] !== kind) {
    refuseField(field, `a part of kind ${kind} holds \`${kind}\` and no other content`)
  }
  const extras = metadata === undefined ? {} : { metadata }
  if (text !== undefined) return { type: 'text', text, ...extras }
  if (data !== undefined) return { type: 'data', data, ...extras }
  const { name, mimeType, bytes, uri } = file ?? {}
  if ((bytes === undefined) === (uri === undefined)) refuseField(`${field}.file`, 'give exactly one of bytes and uri')
  if (bytes !== undefined && !isBase64(bytes)) refuseField(`${field}.file.bytes`, 'is not base64')
  return {
    type: 'file',
    ...(bytes === undefined ? { uri } : { bytes }),
    ...(nonEmpty(name) === undefined ? {} : { filename: name }),
    ...(nonEmpty(mimeType) === undefined ? {} : { mediaType: mimeType }),
    ...extras
  }
}

function toNewPush ({ id, url, token, authentication }: PushConfig): NewPushConfig {
  const { schemes: [scheme] = [], credentials } = authentication ?? {}
  return newPushConfig({ id: nonEmpty(id) ?? DEFAULT_ID, url, dialect: 'v0_3', token, scheme, credentials })
}
