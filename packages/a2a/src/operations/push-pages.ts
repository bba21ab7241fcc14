import type { PushConfig } from '@polyvac/tasks'
import { refuseField } from '../protocol/read-params.js'

export interface PushPage {
  readonly configs: PushConfig[]
  /** The token of the next page; empty where there is none. */
  readonly next: string
}

/**
 * One page of a task's configs, oldest first. A token is the position of the first config of its page, so that the page
 * stays valid when that config is deleted.
 * @throws A2A_INVALID_PARAMS for an invalid token
 */
export function pushPage (all: readonly PushConfig[], limit = all.length, token?: string): PushPage {
  const from = token === undefined ? 0 : all.findIndex(isFrom(token))
  const end = from === -1 ? all.length : from + limit
  const next = all[end]
  const configs = from === -1 ? [] : all.slice(from, end)
  return { configs, next: next === undefined ? '' : Buffer.from(`${next.createdAt} ${next.id}`).toString('base64url') }
}

/**
 * Whether a config is at the position of a token or after it. The store orders configs by time, then by the bytes of
 * the id.
 */
function isFrom (token: string): (config: PushConfig) => boolean {
  const [, time, id = ''] = /^(\d{1,15}) (.+)$/s.exec(Buffer.from(token, 'base64url').toString()) ?? []
  if (time === undefined) {
    refuseField('pageToken', 'is not one that a page ended with; leave it out to begin at the first page')
  }
  const at = Number(time)
  const bytes = Buffer.from(id)
  return config => config.createdAt > at || (config.createdAt === at && Buffer.from(config.id).compare(bytes) >= 0)
}
