import { LogGate, within } from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import type { FastifyBaseLogger } from 'fastify'
import { databaseName } from './database-address.js'
import type { HostTasks, StoreBounds, TaskSettings } from './host-tasks.js'
import { shareStateKey } from './state-key.js'
import { WaitingStore } from './waiting-store.js'

/** Longest wait of the start for the database, in ms: for its answer, and for migrations. */
const START_MS = 5_000

/**
 * The tasks in PostgreSQL. A database that cannot be reached does not end the start: the store is opened again until it
 * opens, and meanwhile it refuses calls with 503. A database that refuses this service does: a wrong password, a
 * missing database or right, a schema of a newer version.
 * @throws TASKS_SETTINGS, TASK_STORE_OPTION, TASK_STORE_DATABASE
 */
export async function openDatabase (tasks: TaskSettings, bounds: StoreBounds, log: FastifyBaseLogger,
  givenKey: string | undefined): Promise<HostTasks> {
  const database = nameDatabase(tasks)
  const inner = await createStore(tasks, log, bounds)
  const { StoreUnavailableError } = await import('@polyvac/tasks')
  const makeRefusal = (): Error => new StoreUnavailableError('its database is not reached yet')
  const gate = new LogGate()
  const since = performance.now()
  let stateKey = givenKey
  let isStarting = true
  let goOn = (): void => {}
  const failed = new Promise<void>(resolve => { goOn = resolve })
  const store = new WaitingStore(inner, {
    makeRefusal,
    async onOpen () {
      stateKey = await shareStateKey(inner.shared, givenKey, log)
      log.info({ database, waitedMs: Math.round(performance.now() - since) }, 'tasks are kept in PostgreSQL')
    },
    onFailure (error) {
      if (isStarting && (error as NodeJS.ErrnoException).code !== 'TASK_STORE_UNAVAILABLE') throw error
      const suppressed = gate.pass(error.message)
      if (suppressed !== undefined) {
        log.warn({ database, reason: error.message, suppressed }, 'the database of the tasks is not reached; requests that need tasks get 503 until it is')
      }
      goOn()
    }
  })
  try {
    await within(Promise.race([store.open(), failed]), START_MS)
  } catch (err) {
    await store.close()
    throw err
  } finally {
    isStarting = false
  }
  return {
    store,
    ttlMs: bounds.ttlMs,
    keys: store.shared,
    database,
    stateKey () {
      if (stateKey === undefined) throw makeRefusal()
      return stateKey
    }
  }
}

/**
 * Creates or updates the tables, without waiting for a database that cannot be reached. Returns the database, for
 * people.
 * @throws TASKS_SETTINGS, TASK_STORE_OPTION, TASK_STORE_DATABASE, TASK_STORE_UNAVAILABLE
 */
export async function migrateDatabase (tasks: TaskSettings, log: FastifyBaseLogger): Promise<string> {
  const database = nameDatabase(tasks)
  const store = await createStore(tasks, log)
  try {
    await store.open()
  } finally {
    await store.close()
  }
  return database
}

function nameDatabase ({ url, schema }: TaskSettings): string {
  return `${databaseName(url)}${schema === undefined ? '' : `, schema ${schema}`}`
}

async function createStore ({ url, schema, pool }: TaskSettings, log: FastifyBaseLogger, bounds?: StoreBounds): Promise<TaskStore> {
  const { postgresTaskStore } = await import('@polyvac/tasks/postgres')
  return postgresTaskStore({ url, schema, maxConnections: pool, ...bounds, log })
}
