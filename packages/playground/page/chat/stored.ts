import { signal } from '@preact/signals'
import { conversations, type ConversationHead, type Conversations } from '@polyvac/client/conversations'
import { recorder, send, SIGN_IN } from '../requests/exchange.js'
import { bodyOf, settings } from '../shared/settings.js'

/** The conversations with a VAC that the service keeps for the caller. */
export interface Stored {
  readonly vac: string
  /** The newest first; undefined where the service lists none. */
  readonly heads?: readonly ConversationHead[] | undefined
  readonly cursor?: string | undefined
  /** Why the list is absent, or why the last change failed. */
  readonly problem?: string | undefined
}

export const stored = signal<Stored>({ vac: '' })
let reading: Promise<void> | undefined

export function storedWith (vac: string, label: string): Conversations {
  return conversations({ base: '', url: settings.value.routes.vac!, vac, fetch: recorder({ protocol: 'direct', label }) })
}

/** Reads the newest conversations with a VAC, of which the page may not know whether the service keeps them. */
export async function openList (vac: string): Promise<void> {
  stored.value = { vac }
  await (reading = read(vac))
}

/** Reads the newest conversations with a VAC again, where its list is shown. */
export async function readAgain (vac: string): Promise<void> {
  if (stored.value.vac === vac && stored.value.heads !== undefined) await read(vac)
}

/** Adds the next page to the list. */
export async function readMore ({ vac, heads, cursor }: Stored): Promise<void> { await read(vac, heads, cursor) }

/** Pages that a search reads. */
const MAX_PAGES = 20

/** Adds the next pages, for a search in the titles. */
export async function readAll (from: Stored): Promise<void> {
  if (from.cursor === undefined || isReadingAll) return
  isReadingAll = true
  for (let page = 0; page < MAX_PAGES && stored.value.vac === from.vac && stored.value.cursor !== undefined && stored.value.problem === undefined; page++) await readMore(stored.value)
  isReadingAll = false
}
let isReadingAll = false

async function read (vac: string, before: readonly ConversationHead[] = [], cursor?: string): Promise<void> {
  let change: Partial<Stored>
  try {
    const { conversations, next_cursor: next } = await storedWith(vac, `list conversations with ${vac}`).list(cursor === undefined ? {} : { cursor })
    change = { heads: [...before, ...conversations], cursor: next, problem: undefined }
  } catch (err) {
    change = { problem: problemOf(err) }
  }
  // the person may have chosen another VAC meanwhile
  if (stored.value.vac === vac) stored.value = { ...stored.value, ...change }
}

/** Whether the service keeps the conversations with a VAC. @throws the reason of the signal */
export async function isKept (vac: string, signal: AbortSignal): Promise<boolean> {
  if (stored.value.vac !== vac) openList(vac)
  if (stored.value.heads === undefined && stored.value.problem === undefined) {
    await Promise.race([reading, new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(signal.reason) }) })])
  }
  return stored.value.vac === vac && stored.value.heads !== undefined
}

/** The run that answers the last question of a conversation; undefined where none does. */
export async function runIn (vac: string, id: string): Promise<string | undefined> {
  const path = `${settings.value.routes.vac!}/${encodeURIComponent(vac)}/runs?limit=1&conversation_id=${encodeURIComponent(id)}`
  const { runs } = await bodyOf(await send({ protocol: 'direct', label: `find run of ${id}`, path, as: 'json' })) as { runs?: ReadonlyArray<{ run_id: string }> }
  return runs?.[0]?.run_id
}

/** Runs a change of the list of a VAC, or what changes none, and shows why it failed. Whether it did not. */
export async function changeStored (vac: string | undefined, run: () => Promise<unknown>): Promise<boolean> {
  let problem: string | undefined
  try {
    await run()
  } catch (err) {
    problem = problemOf(err)
  }
  if (vac !== undefined) await readAgain(vac)
  if (problem !== undefined) stored.value = { ...stored.value, problem }
  return problem === undefined
}

function problemOf (err: unknown): string {
  const { message, status } = err as Error & { status?: number }
  return status === 401 ? `${message}: ${SIGN_IN}` : message
}
