import type { SharedValues, TaskStore } from '@polyvac/tasks'
import type { ServiceConfig } from '../config/service-config.js'

export type TaskSettings = NonNullable<ServiceConfig['tasks']>

/** Bounds of a store, which all stores have. */
export interface StoreBounds {
  readonly ttlMs: number | undefined
  readonly inputTtlMs: number | undefined
  readonly maxTasks: number | undefined
  readonly maxBytes: number | undefined
  readonly maxTaskChars: number | undefined
  readonly ownerShare: number | undefined
  readonly conversationTtlMs: number | undefined
  readonly maxTurns: number | undefined
  readonly maxConversations: number | undefined
  readonly maxConversationBytes: number | undefined
}

/** The task engine that the host's protocols share, and their keys. */
export interface HostTasks {
  readonly store: TaskStore
  /** Time for which an ended task is kept, in ms; undefined: the default of the store. */
  readonly ttlMs?: number | undefined
  /** Where the keys that sign push notifications are kept: a file, or the database. Undefined: in memory. */
  readonly keys?: string | SharedValues | undefined
  /** The key that signs state of MCP, where replicas share one through the database. @throws while it is not known */
  readonly stateKey?: (() => string) | undefined
  /** The database, for people: without a password. */
  readonly database?: string | undefined
}

/** Whether tasks are in PostgreSQL. */
export function isDatabase ({ store, url }: TaskSettings): boolean {
  return store === 'postgres' || (store === undefined && url !== undefined)
}
