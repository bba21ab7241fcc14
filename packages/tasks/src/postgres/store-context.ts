import type { Readers } from '../log/readers.js'
import type { TaskEvent } from '../contract/task.js'
import type { Connection } from './connection.js'
import type { Conversations } from './conversations.js'
import type { Discards } from './discards.js'
import type { PostgresSettings } from './options.js'
import type { JobQueue } from './queue.js'
import type { Append, Snapshot, TaskLog } from './task-log.js'
import type { WriteBatches } from './write-batches.js'

/** The channel on which replicas learn of waiting tasks; the message is the name of the queue. */
export const WORK = 'work'
/** The same for canceled tasks; the message is the id. */
export const CANCELED = 'canceled'

/** What the parts of an open store share. */
export interface StoreContext {
  readonly settings: PostgresSettings
  readonly connection: Connection
  readonly queue: JobQueue
  readonly tasks: TaskLog
  readonly talks: Conversations
  readonly readers: Readers
  readonly appends: WriteBatches<Append, TaskEvent[]>
  readonly snapshots: WriteBatches<Snapshot, void>
  readonly discards: Discards
  /** The number of this replica. */
  readonly replica: number
  /** Before an executor's events are written. @throws TASK_STORE_FULL */
  readonly checkSpace: (owner: string) => void
  /** An owner's tasks take more bytes. */
  readonly grew: (owner: string, bytes: number) => void
  /** Call it after a commit for which workers of this replica may wait. */
  readonly nudge: (queue: string) => void
}
