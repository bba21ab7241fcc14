import type { FastifyBaseLogger } from 'fastify'
import { dirname, join, resolve } from 'node:path'
import type { ServiceConfig } from '../config/service-config.js'
import { TasksUnavailableError } from '../errors.js'
import { isDatabase, type HostTasks, type StoreBounds, type TaskSettings } from './host-tasks.js'
import { openDatabase } from './open-database.js'

const DEFAULT_PATH = '.polyvac/tasks.db'
/** Milliseconds and bytes. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3
}

interface StoreSettings {
  readonly stateKey?: string | undefined
  readonly ownerShare?: number | undefined
  readonly conversations?: ServiceConfig['conversations'] | undefined
}

/**
 * Opens the store that `service.tasks` names; default: a file in `.polyvac` in `folder`.
 * @param stateKey the key of `service.state_key`
 * @param ownerShare `service.limits.owner_share`
 * @throws TASKS_UNAVAILABLE, TASKS_SETTINGS, TASK_STORE_DATABASE; it never falls back to another store
 */
export async function openTasks (tasks: TaskSettings, folder: string, log: FastifyBaseLogger,
  { stateKey, ownerShare, conversations }: StoreSettings = {}): Promise<HostTasks> {
  const bounds = {
    ttlMs: toNumber(tasks.ttl),
    inputTtlMs: toNumber(tasks.input_ttl),
    maxTasks: tasks.max_tasks,
    maxBytes: toNumber(tasks.max_size),
    ownerShare,
    maxTaskChars: toNumber(tasks.max_task_size),
    conversationTtlMs: toNumber(conversations?.ttl),
    maxTurns: conversations?.max_turns,
    maxConversations: conversations?.max_conversations,
    maxConversationBytes: toNumber(conversations?.max_size)
  }
  return isDatabase(tasks) ? await openDatabase(tasks, bounds, log, stateKey) : await openFile(tasks, bounds, folder, log)
}

async function openFile ({ store, path = DEFAULT_PATH }: TaskSettings, bounds: StoreBounds, folder: string,
  log: FastifyBaseLogger): Promise<HostTasks> {
  const file = store === 'memory' ? ':memory:' : resolve(folder, path)
  try {
    const { sqliteTaskStore } = await import('@polyvac/tasks/sqlite')
    const opened = sqliteTaskStore({ path: file, ...bounds, log })
    await opened.open()
    if (store === 'memory') log.info('tasks are kept in memory and end with this process; the option `tasks` names a file')
    return { store: opened, ttlMs: bounds.ttlMs, keys: store === 'memory' ? undefined : join(dirname(file), 'push-keys.json') }
  } catch (err) {
    // another file would not help
    if ((err as NodeJS.ErrnoException).code === 'SQLITE_DRIVER_MISSING') throw err
    throw Object.assign(new TasksUnavailableError(file, (err as Error).message), { cause: err })
  }
}

/** `7d` in milliseconds, or `4GB` in bytes or characters; the configuration's schema has checked its form. */
export function toNumber (text: string | undefined): number | undefined {
  const [, number, unit = ''] = /^(\d+)(\w+)$/.exec(text ?? '') ?? []
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 1)
}
