import { negotiate } from '@fastify/accept-negotiator'
import type { Answer, ChatTurn, Chunk, NewRun, Run, RunTurn, Step, TurnQuestion, Vac } from '@polyvac/core'
import type { ExposedVacs, Failure, MemorySearchInput, Text } from '@polyvac/core/protocol'
import { Type, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import type { IncomingHttpHeaders } from 'node:http'
import type { CallerConversations, CallerRuns, Citation, Passage, Restart } from './caller.js'

export type { CallerConversations, CallerRuns, Citation, Passage, Restart } from './caller.js'

/**
 * A protocol over HTTP in which callers ask VACs. It computes only: it reads requests, and writes bodies and frames.
 * `serveProtocol` does the rest: callers, errors, streams, disconnects, timeouts, logs, metrics.
 */
export interface ChatProtocol<Options extends TObject = TObject> {
  /** Its name in `protocols`, `extra.protocol`, logs, metrics and spans. */
  readonly name: string
  /** The beginning of the paths of its routes. */
  readonly prefix: string
  /** Its options besides `keep_alive`, each of them optional. */
  readonly options?: Options
  /** The routes, in the order of registration. Without options they have the same methods and paths. */
  routes (options: Static<Options>): readonly ProtocolRoute[]
  /** The body of a failure before the first byte of an answer. */
  toError (failure: Failure): object | string
  /** No client outside of the application reads the errors, so with `errorHandler: 'app'` it answers them itself. */
  readonly appErrors?: boolean
  /** The path that lists the VACs, for the texts of errors. Default `/vac`. */
  readonly list?: string
  /** The header of responses that has the id of the request. */
  readonly requestIdHeader?: string
  /** Further headers of the response of a failure. */
  errorHeaders? (failure: Failure): Readonly<Record<string, string>>
  /**
   * The path, after the prefix, that shows a passage of a memory; its route reads `passage`. Citations of all protocols
   * of the same plugin name it.
   */
  readonly passagePath?: (vac: string, id: string) => string
}

/** Schemas and description of a route. */
export interface RouteSchema {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly params?: TSchema
  readonly querystring?: TSchema
  readonly body?: TSchema
  readonly response: Readonly<Record<string | number, object>>
}

interface RouteHead<Schema extends RouteSchema> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** The path after the prefix. */
  readonly path: string
  readonly schema: Schema
}

interface ReadHead<Schema extends RouteSchema> extends RouteHead<Schema> {
  /** The status of an answer with a body. Default 200. */
  readonly status?: 201
  /** It needs no caller: what it shows is named by an id that is sealed. */
  readonly isOpen?: true
}

interface AskHead<Schema extends RouteSchema> extends RouteHead<Schema> {
  /** What it may stream. @fastify/compress passes events on; it would buffer text. */
  readonly streams?: 'events' | 'text'
}

/**
 * A route that reads or changes something, asks a VAC, follows a run, or searches a memory. Make it with the functions
 * below.
 */
export type ProtocolRoute =
  | ReadHead<RouteSchema> & { read (request: ChatRequest): Body | Promise<Body> }
  | AskHead<RouteSchema> & { ask (request: ChatRequest): AskReply | Promise<AskReply> }
  | AskHead<RouteSchema> & { follow (request: ChatRequest): FollowReply | Promise<FollowReply> }
  | RouteHead<RouteSchema> & { search (request: ChatRequest): Searched }

/** What a route that asks does: it asks, it reads a run that is there already, or it answers without a VAC. */
export type AskReply = Asked | Followed | BodyWithHeaders
/** The same for a route that follows. Undefined: 204. */
export type FollowReply = Followed | WholeBody | BodyWithHeaders | undefined

/** The answer of a route that follows where its request asks for it. */
export interface WholeBody { readonly body: object }

/** Undefined: 204, without a body. */
type Body = object | BodyWithHeaders | undefined

/** A body with headers; a text has the `content-type` that they name. */
export class BodyWithHeaders {
  constructor (readonly body: object | string, readonly headers: Readonly<Record<string, string>>) {}
}

type Of<Schema> = Schema extends TSchema ? Static<Schema> : unknown

/** A request whose parts are valid by the schemas of its route. */
export interface ChatRequest<Schema extends RouteSchema = RouteSchema> {
  readonly body: Of<Schema['body']>
  readonly params: Of<Schema['params']>
  readonly query: Of<Schema['querystring']>
  readonly headers: IncomingHttpHeaders
  /** The VACs that the caller may use. */
  readonly vacs: ExposedVacs
  /** One of them. @throws VAC_NOT_FOUND; NOT_FOUND for an empty name, that of a path with a slash too many */
  vac (name: string): Vac
  /**
   * One citation for each `[n]` of the text that names a source, in the order of the text, then one for each source
   * that no marker names. A source without an address has none.
   */
  cite (vac: Vac, answer: Pick<Answer, 'answer' | 'source_documents'>): readonly Citation[]
  /** The passage of an address that a citation has. @throws SOURCE_NOT_FOUND, the same for each reason */
  passage (vac: string, id: string): Promise<Passage>
  /** The runs of the caller. @throws RUNS_NOT_CONFIGURED (501) where the plugin got none */
  readonly runs: CallerRuns
  /** Whether the plugin got runs, and whether they keep conversations. */
  readonly keepsRuns: boolean
  readonly keepsConversations: boolean
  /** Whether the caller finds a conversation by its id later. @param id undefined: one that the service makes */
  keeps (id: string | undefined): boolean
  /** The conversations of the caller. @throws RUNS_NOT_CONFIGURED, CONVERSATIONS_NOT_KEPT (501) */
  readonly conversations: CallerConversations
}

/** A question to a VAC, and the format of the answer. */
export interface Asked {
  readonly vac: Vac
  readonly question: string
  readonly history: readonly ChatTurn[]
  /** Files of the question, which its turn keeps. */
  readonly files?: TurnQuestion['files'] | undefined
  /** Further fields for the interpreter. */
  readonly extra: Readonly<Record<string, unknown>>
  /** Total time for the interpreter, in ms. Default: that of the plugin. */
  readonly timeoutMs?: number | undefined
  /** Whether the request asks for steps, or the protocol always has them. What its caller sees is decided for it. */
  readonly steps?: boolean | undefined
  readonly format: WholeFormat | StreamFormat
  /** The conversation of the question: the answer is a run. @throws RUNS_NOT_CONFIGURED where the plugin has no runs */
  readonly conversation?: string | undefined
  /** Whether `history` is what the client has of the whole conversation; see `NewRun`. */
  readonly sendsAll?: boolean | undefined
  readonly replaces?: NewRun['replaces']
  /** What another question of the conversation that is answered now means. Default: this one is refused. */
  readonly other?: 'supersede' | undefined
  /** An id that its client gives the run: a request with the id of an earlier one of the caller reads that. */
  readonly runKey?: string | undefined
  /** Whether the answer is a run where the plugin has runs, also without a conversation. */
  readonly isKept?: boolean | undefined
  /** The answer that the question follows, and what the run keeps of the question; see `NewRun`. */
  readonly previous?: RunTurn | undefined
  readonly notes?: unknown
  /** False: the question and its answer are not kept in the conversation. */
  readonly store?: boolean | undefined
  /** Answers 202 at once, where the plugin has runs; the answer is a run that goes on without its reader. */
  readonly background?: Background | undefined
  /**
   * An answer that is kept goes on when its reader leaves, and is cancelled after so long without one, in ms. Infinity:
   * it is never cancelled.
   */
  readonly unreadMs?: number | undefined
  /** Takes the run that the answer is, before it is formatted: its id and its times are those of the answer. */
  readonly identify?: ((run: Run) => void) | undefined
}

/** The response of a question that is answered in the background. */
export interface Background {
  readonly toBody: (run: Run) => object
  /** The path of the run after the prefix of the protocol. */
  readonly toPath: (run: Run) => string
  /** Default 202. */
  readonly status?: 200
}

/** A run that its caller reads. */
export interface Followed {
  /** Undefined for any that the caller may use. */
  readonly vac: Vac | undefined
  readonly id: string
  /** The number of the last event that the reader has; 0 for none. */
  readonly after: number
  /** Only this turn. */
  readonly turn?: number | undefined
  /** Whether an administrator reads also runs of other owners. */
  readonly readsAll?: boolean | undefined
  readonly format: StreamFormat
}

/** The answer in one body. */
export interface WholeFormat {
  /** `steps`: those that the caller sees; undefined where it sees none. */
  readonly toBody: (answer: Answer, steps: readonly Step[] | undefined) => object
  /** Takes all that comes before the answer, as a stream would. */
  readonly add?: ((item: Chunk | Restart) => void) | undefined
}

/** The answer as a stream. */
export interface StreamFormat {
  /** The media type; `text/event-stream` gets keep-alives. */
  readonly type: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * The text of a chunk, a large one in pieces; an empty text skips it. The last chunk is the Answer.
   * @param seq the cursor of a run that is followed, or that begins with the text that stands now
   */
  readonly encode: (chunk: Chunk, seq?: number) => Text
  /**
   * The text that takes back all text before it, which comes again after a crash. Undefined: a protocol that cannot do
   * that gets a new paragraph. It may return CUT: the reader is disconnected, and comes back.
   * @param seq the cursor of a run that is followed
   * @param at the number of the event, also where the frames have no cursors
   */
  readonly restart?: ((seq: number | undefined, at: number) => Text | typeof CUT) | undefined
  /** The text after the last chunk. */
  readonly end?: string | undefined
  /**
   * The text before the first chunk of an event stream, after which a failure is one after the first byte. It may be
   * asked for after the first chunk, which then has it before its own text: it is empty from then on.
   */
  readonly open?: (() => string) | undefined
  /** The keep-alive of an event stream. Default: a comment. */
  readonly keepAlive?: (() => string) | undefined
  /** Whether a run is encoded piece by piece as its log has it. Otherwise text that is there already is joined. */
  readonly isExact?: boolean | undefined
  /** Whether a reader that has got the end of a run is noted; see `CallerRuns.latest`. */
  readonly notesEnd?: boolean | undefined
  /** Whether a run begins with the text that stands now; see `RunReading`. */
  readonly isLatest?: boolean | undefined
  /** The text, and the end, for readers that the closing service leaves. Default: they are disconnected. */
  readonly closing?: (() => string) | undefined
  /** The text of a failure after the first byte, and the end; CUT disconnects the reader. */
  readonly toFailure: (failure: Failure) => string | typeof CUT
  /** Longest silence in ms, after which a comment is sent; 0 for none. Default: `keep_alive` of the protocol. */
  readonly keepAliveMs?: number | undefined
}

/** Disconnects the reader of a stream. */
export const CUT = Symbol('cut')

/** A search in the memory of a VAC. */
export interface Searched {
  readonly vac: Vac
  readonly input: MemorySearchInput
}

/** A route that answers with what it reads or changes. */
export function readRoute<const Schema extends RouteSchema> (
  route: ReadHead<Schema> & { read (request: ChatRequest<Schema>): Body | Promise<Body> }): ProtocolRoute {
  return route as ProtocolRoute
}

/** A route that reads a run from its beginning or from a cursor. */
export function followRoute<const Schema extends RouteSchema> (
  route: AskHead<Schema> & { follow (request: ChatRequest<Schema>): FollowReply | Promise<FollowReply> }): ProtocolRoute {
  return route as ProtocolRoute
}

/** A route that asks a VAC. */
export function askRoute<const Schema extends RouteSchema> (
  route: AskHead<Schema> & { ask (request: ChatRequest<Schema>): AskReply | Promise<AskReply> }): ProtocolRoute {
  return route as ProtocolRoute
}

/** A route that searches the memory of a VAC: the result is that of its memory skill. */
export function searchRoute<const Schema extends RouteSchema> (
  route: RouteHead<Schema> & { search (request: ChatRequest<Schema>): Searched }): ProtocolRoute {
  return route as ProtocolRoute
}

/** The parameter of paths that name a VAC. */
export const VectorName = Type.Object({ vector_name: Type.String({ description: 'name of the VAC' }) })

export const EVENT_STREAM = 'text/event-stream'

/** That of some media types which `Accept` prefers; undefined where it accepts none, or is absent. */
export function acceptedType<Name extends string> (accept: string | undefined, types: readonly Name[]): Name | undefined {
  return accept === undefined ? undefined : negotiate(accept, types as Name[]) as Name | null ?? undefined
}
