import { randomUUID } from 'node:crypto'
import { isTaskError, TurnInProgressError } from '../basics/errors.js'
import type { NewRow, PreparedTurn } from '../store/new-task.js'
import type { Connection, Session } from './connection.js'
import type { PushConfigs } from './push-configs.js'
import type { Conversations } from './conversations.js'
import type { JobQueue } from './queue.js'
import { WORK } from './store-context.js'
import type { TaskLog } from './task-log.js'
import type { RecordRow } from './task-statements.js'
import { WriteBatches, type Outcome } from './write-batches.js'

/** Tasks in one transaction, and about how many bytes. */
const BATCH = 64
const BATCH_BYTES = 1024 * 1024

export interface NewEntry {
  readonly row: NewRow
  /** Whether the caller chose the id. */
  readonly hasId: boolean
}
/** The task that a new one repeats, or undefined for a new one. */
export type Created = RecordRow | undefined

/** Creates tasks, their first events and their jobs together in one transaction. */
export function creates (connection: Connection, tasks: TaskLog, queue: JobQueue, push: PushConfigs, talks: Conversations): WriteBatches<NewEntry, Created> {
  return new WriteBatches({
    keyOf: ({ row: { owner, idem, origin: { id } } }) => idem === null ? id : `${owner}\0${idem}`,
    weightOf: ({ row: { bytes } }) => Math.max(1 / BATCH, bytes / BATCH_BYTES),
    capacity: 1,
    inFlight: 3,
    // a repeated request waits for the first one
    joins: () => false
  }, async all => {
    const queues = [...new Set(all.map(({ row: { queue } }) => queue))]
    for (const name of queues) await queue.prepare(name)
    return await connection.transaction(async transaction => {
      const refused = await refusedTurns(transaction, all, tasks, talks)
      const entries = all.filter(entry => !refused.has(entry))
      const rows = entries.map(({ row }) => row)
      const jobs = rows.map(() => randomUUID())
      const keys = await tasks.insert(transaction, rows, jobs)
      const outcomes: Outcome<Created>[] = []
      for (const [i, { row, hasId }] of entries.entries()) {
        const key = keys[i]
        try {
          outcomes.push({ value: key === undefined ? await tasks.findRepeated(transaction, row, hasId) : undefined })
        } catch (error) {
          if (!isTaskError(error, 'TASK_CONFLICT')) throw error
          outcomes.push({ error })
        }
        if (key !== undefined && row.push !== undefined) await push.add(transaction, key, row.owner, row.push, row.first.at)
      }
      const begun = rows.filter((row, i): row is NewRow & { turn: PreparedTurn } => keys[i] !== undefined && row.turn !== undefined)
      if (begun.length > 0) await talks.begin(transaction, begun)
      for (const name of queues) {
        const added = rows.flatMap(({ queue, owner }, i) => {
          const key = keys[i]
          return key === undefined || queue !== name ? [] : [{ id: jobs[i] as string, key, turn: 0, owner }]
        })
        if (added.length === 0) continue
        await queue.insert(transaction, name, added)
        transaction.notify(WORK, name)
      }
      return all.map(entry => refused.has(entry) ? { error: new TurnInProgressError() } : outcomes.shift()!)
    })
  })
}

/** New tasks whose conversation has a turn that has not ended, which they do not stand. */
async function refusedTurns (transaction: Session, entries: readonly NewEntry[], tasks: TaskLog, talks: Conversations): Promise<Set<NewEntry>> {
  // @keyed none: conversations of the tasks of one transaction; BATCH
  const begun = new Set<string>()
  // @keyed none: tasks of one transaction; BATCH
  const refused = new Set<NewEntry>()
  const nameOf = ({ owner, vac, id }: PreparedTurn): string => JSON.stringify([owner, vac, id])
  const withTurns = entries.flatMap(entry => entry.row.turn === undefined ? [] : [{ entry, turn: entry.row.turn, name: nameOf(entry.row.turn) }])
  // in one order, since each waits for the transactions that ask about the same conversation
  if (withTurns.some(({ turn }) => turn.isExclusive)) withTurns.sort((a, b) => a.name < b.name ? -1 : 1)
  for (const { entry, turn, name } of withTurns) {
    const isOpen = turn.isExclusive && (begun.has(name) || await talks.isOpen(transaction, turn))
    if (isOpen && !await tasks.isRepeated(transaction, entry.row)) refused.add(entry)
    else begun.add(name)
  }
  return refused
}
