import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isCorrupt } from '@polyvac/sqlite'
import { IndexFileError, IndexNotOursError } from './errors.js'
import { PassageIndex } from './passage-index.js'
import type { FolderSettings } from './folder-options.js'

/**
 * Opens the index of a folder. A file that is damaged, or no index of ours, is moved aside to `<file>.replaced`, never
 * deleted: somebody may have named the wrong file. The default place gives way to memory where it cannot be written.
 */
export async function openIndex (settings: FolderSettings): Promise<PassageIndex> {
  const { indexFile, indexFileGiven, key, log } = settings
  if (indexFile === ':memory:') return await PassageIndex.open(indexFile, key)
  try {
    await mkdir(dirname(indexFile), { recursive: true })
    return await openOrReplace(indexFile, settings)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    if (!isFileProblem(code)) throw error
    if (indexFileGiven) throw new IndexFileError(indexFile, code)
    log.warn({ indexFile, code }, 'the index cannot be kept on disk and is made anew at every start; set indexFile')
    return await PassageIndex.open(':memory:', key)
  }
}

async function openOrReplace (indexFile: string, { key, log }: FolderSettings): Promise<PassageIndex> {
  try {
    return await PassageIndex.open(indexFile, key)
  } catch (error) {
    if (!isCorrupt(error) && !(error instanceof IndexNotOursError)) throw error
    log.warn({ indexFile, movedTo: `${indexFile}.replaced`, reason: (error as Error).message }, 'the index file is not usable and is made anew')
    await moveAside(indexFile)
    return await PassageIndex.open(indexFile, key)
  }
}

export async function moveAside (indexFile: string): Promise<void> {
  await rename(indexFile, `${indexFile}.replaced`)
  await Promise.all(['-wal', '-shm'].map(async suffix => { await rm(indexFile + suffix, { force: true }) }))
}

function isFileProblem (code: unknown): boolean {
  return typeof code === 'string' && (/^E[A-Z]+$/.test(code) || /^SQLITE_(?:CANTOPEN|READONLY|PERM|IOERR|FULL)/.test(code) || code === 'ERR_SQLITE_ERROR')
}
