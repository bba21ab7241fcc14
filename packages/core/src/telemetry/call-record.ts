import { isAnswer } from '../vac/chunk.js'
import { usageOf } from '../vac/usage.js'
import type { Log } from '../basics/log.js'
import type { Answer, Chunk, Principal, Protocol } from '../vac/vac.js'
import { isMetered, record } from './instruments.js'
import type { Labels } from './metrics.js'
import { AGENT_NAME, EXECUTE_TOOL, INVOKE_AGENT, MCP_SERVER, OPERATION, OUTCOME, PROTOCOL, TOKEN_TYPE } from './names.js'
import { activeTraceId } from './spans.js'

/** What a call is: of a VAC, or of a tool of an external MCP server. */
export interface CallFields {
  readonly vac?: string | undefined
  readonly server?: string | undefined
  readonly tool?: string | undefined
  readonly protocol: Protocol
  readonly principal?: Principal | undefined
  readonly taskId?: string | undefined
  readonly skill?: string | undefined
  readonly attempt?: number | undefined
}

/** The outcomes that metrics distinguish. Log lines have the code of an error instead of `failed` and `rejected`. */
const OUTCOMES: readonly string[] = ['completed', 'client_closed', 'input-required', 'auth-required', 'rejected']

/** The outcomes of calls that did what they were asked to do, or ask back. */
const DONE: readonly string[] = ['completed', 'input-required', 'auth-required']

interface CallLabels {
  readonly call: Labels
  readonly outcomes: Readonly<Record<string, Labels>>
  readonly input: Labels
  readonly output: Labels
}

/** Most names whose labels are kept, for each protocol. */
const MAX_PREPARED = 1_000
/** Labels by protocol, and by VAC or server. Objects made for each call are slow. */
// @keyed none: the keys are protocols, and VACs and servers of the configuration; MAX_PREPARED for a protocol
const prepared = new Map<string, Map<string, CallLabels>>()

function labelsOf (protocol: string, vac: string | undefined, server = ''): CallLabels {
  const kind = vac === undefined ? `${protocol} server` : protocol
  let named = prepared.get(kind)
  if (named === undefined) prepared.set(kind, named = new Map())
  let labels = named.get(vac ?? server)
  if (labels === undefined) {
    const call = { [PROTOCOL]: protocol, [vac === undefined ? MCP_SERVER : AGENT_NAME]: vac ?? server }
    const operated = { ...call, [OPERATION]: vac === undefined ? EXECUTE_TOOL : INVOKE_AGENT }
    const outcomes = Object.fromEntries([...OUTCOMES, 'failed'].map(outcome => [outcome, { ...operated, [OUTCOME]: outcome }]))
    labels = { call, outcomes, input: { ...operated, [TOKEN_TYPE]: 'input' }, output: { ...operated, [TOKEN_TYPE]: 'output' } }
    if (named.size < MAX_PREPARED) named.set(vac ?? server, labels)
  }
  return labels
}

/** Measures a call of any protocol, and reports it in one log line with the same fields, and in the metrics. */
export class CallRecord {
  outcome = 'client_closed'
  readonly #fields: CallFields
  readonly #log: Log
  readonly #start = performance.now()
  #first: number | undefined
  #chunks = 0
  #characters = 0
  #sources = 0
  #answer: Answer | undefined
  #isCallersMistake = false
  /** Read at the beginning: a run that only waits for its store has given up its context. */
  readonly #traceId = activeTraceId()

  constructor (fields: CallFields, log: Log) {
    this.#fields = fields
    this.#log = log
  }

  chunk (chunk: Chunk): void {
    if (typeof chunk === 'string') {
      this.#first ??= performance.now()
      this.#chunks++
      this.#characters += chunk.length
    } else if (isAnswer(chunk)) {
      this.#finish(chunk)
    }
  }

  /** Records an answer that was not streamed, and returns it. */
  answered (answer: Answer): Answer {
    this.#characters += answer.answer.length
    this.#finish(answer)
    return answer
  }

  /** Records how the call failed, and returns the error. */
  failed (err: unknown): unknown {
    const { code, statusCode } = (err ?? {}) as { code?: unknown, statusCode?: unknown }
    this.#isCallersMistake = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
    this.outcome = code === 'CALL_ABORTED' ? 'client_closed' : typeof code === 'string' ? code : 'failed'
    return err
  }

  /**
   * Logs the call, and counts it. Call it once, in `finally`. The message states what was done; `otherwise` is in its
   * place where the call failed, was rejected or was left by its caller.
   */
  end (message: string, otherwise = message): void {
    const ms = performance.now() - this.#start
    const first = this.#first === undefined ? undefined : this.#first - this.#start
    const { vac, server, tool, protocol, principal, taskId, skill, attempt } = this.#fields
    // a tool of a server answers in one piece and without sources
    const isAnswer = vac !== undefined
    this.#log.info({
      vac,
      server,
      tool,
      protocol,
      owner: principal?.owner,
      taskId,
      skill,
      attempt,
      ms: Math.round(ms),
      firstByteMs: !isAnswer ? undefined : first === undefined ? null : Math.round(first),
      chunks: isAnswer ? this.#chunks : undefined,
      answerChars: isAnswer ? this.#characters : undefined,
      sources: isAnswer ? this.#sources : undefined,
      // as the interpreter states; one that states nothing has answered
      answered: this.#answer?.metadata?.['answered'] === false ? false : undefined,
      outcome: this.outcome,
      traceId: this.#traceId
    }, DONE.includes(this.outcome) ? message : otherwise)
    if (isMetered()) this.#count(ms, first)
  }

  #count (ms: number, first: number | undefined): void {
    const { vac, server, protocol } = this.#fields
    const labels = labelsOf(protocol, vac, server)
    // an alert on failed calls must not depend on callers that name unknown tools
    const outcome = OUTCOMES.includes(this.outcome) ? this.outcome : this.#isCallersMistake ? 'rejected' : 'failed'
    record('gen_ai.client.operation.duration', ms / 1000, labels.outcomes[outcome]!)
    if (first !== undefined) record('polyvac.call.time_to_first_chunk', first / 1000, labels.call)
    if (this.#chunks > 0) record('polyvac.call.chunks', this.#chunks, labels.call)
    const usage = this.#answer === undefined ? undefined : usageOf(this.#answer)
    if (usage === undefined) return
    record('gen_ai.client.token.usage', usage.prompt_tokens, labels.input)
    record('gen_ai.client.token.usage', usage.completion_tokens, labels.output)
  }

  #finish (answer: Answer): void {
    this.#answer = answer
    this.#sources = answer.source_documents.length
    this.outcome = 'completed'
  }
}
