import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isCorrupt } from '@polyvac/sqlite'
import { IndexFileError, IndexNotOursError } from '../errors.js'
import { PassageIndex } from '../search/passage-index.js'
import type { FolderSettings } from './folder-options.js'

/**
 * Opens the index of a folder. A file that is damaged, or that is not an index, is moved to `<file>.replaced` and not
 * deleted: its path may be a mistake. Where the default file cannot be written, the index is kept in memory.
 */
export async function openIndex (settings: FolderSettings): Promise<PassageIndex> {
  const { indexFile, isIndexFileSet, key, log } = settings
  if (indexFile === ':memory:') return await PassageIndex.open(indexFile, key)
  try {
    await mkdir(dirname(indexFile), { recursive: true })
    return await openOrReplace(indexFile, settings)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    if (!isFileProblem(code)) throw error
    if (isIndexFileSet) throw new IndexFileError(indexFile, code)
    log.warn({ indexFile, code }, 'the index cannot be kept on disk and is rebuilt at every start; set `indexFile`, which is `index_file` in the configuration')
    return await PassageIndex.open(':memory:', key)
  }
}

async function openOrReplace (indexFile: string, { key, log }: FolderSettings): Promise<PassageIndex> {
  try {
    return await PassageIndex.open(indexFile, key)
  } catch (error) {
    if (!isCorrupt(error) && !(error instanceof IndexNotOursError)) throw error
    const { message: reason } = error as Error
    log.warn({ indexFile, movedTo: `${indexFile}.replaced`, reason }, 'the index file is not usable and is rebuilt')
    await moveAside(indexFile)
    return await PassageIndex.open(indexFile, key)
  }
}

export async function moveAside (indexFile: string): Promise<void> {
  await rename(indexFile, `${indexFile}.replaced`)
  await Promise.all(['-wal', '-shm'].map(async suffix => { await rm(indexFile + suffix, { force: true }) }))
}

function isFileProblem (code: unknown): boolean {
  return typeof code === 'string' && /^(?:E[A-Z]+$|SQLITE_(?:CANTOPEN|READONLY|PERM|IOERR|FULL)|ERR_SQLITE_ERROR$)/.test(code)
}
