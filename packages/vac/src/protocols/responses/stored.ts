import type { Run, RunTurn } from '@polyvac/core'
import { isRecord, quoteName } from '@polyvac/core/protocol'
import { NoSuchItemError, NoSuchResponseError } from '../../errors.js'
import type { ChatRequest } from '../../protocol.js'
import { ResponseWriter, type Cite } from './frames.js'
import { ANSWER, inputId, keyOf, outputId, placeOfItem, QUESTION, runOfResponse, type ItemPlace } from './ids.js'
import type { ResponseHead, ResponseNotes } from './response.js'

/** Earlier responses that are read for a new one, the latest ones, and the characters of their items. */
export const MAX_EARLIER = 50
const MAX_EARLIER_CHARS = 4 * 1024 * 1024

/** A response that the caller may read. */
export interface StoredResponse {
  readonly run: Run
  readonly turn: number
}

/** @throws RESPONSE_NOT_FOUND, the same for a foreign, an unknown and an invalid id */
export async function findResponse ({ runs, keepsRuns }: ChatRequest, id: string): Promise<StoredResponse> {
  const place = runOfResponse(id)
  const found = keepsRuns && place !== undefined ? await findRun(runs, place) : undefined
  if (found === undefined) throw new NoSuchResponseError(quoteName(id))
  return found
}

/** Undefined for a run that the caller does not have. */
export async function findRun (runs: ChatRequest['runs'], { id, turn }: RunTurn): Promise<StoredResponse | undefined> {
  const run = await runs.find(undefined, id)
  return run !== undefined && turn <= run.turn ? { run, turn } : undefined
}

/** What a response has of its request; one that another protocol began has its question. */
export function notesOf ({ run: { asked }, turn }: StoredResponse): ResponseNotes {
  const { question, notes } = asked[turn]!
  return isRecord(notes) && isRecord(notes.echo)
    ? notes as unknown as ResponseNotes
    : { echo: {}, items: [{ type: 'message', role: 'user', content: question }], chars: question.length }
}

/** A writer for a response whose run is in the store. @param after see ResponseWriter */
export function writerOf (request: ChatRequest, stored: StoredResponse, after: number): ResponseWriter {
  const { run, turn } = stored
  const isOver = turn < run.turn || !['queued', 'running'].includes(run.state)
  const head: ResponseHead = {
    run: { id: run.id, turn },
    model: run.vac,
    createdAt: run.createdAt,
    completedAt: isOver ? run.updatedAt : undefined,
    conversation: run.conversation,
    isStored: true,
    notes: notesOf(stored)
  }
  return new ResponseWriter(head, citeIn(request, run.vac), after)
}

/** Makes the citations of an answer; an empty list where the service no longer serves the VAC. */
export function citeIn (request: ChatRequest, vac: string): Cite {
  return answer => request.vacs.has(vac)
    ? request.cite(request.vacs.get(vac), answer).map(({ url, title, start, end }) => ({ type: 'url_citation', url, title, start_index: start, end_index: end }))
    : []
}

/** The present state of a response. */
export async function readResponse (request: ChatRequest, stored: StoredResponse): Promise<object> {
  const { run: { id, state }, turn } = stored
  const writer = writerOf(request, stored, Infinity)
  const failure = await request.runs.replay({ id, turn }, item => { writer.add(item) })
  if (failure !== undefined) writer.fail(failure)
  return writer.object(state === 'queued' ? 'queued' : undefined)
}

/** The items of the input of a response, with ids. */
function inputOf (stored: StoredResponse): Readonly<Record<string, unknown>>[] {
  const key = keyOf({ id: stored.run.id, turn: stored.turn })
  return notesOf(stored).items.map((item, i) => {
    const id = inputId(key, i)
    return 'role' in item ? messageOf(id, item) : { ...item, id, status: 'completed' }
  })
}

/** A message of a client with its id. */
export function messageOf (id: string, { role, content, ...rest }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...rest, id, type: 'message', role, status: 'completed', content: partsOf(role, content) }
}

function partsOf (role: unknown, content: unknown): unknown {
  if (typeof content !== 'string') return content ?? []
  return [role === 'assistant' ? { type: 'output_text', text: content, annotations: [], logprobs: [] } : { type: 'input_text', text: content }]
}

/** All items that a response was asked with: those of the responses that it follows, then those of its input. */
export async function inputItems (request: ChatRequest, stored: StoredResponse): Promise<Readonly<Record<string, unknown>>[]> {
  const { previous } = notesOf(stored)
  const earlier = previous === undefined ? undefined : runOfResponse(previous)
  return [...earlier === undefined ? [] : await chainOf(request, earlier), ...inputOf(stored)]
}

/** The items of a response and of those before it, inputs and outputs, oldest first. */
export async function chainOf (request: ChatRequest, last: RunTurn): Promise<Readonly<Record<string, unknown>>[]> {
  const parts: Readonly<Record<string, unknown>>[][] = []
  let next: RunTurn | undefined = last
  let chars = 0
  while (next !== undefined && parts.length < MAX_EARLIER && chars < MAX_EARLIER_CHARS) {
    const stored: StoredResponse | undefined = await findRun(request.runs, next)
    if (stored === undefined) break
    const { output } = await readResponse(request, stored) as { output: Readonly<Record<string, unknown>>[] }
    const items = [...inputOf(stored), ...output]
    chars += JSON.stringify(items).length
    parts.unshift(items)
    const { previous } = notesOf(stored)
    next = previous === undefined ? undefined : runOfResponse(previous)
  }
  return parts.flat()
}

/** The text of an item of a response of the caller. @throws ITEM_NOT_FOUND */
export async function itemText (request: ChatRequest, id: string): Promise<{ readonly role: string, readonly text: string }> {
  const place = placeOfItem(id)
  const stored = place === undefined || !request.keepsRuns ? undefined : await findRun(request.runs, place.run)
  const items = stored === undefined ? [] : await itemsAt(request, stored, place!)
  const item = items.find(item => item.id === id)
  if (item === undefined) throw new NoSuchItemError(quoteName(id))
  const parts = Array.isArray(item.content) ? item.content as { text?: unknown }[] : []
  return { role: String(item.role ?? 'assistant'), text: parts.map(({ text }) => typeof text === 'string' ? text : '').join('') }
}

async function itemsAt (request: ChatRequest, stored: StoredResponse, { run, index, isInput }: ItemPlace): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (isInput && index === QUESTION) return [messageOf(inputId(keyOf(run), QUESTION), { role: 'user', content: stored.run.asked[run.turn]!.question })]
  if (isInput) return inputOf(stored)
  const { output } = await readResponse(request, stored) as { output: Readonly<Record<string, unknown>>[] }
  const answer = index === ANSWER ? output.findLast(({ type }) => type === 'message') : undefined
  return answer === undefined ? output : [{ ...answer, id: outputId('msg', keyOf(run), ANSWER) }]
}

/** A page of items in the order of the request. */
export function pageOf (items: readonly Readonly<Record<string, unknown>>[],
  { limit = 20, order = 'desc', after }: { readonly limit?: number | undefined, readonly order?: 'asc' | 'desc' | undefined, readonly after?: string | undefined }): object {
  const ordered = order === 'desc' ? items.toReversed() : items
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && from === 0) throw new NoSuchItemError(quoteName(after))
  return listOf(ordered.slice(from, from + limit), from + limit < ordered.length)
}

export function listOf (data: readonly Readonly<Record<string, unknown>>[], hasMore: boolean): object {
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore }
}
