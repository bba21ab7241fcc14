import { ask, ServiceError as Refusal, UnreachableError, type A2aQuestion, type A2aVersion, type InputRequest, type Update } from '@polyvac/client'
import type { Answer } from '@polyvac/core'
import { deadlineSignal, isRecord } from '@polyvac/core/plugin'
import { ServiceError } from '../errors.js'
import { describeFailure, type HttpClient, type WholeReply } from './http-client.js'
import type { Speaker } from './conversation.js'
import type { KeptConversations } from './kept-conversations.js'

/** The longest answer of a service; its own `stream_timeout` is 120 s unless it is set otherwise. */
export const MAX_ANSWER_MS = 3_600_000

type Json = Readonly<Record<string, unknown>>

/** What can be asked at a service, and how. */
export interface Service {
  readonly names: readonly string[]
  readonly speakerOf: (name: string, kept?: KeptConversations) => Speaker
  /** @throws SERVICE_FAILED where the service has no direct routes, which keep conversations */
  readonly requireKept: () => void
}

/**
 * The VACs of a Polyvac service; without its direct routes, the agent of an A2A card; without one, the models of an
 * OpenAI-compatible API.
 * @throws SERVICE_FAILED
 */
export async function findService (client: HttpClient): Promise<Service> {
  const direct = await read(client, 'vac')
  const vacs = listOf(direct.json, 'vacs')
  if (vacs !== undefined) return { names: vacs.map(({ name }) => String(name)), speakerOf: (name, kept) => speaker(client, 'direct', { vac: name }, kept), requireKept: () => {} }
  const requireKept = (): never => { throw new ServiceError(client.base.href, 'it has no direct routes, which keep conversations; leave out --conversation') }
  if (direct.status === 401 || direct.status === 403) throw new ServiceError(client.base.href, refusedText(direct.status))
  const { json: card } = await read(client, '.well-known/agent-card.json')
  const agent = isRecord(card) ? endpointOf(card) : undefined
  if (agent !== undefined) return { names: [agent.name], speakerOf: name => speaker(client, 'a2a', { vac: name, ...agent }), requireKept }
  // clients of such an API are given its address with the version
  for (const base of ['openai/v1/', 'v1/', '']) {
    const models = listOf((await read(client, `${base}models`)).json, 'data')
    if (models !== undefined) return { names: models.map(({ id }) => String(id)), speakerOf: name => speaker(client, 'openai', { vac: name, url: client.address(base).href.replace(/\/$/, '') }), requireKept }
  }
  throw new ServiceError(client.base.href,
    `GET /vac answered ${direct.status} without a list of VACs, and the service sends no agent card and no list of models; polyvac doctor ${client.base.href} shows what it offers`)
}

async function read (client: HttpClient, path: string): Promise<WholeReply> {
  return await client.send(path).catch((err: unknown) => { throw new ServiceError(client.base.href, describeFailure(err)) })
}

function listOf (value: unknown, key: string): Json[] | undefined {
  const list = isRecord(value) ? value[key] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : undefined
}

interface Endpoint { readonly name: string, readonly url: string, readonly version: A2aVersion }

/** The JSON-RPC address of an agent card, of A2A 1.0 where it has one. */
function endpointOf (card: Json): Endpoint | undefined {
  const name = String(card.name)
  const modern = listOf(card, 'supportedInterfaces')?.find(entry => entry.protocolBinding === 'JSONRPC' && entry.protocolVersion === '1.0')
  if (typeof modern?.url === 'string') return { name, url: modern.url, version: '1.0' }
  const { url, preferredTransport = 'JSONRPC' } = card
  return typeof url === 'string' && preferredTransport === 'JSONRPC' ? { name, url, version: '0.3' } : undefined
}

/** Asks over one protocol. An A2A agent keeps the history, in a context; a reply to a question goes to its task. */
function speaker (client: HttpClient, protocol: 'direct' | 'openai' | 'a2a', to: Pick<A2aQuestion, 'vac' | 'url' | 'version'>, kept?: KeptConversations): Speaker {
  const { base: { href: base }, fetch } = client
  let conversation: string | undefined
  let reply: InputRequest | undefined
  return async function * (text, history, signal) {
    const { signal: stop, end } = deadlineSignal(MAX_ANSWER_MS, signal, { ref: false })
    // a service that keeps the conversation has its turns
    const question = { ...to, base, fetch, text, history: kept?.id === undefined ? history : undefined, signal: stop, conversation: kept?.id ?? conversation, reply }
    reply = undefined
    let answer = ''
    let sources: Update['sources'] = []
    try {
      for await (const update of ask(protocol, question)) {
        if (update.signIn !== undefined) throw new ServiceError(base, update.signIn.text)
        const piece = pieceOf(answer, update)
        if (piece !== '') yield piece
        answer = update.text ?? answer + piece
        sources = update.sources ?? sources
        // the direct routes keep a conversation only for callers who name it
        if (protocol === 'a2a') conversation = update.conversation ?? conversation
        if (update.done !== true) continue
        reply = update.input
        yield typeof update.event?.answer === 'string'
          ? update.event as unknown as Answer
          : { answer, source_documents: sources, ...reply !== undefined && { input_required: reply.text } } as Answer
      }
    } catch (err) {
      signal.throwIfAborted()
      throw err instanceof Refusal ? new ServiceError(base, textOf(err)) : err
    } finally {
      end()
    }
  }
}

/** What is printed of an update: printed text cannot be taken back, so another text is a new paragraph. */
function pieceOf (printed: string, { text, delta = '', done }: Update): string {
  if (text === undefined) return delta
  if (text.startsWith(printed)) return text.slice(printed.length)
  return done === true || text === '' ? '' : `\n\n${text}`
}

function textOf (err: Refusal): string {
  if (err instanceof UnreachableError) return describeFailure(err.cause)
  return err.code === 'REQUEST_REFUSED' && err.status !== undefined ? refusedText(err.status) : err.message
}

function refusedText (status: number): string {
  return `it answered ${status}${status === 401 || status === 403 ? '; send a token with --header \'authorization: Bearer …\'' : ''}`
}
