import type { InterpreterLog } from '../basics/log.js'
import type { CallAgent, ListAgents } from './agents.js'
import type { InterpreterStep, Step } from './step.js'
import type { ExtraMemory } from './memory.js'
import type { CallTool, FunctionTool, ListTools } from './tools.js'
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
   * Calls of tools that the request brought, to an interpreter that takes `tools`: `{ id, name, input }`. The client
   * calls them, and asks again with the results in the history.
   */
  readonly tool_calls?: readonly unknown[] | undefined
  readonly [key: string]: unknown
}

/** Ends an answer with a question back to the caller; under A2A the task becomes `input-required`. */
export interface InputRequired {
  readonly input_required: string
  /** JSON Schema of the reply, for protocols that show a form. */
  readonly input_schema?: Readonly<Record<string, unknown>> | undefined
  /** What the caller may reply, for protocols that show buttons. */
  readonly choices?: readonly unknown[] | undefined
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
  /** Asks another VAC of this service, or an agent of another one, for the caller. */
  readonly callAgent: CallAgent
  /** Lists the agents that `callAgent` can ask. */
  readonly listAgents: ListAgents
  /** The tools of the application; empty where it has none. */
  readonly tools: readonly FunctionTool[]
  /** Searches the knowledge base of the VAC for the caller; undefined where the VAC has none. */
  readonly memory: ExtraMemory | undefined
  /** The id of the conversation; undefined where the question is in none. */
  readonly conversation: string | undefined
  readonly callback: InterpreterCallback
  /** What is particular to the protocol of the request, such as the parameters of a chat completion. */
  readonly request?: unknown
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
   * What it takes besides text: `tools` of the caller, `images`, `audio`, `files`, `json_schema` for the form of its
   * answer, `context`, `state`, and names of OpenAI's parameters that it reads from `extra.request`, such as `stop`.
   * What it does not take is ignored, except where the caller insists: that is refused.
   */
  takes?: readonly string[]
  /** The same; the next minor version drops it. */
  openai?: readonly string[]
}

/** Keys of `extra` that the caller's further fields cannot overwrite. */
export const RESERVED_EXTRA = [
  'signal', 'log', 'vac', 'protocol', 'principal', 'callTool', 'listTools', 'callAgent', 'listAgents', 'tools', 'memory', 'conversation', 'callback'
] as const
