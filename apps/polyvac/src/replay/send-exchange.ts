import { randomUUID } from 'node:crypto'
import { isRecord } from '@polyvac/core/plugin'
import { endSession, INITIALIZE, modernRequest, openSession, resultOf, rpc } from '../doctor/json-rpc.js'
import { describeFailure, MAX_REPLY_BYTES, type HttpClient, type HttpRequest } from '../client/http-client.js'
import { compareExchange, type Difference, type Outcome } from './compare.js'
import { effectOf, type Effect } from './effects.js'
import { replaceIds } from './events.js'
import type { RecordedExchange } from './session-file.js'

/** The longest time for one answer; the `stream_timeout` of a service is 120 s unless it is set otherwise. */
export const MAX_EXCHANGE_MS = 300_000
/** Time beyond the recorded one that an answer has whose rest the session does not hold. */
const MAX_EXTRA_MS = 2_000
/** Pages of a list of tools that are read. */
const MAX_TOOL_PAGES = 20
const MASK = '•••'
/** Headers of a session that are sent again: those that choose a representation or belong to a protocol. */
const SENT = /^(?:accept|content-type|last-event-id|prefer|a2a-[\w-]+|mcp-[\w-]+)$/i

export interface ReplayResult {
  readonly line: number
  readonly id: string
  readonly label: string
  readonly result: 'same' | 'different' | 'skipped'
  /** Why it was skipped. */
  readonly reason?: string
  readonly differences?: readonly Difference[]
}

/**
 * Sends the requests of a session again, one after another. An id that the service chose is replaced by the one that it
 * chooses now, and that of a run by another one. Without `all`, requests that may change something are skipped.
 */
export async function * replaySession (client: HttpClient, session: readonly RecordedExchange[], all: boolean): AsyncGenerator<ReplayResult> {
  const pairs = new Map<string, string>()
  const harmless = new Map<string, Promise<ReadonlySet<string>>>()
  for (const exchange of session) {
    const { line, id, label, request, status } = exchange
    const skip = (reason: string): ReplayResult => ({ line, id, label, result: 'skipped', reason })
    if (status === undefined) { yield skip('the session has no response of it'); continue }
    if (request.method === 'GET' && 'last-event-id' in request.headers) { yield skip('it resumes a stream of the recorded run'); continue }
    nameRunAnew(request.body, pairs)
    const url = addressOf(client, request.path, pairs)
    const body = replaceIds(request.body, pairs)
    if (`${request.path}${JSON.stringify(body) ?? ''}`.includes(MASK)) { yield skip('the request had a secret, which the session does not hold'); continue }
    if (!all && !await isHarmless(client, effectOf(request.method, url.pathname, body), harmless)) {
      yield skip('it may change something; --all sends it')
      continue
    }
    let differences: Difference[]
    try {
      const now = await sendRequest(client, url, exchange, body, pairs)
      differences = compareExchange(exchange, now, pairs)
    } catch (err) {
      differences = [{ what: 'reply', recorded: String(status), now: describeFailure(err) }]
    }
    yield differences.length === 0 ? { line, id, label, result: 'same' } : { line, id, label, result: 'different', differences }
  }
}

/** A client of AG-UI names its run: a service that has a run of that name reads it, instead of asking again. */
function nameRunAnew (body: unknown, pairs: Map<string, string>): void {
  if (isRecord(body) && 'threadId' in body && typeof body.runId === 'string' && !pairs.has(body.runId)) pairs.set(body.runId, randomUUID())
}

/** The path of a session may have the prefix of the service already. It never leads to another origin. */
function addressOf (client: HttpClient, path: string, pairs: ReadonlyMap<string, string>): URL {
  const { origin, pathname } = client.base
  const url = new URL(`${origin}${path.startsWith(pathname) ? '' : pathname.slice(0, -1)}${path}`)
  url.pathname = url.pathname.split('/').map(segment => pairs.get(segment) ?? segment).join('/')
  return url
}

async function sendRequest (client: HttpClient, url: URL, exchange: RecordedExchange, body: unknown, pairs: Map<string, string>): Promise<Outcome> {
  const { request: { method, headers: recorded }, headers: answered, frames, isPartial, endedAt = 0 } = exchange
  const sent = Object.entries(recorded).filter(([name, value]) => SENT.test(name) && value !== MASK)
  const headers = replaceIds(Object.fromEntries(sent), pairs)
  // the page measures fractions of a millisecond, which timers refuse
  const maxMs = isPartial ? Math.min(MAX_EXCHANGE_MS, Math.ceil(Math.max(0, endedAt)) + MAX_EXTRA_MS) : MAX_EXCHANGE_MS
  const reply = await client.open(url.href, { method, headers, body, maxMs })
  const session = reply.headers.get('mcp-session-id')
  if (session !== null && answered['mcp-session-id'] !== undefined) pairs.set(answered['mcp-session-id'], session)
  const enough = isPartial ? Math.max(1, frames.reduce((sum, { length }) => sum + length, 0)) : Infinity
  let text = ''
  let bytes = 0
  let isCut = false
  try {
    for await (const piece of reply.pieces) {
      text += piece.text
      bytes += piece.bytes
      isCut = text.length >= enough || bytes >= MAX_REPLY_BYTES
      if (isCut) break
    }
  } catch (err) {
    // a stream that stays open has sent what it had
    if (!isPartial) throw err
    isCut = true
  }
  return { status: reply.status, contentType: reply.headers.get('content-type') ?? '', text, isPartial: isCut }
}

async function isHarmless (client: HttpClient, effect: Effect, known: Map<string, Promise<ReadonlySet<string>>>): Promise<boolean> {
  if (typeof effect === 'string') return effect === 'none'
  if (!known.has(effect.path)) known.set(effect.path, listReadOnlyTools(client, effect.path).catch(() => new Set<string>()))
  return (await known.get(effect.path)!).has(effect.tool)
}

/** The tools with `readOnlyHint` of the MCP server at a path: the service decides, and not the session. */
async function listReadOnlyTools (client: HttpClient, path: string): Promise<ReadonlySet<string>> {
  // a path that begins with // is not an address of another origin here
  const url = `${client.base.origin}${path}`
  const modern = await readTools(client, url, params => modernRequest('tools/list', params))
  if (modern !== undefined) return modern
  // an older revision, which begins with initialize
  const headers = await openSession(client, url, await client.send(url, INITIALIZE))
  try {
    return await readTools(client, url, params => ({ headers, body: rpc('tools/list', params) })) ?? new Set()
  } finally {
    await endSession(client, url, headers)
  }
}

/** The names from all pages of the list; undefined where the first one is refused. */
async function readTools (client: HttpClient, url: string, request: (params: Readonly<Record<string, unknown>>) => HttpRequest): Promise<Set<string> | undefined> {
  const names = new Set<string>()
  let params = {}
  for (let page = 0; page < MAX_TOOL_PAGES; page++) {
    const result = resultOf(await client.send(url, request(params)))
    if (result === undefined) return page === 0 ? undefined : names
    for (const tool of Array.isArray(result.tools) ? result.tools.filter(isRecord) : []) {
      if (isRecord(tool.annotations) && tool.annotations.readOnlyHint === true) names.add(String(tool.name))
    }
    if (typeof result.nextCursor !== 'string') break
    params = { cursor: result.nextCursor }
  }
  return names
}
