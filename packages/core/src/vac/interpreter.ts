import type { InterpreterLog } from '../basics/log.js'
import type { InterpreterStep, Step } from './step.js'
import type { CallTool, ListTools } from './tools.js'
import type { ChatTurn, Principal, Progress, Protocol } from './vac.js'
import type { VacConfig } from '../config/schema.js'
import type { AnswerArtifact } from './schemas.js'

/** The object that ends an answer. Its further keys reach the caller. */
export interface FinalAnswer {
  readonly answer: string
  readonly source_documents?: readonly unknown[] | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /**
   * Results besides the text, such as files. Over A2A each is an artifact of the task; an answer without text may have
   * a blank `answer`.
   */
  readonly artifacts?: readonly AnswerArtifact[] | undefined
  /** The request is rejected: over A2A the task becomes `rejected`, with `answer` as the reason. */
  readonly rejected?: boolean | undefined
  /** Over A2A 0.3 and 1.0 `answer` is sent as a message, and no task is kept. For small talk. */
  readonly as_message?: boolean | undefined
  /**
   * Calls of tools of the request, in a chat completion of OpenAI to an interpreter that takes `tools`: `{ id, name,
   * input }`. The client calls them, and asks again with the results in the history.
   */
  readonly tool_calls?: readonly unknown[] | undefined
  readonly [key: string]: unknown
}

/** Ends an answer with a question back to the caller; under A2A the task becomes `input-required`. */
export interface InputRequired {
  readonly input_required: string
  readonly [key: string]: unknown
}

/**
 * Ends an answer until a person has signed in or agreed elsewhere. The text states what is needed; under A2A the task
 * becomes `auth-required`.
 */
export interface AuthRequired {
  readonly auth_required: string
  readonly [key: string]: unknown
}

export type InterpreterResult = FinalAnswer | InputRequired | AuthRequired | string
export type InterpreterChunk = string | Progress | InterpreterStep | Step | FinalAnswer | InputRequired | AuthRequired

/** Text by callback. Await the returned promise: it resolves when the reader has caught up. */
export interface InterpreterCallback {
  on_llm_new_token (token: string): Promise<void>
  on_llm_end (result?: unknown): Promise<void>
  async_on_llm_new_token (token: string): Promise<void>
  async_on_llm_end (result?: unknown): Promise<void>
}

/** The last argument of an interpreter: the caller's further fields, and these. */
export interface InterpreterExtra {
  /** Fires when the caller disconnects or cancels, at the timeout, and when the service closes. */
  readonly signal: AbortSignal
  readonly log: InterpreterLog
  /** The VAC's entry of the configuration, unknown keys included. */
  readonly vac: VacConfig
  readonly protocol: Protocol
  readonly principal: Principal | undefined
  /** Calls a tool of an external MCP server; undefined in an application without a gateway. */
  readonly callTool: CallTool | undefined
  /** Lists the tools that `callTool` can call; undefined in an application without a gateway. */
  readonly listTools: ListTools | undefined
  readonly callback: InterpreterCallback
  readonly [key: string]: unknown
}

/**
 * What an application supplies. One type accepts an async generator, a sync generator, an async function, a sync
 * function, and a function that pushes text through `extra.callback` (contract section 1).
 * @example
 * const agent: Interpreter = async function * (question, vectorName, chatHistory, { signal }) {
 *   const response = await fetch(`https://search.example/?q=${encodeURIComponent(question)}`, { signal })
 *   yield await response.text()
 * }
 */
export interface Interpreter {
  (question: string, vector_name: string, chat_history: ChatTurn[], extra: InterpreterExtra):
    | AsyncIterable<InterpreterChunk, InterpreterResult | void>
    | Iterable<InterpreterChunk, InterpreterResult | void>
    | Promise<InterpreterResult | void>
    | InterpreterResult
    | void
  /**
   * The parameters of OpenAI's chat completions that it reads from `extra.openai`, such as `tools`, `response_format`,
   * `stop`, `logprobs`, and `images`, `audio` and `files` in messages. Requests with others are refused, except `tools`
   * that it may leave unused.
   */
  openai?: readonly string[]
}

/** Keys of `extra` that the caller's further fields cannot overwrite. */
export const RESERVED_EXTRA = ['signal', 'log', 'vac', 'protocol', 'principal', 'callTool', 'listTools', 'callback'] as const
