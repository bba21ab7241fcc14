import { randomUUID } from 'node:crypto'
import { link, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { openDatabase, type SqliteDatabase } from '@polyvac/sqlite'
import { StoreFileError } from '../errors.js'
import { migrate } from './tables.js'

/** The file of tasks and its write-ahead log. */
const PARTS = ['', '-wal'] as const

/**
 * Opens the file of a store. A new one is created under another name and gets its own once it is complete: an empty
 * file is not a new store, but one that lost its content. @throws TASK_STORE_FILE
 */
export async function openFile (path: string): Promise<SqliteDatabase> {
  if (path !== ':memory:') {
    await mkdir(dirname(path), { recursive: true })
    // the log first: a process that creates the file now makes its log later
    const [log, file] = [await sizeOf(`${path}-wal`), await sizeOf(path)]
    if (file === 0) throw new StoreFileError(path, 'the file is empty, so its content was lost; restore it, or delete it to begin with none')
    if (file === undefined && (log ?? 0) > 0) {
      throw new StoreFileError(path, 'the file is missing and its log, with -wal at the end, is there; restore the file, or delete the log to begin with none')
    }
    if (file === undefined) await create(path)
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

async function create (path: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.new`
  try {
    const database = await openDatabase(draft, { incrementalVacuum: true })
    try { migrate(database, path) } finally { database.close() }
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
