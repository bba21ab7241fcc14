import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { JWK } from 'jose'
import { PushSigningKeysError } from './errors.js'
import { SigningKeys } from './signing-keys.js'

/**
 * The keys in the file at `path`; a new key in a new file, only for its owner, where there is none. Processes that
 * start at once end with the same key. Rejects with PUSH_SIGNING_KEYS; a file that cannot be used stays unchanged.
 * @example
 * await app.register(a2aPlugin, { vacs, tasks, push: { keys: await openSigningKeys('data/signing-keys.json') } })
 */
export async function openSigningKeys (path: string): Promise<SigningKeys> {
  const source = `'${path}'`
  try {
    const text = await readIfThere(path) ?? await create(path)
    return await SigningKeys.from(parse(text), source)
  } catch (error) {
    throw error instanceof PushSigningKeysError ? error : new PushSigningKeysError(source, (error as Error).message)
  }
}

async function readIfThere (path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A link fails where a file is, and shows the file whole: the first process wins, the others read its key. */
async function create (path: string): Promise<string> {
  const keys = await SigningKeys.generate()
  const draft = `${path}.${randomUUID()}`
  await mkdir(dirname(path), { recursive: true })
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(keys.privateJwks(), null, 2)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') {
        throw new Error(`a link to it cannot be made (${error.code}); give a path on a local disk`)
      }
    })
  } finally {
    await rm(draft, { force: true })
  }
  return await readFile(path, 'utf8')
}

// the parser's own text quotes the file
function parse (text: string): { keys: JWK[] } {
  try {
    return JSON.parse(text) as { keys: JWK[] }
  } catch {
    throw new Error('it is not JSON; mend it, or remove it to have a new key made')
  }
}
