import type { ChatTurn, FinalAnswer, Hit, Interpreter, InterpreterChunk, InterpreterExtra, Memory } from '@polyvac/core'
import { approvalsOf, isRecord } from '@polyvac/core/plugin'
import { documentsInterpreter, ModelFailedError } from '@polyvac/documents'
import { checkGrounding, Citations, codedCause, findModel, foreignHosts, ModelError, openModel } from '@polyvac/documents/parts'
import type { ModelMessage } from 'ai'
import { isAgentState, withResults, type AgentState } from './awaited-calls.js'
import { NoAnswerError, NothingToAnswerWithError } from './errors.js'
import { instructionsOf, messagesFor, type Asking } from './messages.js'
import { NothingBegunError, runSteps, type StepsEnd } from './model-steps.js'
import { offerTools, type OfferedTools } from './offer-tools.js'
import { readAgentOptions, type AgentOptions } from './options.js'
import { ASK_USER } from './own-tools.js'
import { Passages } from './passages.js'

/** Calls of the model for one answer, where nothing else is set. */
const MAX_STEPS = 8
/** Tools that a model has in its list, where nothing else is set. */
const TOOL_SEARCH = 40

type Options = Omit<ReturnType<typeof readAgentOptions>, 'memory'> & { readonly memory: Memory | undefined }

/**
 * An agent without code: a language model that reads the documents of its VAC, calls the tools of MCP servers and asks
 * back. Every statement from a document is cited, `[n]` is `source_documents[n - 1]`, and `metadata.grounding` has how
 * much of the answer rests on what it cites. What the model does is in the steps of the answer. Without a model it
 * answers from the documents, with the reason in `metadata.reason`.
 * @throws AGENT_INVALID_OPTION
 * @example
 * const memory = await openFolder({ path: 'docs' })
 * const entry = { model: 'qwen3', openai: { base_url: 'http://127.0.0.1:11434/v1' } }
 * const agent = agentInterpreter({ memory, instructions: 'You help customers.' })
 * const vacs = createVacs({ vacs: { help: entry }, streamInterpreter: agent })
 */
export function agentInterpreter (options: AgentOptions = {}): Interpreter {
  const read = readAgentOptions(options)
  const agent: Interpreter = async function * (question: string, name: string, history: ChatTurn[], extra: InterpreterExtra): AsyncGenerator<InterpreterChunk, void> {
    const began = performance.now()
    const { signal, vac } = extra
    const memory: Memory | undefined = read.memory ?? extra.memory
    const server = await findModel(vac, { ownPort: read.ownPort, signal })
    if ('reason' in server) {
      if (memory === undefined) throw new NothingToAnswerWithError(server.reason)
      yield * withoutModel(memory, server.reason, [question, name, history, extra])
      return
    }
    try {
      const opened = await openModel(server, extra.principal?.owner)
      try {
        yield * answer({ ...read, memory }, opened, server.model, question, history, extra, began)
      } finally {
        opened.release()
      }
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      if (error instanceof NothingBegunError && memory !== undefined) return yield * withoutModel(memory, error.reason, [question, name, history, extra])
      throw codedCause(error) ?? Object.assign(new ModelFailedError(server.baseUrl, error.reason), { cause: error })
    }
  }
  return Object.assign(agent, { takes: ['tools', 'images', 'files', 'json_schema'] })
}

async function * answer (options: Options, opened: Awaited<ReturnType<typeof openModel>>, model: string, question: string, history: ChatTurn[], extra: InterpreterExtra, began: number): AsyncGenerator<InterpreterChunk, void> {
  const { vac, signal } = extra
  const { memory, k } = options
  const passages = new Passages(memory, k, extra, began)
  const approvals = approvalsOf(extra)
  const state = isAgentState(approvals?.continued) ? approvals.continued : undefined
  const offering = offerTools(opened.sdk, extra, passages, options.toolSearch ?? wholeNumber(vac.tool_search) ?? TOOL_SEARCH)
  if (state !== undefined) passages.restore(state.hits)
  const [found, offered] = await Promise.all([state === undefined ? passages.forQuestion(question, history) : '', offering])
  const maxSteps = options.maxSteps ?? wholeNumber(vac.max_steps) ?? MAX_STEPS
  const asking: Asking = {
    instructions: options.instructions ?? (typeof vac.instructions === 'string' ? vac.instructions : ''),
    history,
    historyTokens: options.historyTokens,
    question,
    passages: found,
    hasMemory: memory !== undefined,
    hasAgents: offered.hasAgents,
    hasTools: true,
    files: Array.isArray(extra.files) ? extra.files : []
  }
  const { messages, leftOut } = state === undefined ? await messagesFor(asking) : { messages: await calledAgain(state, offered), leftOut: 0 }
  const wait = (messages: readonly ModelMessage[]): void => { approvals!.state = { messages, calls: offered.awaited, hits: passages.hits } satisfies AgentState }
  if (offered.awaited.length > 0) {
    wait(messages)
    return yield { answer: '' }
  }
  const citations = memory !== undefined || offered.hasAgents ? new Citations(passages.hits) : undefined
  const ended = yield * withEnd(() => offered.hidden?.close(), runSteps({
    opened,
    system: instructionsOf(asking),
    messages,
    offered,
    citations,
    name: model,
    began,
    passages,
    schema: schemaOf(extra.request),
    maxSteps,
    maxTokens: options.maxTokens ?? wholeNumber(vac.max_tokens),
    isBegun: state !== undefined,
    retries: options.retries,
    timeoutMs: options.timeoutMs,
    signal
  }))
  const metadata = { mode: 'agent', model, steps: ended.steps, finish_reason: ended.finishReason, ...ended.usage !== undefined && { usage: ended.usage }, ...leftOut > 0 && { turns_left_out: leftOut } }
  if (offered.awaited.length > 0) {
    wait([...messages, ...ended.said])
    return yield { answer: ended.answer, metadata }
  }
  yield await endOf(ended, metadata, question, passages.hits, citations, maxSteps)
}

/** The conversation with the results of the calls that waited for an approval, unless they wait still. */
async function calledAgain ({ messages, calls }: AgentState, offered: OfferedTools): Promise<ModelMessage[]> {
  // @keyed none: the calls of one step of one answer
  const results = new Map<string, string>()
  for (const call of calls) {
    const result = await offered.callAgain(call)
    if (result !== undefined) results.set(call.id, result)
  }
  return withResults(messages, results)
}

/** The last chunk. @throws AGENT_NO_ANSWER */
async function endOf ({ answer, openCalls }: StepsEnd, metadata: Readonly<Record<string, unknown>>, question: string, hits: readonly Hit[], citations: Citations | undefined, maxSteps: number): Promise<InterpreterChunk> {
  const asked = openCalls.find(({ name }) => name === ASK_USER)
  if (asked !== undefined) {
    return { input_required: (asked.input as { readonly question: string }).question, answer, metadata }
  }
  if (openCalls.length > 0) return { answer, source_documents: [], tool_calls: openCalls, metadata } satisfies FinalAnswer
  if (answer.trim() === '') throw new NoAnswerError(String(maxSteps))
  const cited = citations?.cited.map(index => hits[index]!) ?? []
  const grounding = cited.length === 0 ? undefined : await checkGrounding(answer, cited, question)
  const warnings = hits.length === 0 ? [] : await foreignHosts(answer, hits, question)
  return {
    answer,
    source_documents: cited.map(({ content, score, metadata }) => ({ page_content: content, metadata: { ...metadata, score } })),
    metadata: {
      ...metadata,
      ...grounding !== undefined && { grounding },
      ...warnings.length > 0 && { warnings },
      ...citations !== undefined && citations.removed > 0 && { removed_citations: citations.removed }
    }
  }
}

/** The steps, and then the end of what they used. */
async function * withEnd<Chunk, End> (end: () => Promise<void> | undefined, steps: AsyncGenerator<Chunk, End>): AsyncGenerator<Chunk, End> {
  try {
    return yield * steps
  } finally {
    await end()
  }
}

/** The answer from the documents, which names why there is no model. */
async function * withoutModel (memory: Memory, reason: string, [question, name, history, extra]: Parameters<Interpreter>): AsyncGenerator<InterpreterChunk, void> {
  // it would call the model
  const { model, openai, ...vac } = extra.vac
  for await (const chunk of documentsInterpreter(memory)(question, name, history, Object.create(extra, { vac: { value: vac } }) as InterpreterExtra) as AsyncIterable<InterpreterChunk>) {
    const isAnswer = typeof chunk === 'object' && 'answer' in chunk && !('input_required' in chunk)
    yield isAnswer ? { ...chunk as FinalAnswer, metadata: { ...(chunk as FinalAnswer).metadata, reason } } : chunk
  }
}

/** The schema of an answer that chat completions or Responses demand. */
function schemaOf (request: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(request)) return undefined
  const format = isRecord(request.response_format) ? request.response_format : isRecord(request.text) ? request.text.format : undefined
  if (!isRecord(format) || format.type !== 'json_schema') return undefined
  const { schema } = isRecord(format.json_schema) ? format.json_schema : format
  return isRecord(schema) ? schema : undefined
}

function wholeNumber (value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? value as number : undefined
}
