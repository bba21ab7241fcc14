import type { SqliteDatabase } from '@polyvac/sqlite'
import type { Conversations } from './conversations.js'
import type { GroupCommit } from './group-commit.js'
import type { SqliteSettings } from './options.js'
import type { Readers } from '../log/readers.js'
import type { TaskLog } from './task-log.js'

/** What the parts of an open store share. */
export interface StoreContext {
  readonly settings: SqliteSettings
  readonly database: SqliteDatabase
  readonly commit: GroupCommit
  readonly tasks: TaskLog
  readonly talks: Conversations
  readonly readers: Readers
  /** Before an executor's events are written. @throws TASK_STORE_FULL */
  readonly checkSpace: (owner: string) => void
  /** An owner's tasks take more bytes. */
  readonly grew: (owner: string, bytes: number) => void
  /** Call it after a commit for which workers or deliveries may wait. */
  readonly nudge: (waiting?: true) => void
}
