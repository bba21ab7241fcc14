import type { ServiceConfig } from '@polyvac/core'
import type { TaskStore } from '@polyvac/tasks'
import type { FastifyBaseLogger } from 'fastify'
import { dirname, join, resolve } from 'node:path'
import { TasksUnavailableError } from './errors.js'

const DEFAULT_PATH = '.polyvac/tasks.db'
/** Milliseconds and bytes. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3
}

/** The task engine that the host's protocols share, and the file of their keys. */
export interface HostTasks {
  readonly store: TaskStore
  /** Time for which an ended task is kept, in ms; undefined: the default of the store. */
  readonly ttlMs?: number | undefined
  /** File of the keys that sign push notifications; undefined where tasks are in memory. */
  readonly keysFile: string | undefined
}

/**
 * Opens the store that `service.tasks` names; default: a file in `.polyvac` in `folder`.
 * @throws TASKS_UNAVAILABLE; it never falls back to another store
 */
export async function openTasks (tasks: NonNullable<ServiceConfig['tasks']>, folder: string,
  log: FastifyBaseLogger): Promise<HostTasks> {
  const { store = 'sqlite', path = DEFAULT_PATH, ttl, input_ttl: inputTtl, max_tasks: maxTasks, max_size: maxSize } = tasks
  const file = store === 'memory' ? ':memory:' : resolve(folder, path)
  try {
    const { sqliteTaskStore } = await import('@polyvac/tasks/sqlite')
    const ttlMs = toNumber(ttl)
    const opened = sqliteTaskStore({
      path: file, ttlMs, inputTtlMs: toNumber(inputTtl), maxTasks, maxBytes: toNumber(maxSize), log
    })
    await opened.open()
    if (store === 'memory') log.info('tasks are kept in memory and end with this process; the option `tasks` names a file')
    return { store: opened, ttlMs, keysFile: store === 'memory' ? undefined : join(dirname(file), 'push-keys.json') }
  } catch (err) {
    // another file would not help
    if ((err as NodeJS.ErrnoException).code === 'SQLITE_DRIVER_MISSING') throw err
    throw Object.assign(new TasksUnavailableError(file, (err as Error).message), { cause: err })
  }
}

/** `7d` in milliseconds, or `4GB` in bytes; the configuration's schema has checked its form. */
function toNumber (text: string | undefined): number | undefined {
  const [, number, unit = ''] = /^(\d+)(\w+)$/.exec(text ?? '') ?? []
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 1)
}
