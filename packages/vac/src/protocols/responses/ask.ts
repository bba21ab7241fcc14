import { randomUUID } from 'node:crypto'
import type { Run, RunTurn, Vac } from '@polyvac/core'
import { InvalidRequestError, quoteName } from '@polyvac/core/protocol'
import { NoPreviousResponseError, NoSuchItemError } from '../../errors.js'
import { GRACE_MS } from '../../chat/limits.js'
import { turnFile } from '../../chat/question-file.js'
import { mayCallTools } from '../../openai/tool-calls.js'
import type { Asked, ChatRequest, StreamFormat } from '../../protocol.js'
import { ResponseWriter } from './frames.js'
import { placeOfItem, responseId, runOfResponse } from './ids.js'
import { questionOf, readInput, type InputEntry } from './input.js'
import { checkParameters, echoOf } from './parameters.js'
import type { ResponseHead, ResponseNotes } from './response.js'
import type { ResponseRequest } from './schemas.js'
import { chainOf, citeIn, findRun, itemText, MAX_EARLIER } from './stored.js'

/** Longest data URL that the items of a response keep. */
const MAX_KEPT_URL = 2_048

type Request = Omit<ChatRequest, 'body'> & { readonly body: ResponseRequest }

/** The question of a request, and the format of its response. */
export async function toAsked (request: Request): Promise<Asked> {
  const { body, keepsRuns } = request
  const vac = request.vac(modelOf(body))
  const takes = vac.takes ?? []
  checkParameters(body, takes)
  checkKept(body, keepsRuns)
  const { previous, entries } = await placeOf(request, readInput(body.input, takes))
  const { question, history, files } = questionOf(entries)
  const chain = takes.includes('tools') && previous !== undefined ? await chainOf(request, previous) : []
  checkOutputs(entries, chain, previous !== undefined || body.conversation != null)
  const isStored = body.store !== false && keepsRuns
  const conversation = conversationOf(body)
  const { instructions } = body
  const notes: ResponseNotes = {
    echo: echoOf(body, takes.includes('tools')),
    items: entries.map(({ item }) => keptItem(item)),
    previous: previous === undefined ? undefined : responseId(previous),
    inConversation: conversation === undefined ? undefined : true,
    background: body.background === true ? true : undefined,
    chars: history.reduce((sum, { content }) => sum + content.length, question.length + (instructions?.length ?? 0)),
    callsTools: mayCallTools(body, takes) ? true : undefined
  }
  const head: ResponseHead = { run: { id: randomUUID(), turn: 0 }, model: vac.name, createdAt: Date.now(), isStored, notes }
  return {
    vac,
    question,
    ...files.length > 0 && { files: files.map(turnFile) },
    history: instructions == null || instructions === '' ? history : [{ role: 'system', content: instructions }, ...history],
    extra: { request: parametersOf(body, vac, [...chain, ...entries.map(({ item }) => item)]), ...files.length > 0 && { files } },
    steps: true,
    isKept: isStored,
    store: isStored,
    conversation,
    sendsAll: conversation === undefined ? undefined : false,
    previous,
    notes,
    identify: run => { identify(head, run) },
    ...formatOf(request, vac, head)
  }
}

function formatOf (request: Request, vac: Vac, head: ResponseHead): Pick<Asked, 'format' | 'background' | 'unreadMs'> {
  const { stream, background } = request.body
  const cite = citeIn(request, vac.name)
  if (stream === true) return { format: streamOf(new ResponseWriter(head, cite)), unreadMs: background === true ? Infinity : GRACE_MS }
  const writer = new ResponseWriter(head, cite, Infinity)
  return {
    format: {
      add: item => { writer.add(item) },
      toBody (answer) {
        writer.add(answer)
        return writer.object()
      }
    },
    background: background === true
      ? { status: 200, toBody: () => writer.object('queued'), toPath: run => `/responses/${responseId(run)}` }
      : undefined
  }
}

/** The events of a response. */
export function streamOf (writer: ResponseWriter): StreamFormat {
  return {
    type: 'text/event-stream',
    isExact: true,
    open: () => writer.open(),
    keepAlive: () => writer.keepAlive(),
    encode: chunk => writer.add(chunk),
    restart: () => writer.add({ restart: true }),
    toFailure: failure => [...writer.fail(failure)].join('')
  }
}

function identify (head: ResponseHead, run: Run): void {
  head.run = { id: run.id, turn: run.turn }
  head.createdAt = run.createdAt
  head.conversation = run.conversation
}

function modelOf ({ model }: ResponseRequest): string {
  if (model == null || model === '') throw new InvalidRequestError([{ path: 'body/model', message: 'is missing; name a VAC of GET /openai/v1/models' }])
  return model
}

/** @throws BAD_REQUEST for what needs answers that are kept, where none are */
function checkKept ({ background, conversation }: ResponseRequest, keepsRuns: boolean): void {
  if (keepsRuns) return
  const name = background === true ? 'background' : conversation != null ? 'conversation' : undefined
  if (name !== undefined) throw new InvalidRequestError([{ path: `body/${name}`, message: 'needs answers that are kept, and this service keeps none (the option `runs`); leave it out' }])
}

function conversationOf ({ conversation }: ResponseRequest): string | undefined {
  return typeof conversation === 'string' ? conversation : conversation?.id
}

/**
 * The response that the input follows, and the entries after it. Clients that send the whole conversation name the last
 * answer by its id, as a reference or with its text: what is before it is stored.
 */
async function placeOf (request: Request, entries: readonly InputEntry[]): Promise<{ readonly previous: RunTurn | undefined, readonly entries: readonly InputEntry[] }> {
  const { body: { previous_response_id: named, conversation }, keepsRuns, keepsConversations } = request
  if (named != null) {
    const place = runOfResponse(named)
    const found = keepsRuns && place !== undefined ? await findRun(request.runs, place) : undefined
    if (found === undefined) throw new NoPreviousResponseError(quoteName(named))
    return { previous: place, entries: await resolved(request, entries) }
  }
  const last = conversation != null || !keepsConversations ? -1 : entries.findLastIndex(isAnswer)
  const answer = entries[last]
  const previous = answer === undefined ? undefined : await answered(request, answer)
  if (previous === undefined) return { previous, entries: await resolved(request, entries) }
  const system = entries.slice(0, last).filter(entry => entry.kind === 'message' && ['system', 'developer'].includes(entry.role.toLowerCase()))
  return { previous, entries: await resolved(request, [...system, ...entries.slice(last + 1)]) }
}

function isAnswer (entry: InputEntry): boolean {
  return (entry.kind === 'reference' && !entry.id.startsWith('rs_') && placeOfItem(entry.id)?.isInput !== true) || (entry.kind === 'message' && entry.role.toLowerCase() === 'assistant')
}

/** The response that an entry is an answer of. @throws ITEM_NOT_FOUND for a reference to nothing */
async function answered (request: Request, entry: InputEntry): Promise<RunTurn | undefined> {
  const id = entry.kind === 'reference' ? entry.id : entry.item.id
  const place = typeof id === 'string' ? placeOfItem(id) : undefined
  if (place === undefined || place.isInput) return undefined
  if (entry.kind === 'reference') {
    await itemText(request, entry.id)
    return place.run
  }
  try {
    const { text } = await itemText(request, String(id))
    return entry.kind === 'message' && text === entry.text ? place.run : undefined
  } catch (err) {
    if (err instanceof NoSuchItemError) return undefined
    throw err
  }
}

/** The entries with the texts of references; those to reasoning are dropped. @throws BAD_REQUEST for too many */
async function resolved (request: Request, entries: readonly InputEntry[]): Promise<InputEntry[]> {
  const count = entries.filter(({ kind }) => kind === 'reference').length
  if (count > MAX_EARLIER) throw new InvalidRequestError([{ path: 'body/input', message: `has ${count} references to items, which are read one by one; send at most ${MAX_EARLIER}, or the items themselves` }])
  const all: InputEntry[] = []
  for (const entry of entries) {
    if (entry.kind !== 'reference') all.push(entry)
    else if (!entry.id.startsWith('rs_')) {
      const { role, text } = await itemText(request, entry.id)
      all.push({ kind: 'message', role, text, files: [], item: { type: 'message', role, content: text } })
    }
  }
  return all
}

/** @throws BAD_REQUEST for the output of a call that is not known */
function checkOutputs (entries: readonly InputEntry[], chain: readonly Readonly<Record<string, unknown>>[], isContinued: boolean): void {
  const known = new Set([...entries.flatMap(entry => entry.kind === 'call' ? [entry.id] : []), ...chain.map(({ call_id: id }) => id)])
  // without the earlier items of an interpreter that takes no tools, nothing is certain
  if (isContinued && chain.length === 0) return
  const unknown = entries.findIndex(entry => entry.kind === 'output' && !known.has(entry.id))
  if (unknown !== -1) throw new InvalidRequestError([{ path: `body/input/${unknown}/call_id`, message: 'is that of no function_call in the input, nor in the responses before it' }])
}

/** What the interpreter gets as `extra.request`: the parameters, and the items where it takes more than text. */
function parametersOf (body: ResponseRequest, { takes = [] }: Vac, items: readonly object[]): object {
  const { model: _model, input: _input, stream: _stream, store: _store, background: _background, previous_response_id: _previous, conversation: _conversation, ...parameters } = body
  return takes.length === 0 ? parameters : { ...parameters, input: items }
}

/** An item as the response keeps it: files remain with the question, whose interpreter has them. */
function keptItem (item: Readonly<Record<string, unknown>>): object {
  const { content } = item
  if (!Array.isArray(content)) return item
  return { ...item, content: content.map((part: unknown) => keptPart(part)) }
}

function keptPart (part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(Object.entries(part).filter(([name, value]) => name === 'text' || typeof value !== 'string' || value.length <= MAX_KEPT_URL))
}
