import { randomUUID } from 'node:crypto'
import { link, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase, type SqliteDatabase } from '@polyvac/sqlite'
import { StoreFileError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import { CLOSES_FILES, migrate } from './tables.js'

/** The file of tasks and its write-ahead log. */
const PARTS = ['', '-wal'] as const

/** Offsets in the header of a database: its mode, 2 for WAL, and PRAGMA user_version. */
const [MODE, VERSION, HEADER_BYTES] = [18, 60, 64] as const
/** Time for another process to close the file, and how often it is looked at. */
const CLOSING_MS = 20
const CLOSING_LOOKS = 10

/**
 * Opens the file of a store. A new one is created under another name and gets its own once it is complete: an empty
 * file is not a new store, but one that lost its content. @throws TASK_STORE_FILE
 */
export async function openFile (path: string, log: TaskLogger): Promise<SqliteDatabase> {
  if (path !== ':memory:') {
    await mkdir(dirname(path), { recursive: true })
    // the log first: a process that creates the file now makes its log later
    const [size, file] = [await sizeOf(`${path}-wal`), await sizeOf(path)]
    if (file === 0) throw new StoreFileError(path, 'the file is empty, so its content was lost; restore it, or delete it to begin with none')
    if (file === undefined && (size ?? 0) > 0) {
      throw new StoreFileError(path, 'the file is missing and its log, with -wal at the end, is there; restore the file, or delete the log to begin with none')
    }
    if (file === undefined) await create(path)
    else if (await lacksLog(path)) {
      log.warn({ path: `${path}-wal` }, 'the write-ahead log of the tasks is missing: it was deleted after the service ended without closing the file, or the file was copied without it; tasks and events that only the log held are lost, unless you restore a backup')
    }
  }
  const database = await openDatabase(path, { incrementalVacuum: true })
  try {
    migrate(database, path)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Closes the file of a store. The last process that closes it ends WAL mode, so that the next one knows. */
export async function closeFile (database: SqliteDatabase, path: string): Promise<void> {
  endWalMode(database)
  database.close()
  if (path === ':memory:') return
  // several processes that close it together are in each other's way
  for (let looks = 0; looks < CLOSING_LOOKS && await hasNoLog(path); looks++) {
    const last = await openDatabase(path)
    endWalMode(last)
    last.close()
    await delay(CLOSING_MS * Math.random())
  }
}

/** Fails while another process has the file open. */
function endWalMode (database: SqliteDatabase): void {
  try {
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE')
  } catch { /* the last one does it */ }
}

/** Whether the file was not closed, and its log is gone. */
async function lacksLog (path: string): Promise<boolean> {
  for (let looks = 0; looks < CLOSING_LOOKS; looks++) {
    // SQLite deletes the index of the log with the log
    if (await sizeOf(`${path}-wal`) !== undefined || !(await hasNoLog(path) || await sizeOf(`${path}-shm`) !== undefined)) return false
    await delay(CLOSING_MS)
  }
  return true
}

/** Whether the file is in WAL mode, as while it is open, and has no log. */
async function hasNoLog (path: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined)
  if (file === undefined) return false
  try {
    const { buffer } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    return buffer[MODE] === 2 && buffer.readUInt32BE(VERSION) >= CLOSES_FILES && await sizeOf(`${path}-wal`) === undefined
  } finally {
    await file.close()
  }
}

async function create (path: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.new`
  try {
    const database = await openDatabase(draft, { incrementalVacuum: true })
    try {
      migrate(database, path)
      endWalMode(database)
    } finally { database.close() }
    await link(draft, path).catch(async (error: NodeJS.ErrnoException) => {
      // another process was faster, or the file system has no hard links
      if (error.code !== 'EEXIST') await rename(draft, path)
    })
  } finally {
    for (const part of [...PARTS, '-shm']) await rm(draft + part, { force: true })
  }
}

async function sizeOf (path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}

/** Notices that the file or its log was deleted or replaced: writes would go to files that no other process opens. */
export class FileWatch {
  readonly #path: string
  readonly #nodes: readonly (number | undefined)[]

  constructor (path: string, nodes: readonly (number | undefined)[]) {
    this.#path = path
    this.#nodes = nodes
  }

  /** Call it while the database is open, since the log exists only then. Undefined for a store in memory. */
  static async begin (path: string): Promise<FileWatch | undefined> {
    return path === ':memory:' ? undefined : new FileWatch(path, await nodesOf(path))
  }

  /** What was lost: the file, its log, or nothing. */
  async lost (): Promise<'file' | 'log' | undefined> {
    const now = await nodesOf(this.#path)
    const i = this.#nodes.findIndex((node, i) => node !== now[i])
    return i === -1 ? undefined : i === 0 ? 'file' : 'log'
  }
}

async function nodesOf (path: string): Promise<(number | undefined)[]> {
  return await Promise.all(PARTS.map(async part => (await stat(path + part).catch(() => undefined))?.ino))
}

/** Rows that grow or move leave nothing in the pages that are written anyway; free pages keep what they had. */
export const SECURE_DELETE = 'PRAGMA secure_delete = FAST'

/** Deletes so that the texts leave the file: otherwise its free pages keep them until they are used again. */
export function overwriting (database: SqliteDatabase, remove: () => void): void {
  database.exec('PRAGMA secure_delete = ON')
  try {
    remove()
  } finally {
    database.exec(SECURE_DELETE)
  }
}
