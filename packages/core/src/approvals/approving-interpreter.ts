import { iteratorOf, leave } from '../interpreter/source.js'
import { isAnswerObject } from '../vac/chunk.js'
import { isRecord } from '../basics/is-record.js'
import type { FinalAnswer, Interpreter, InterpreterChunk, InterpreterExtra, InterpreterResult } from '../vac/interpreter.js'
import type { FunctionTool, ToolCallResult } from '../vac/tools.js'
import type { Answer } from '../vac/vac.js'
import { allowCall } from '../vac/allowed-call.js'
import type { StoredApproval } from './approval-store.js'
import { replyOf } from './approval.js'
import { RunApprovals, type ApprovalRule } from './run-approvals.js'

// a symbol: callers cannot send it, and threads of interpreters do not get it
const APPROVALS = Symbol('approvals')

/** The approvals of the answer that an interpreter gives; undefined where its tools need none. */
export function approvalsOf (extra: object): RunApprovals | undefined {
  return (extra as { readonly [APPROVALS]?: RunApprovals })[APPROVALS]
}

/**
 * An interpreter whose calls of tools wait for an approval where the rule has it. The answer ends with the question
 * then. Once it is answered, the interpreter is asked as before: it continues from the state that it has left in
 * `approvalsOf(extra).state`, or begins anew, and gets the results of the calls that were approved before.
 * @param isNeeded whether its calls may need an approval; otherwise only answers to earlier questions are looked at
 */
export function approvingInterpreter (interpreter: Interpreter, rule: ApprovalRule, isNeeded: boolean): Interpreter {
  const approving: Interpreter = async function * (question, name, history, extra): AsyncGenerator<InterpreterChunk, InterpreterResult | void> {
    const approvals = new RunApprovals(rule, name, question, history, extra)
    const begun = await approvals.begin()
    if (begun.kind === 'over') return begun.text
    if (begun.kind === 'again') return yield * asked(begun.approval, '', undefined)
    const asks = begun.kind === 'new' ? { question, history } : { question: begun.question, history: [...begun.history] }
    let text = ''
    let end: unknown
    try {
      const returned = interpreter(asks.question, name, asks.history, guarded(extra, approvals))
      const source = iteratorOf(returned)
      if (source === undefined) end = await returned
      else {
        let isOver = false
        try {
          while (!isOver) {
            const { done, value } = await source.next() as IteratorResult<unknown>
            isOver = done === true
            if (isOver) end = value ?? end
            else if (isAnswerObject(value)) end = value
            else {
              if (typeof value === 'string') text += value
              yield value as InterpreterChunk
            }
          }
        } finally {
          if (!isOver) await leave(source)
        }
      }
    } catch (err) {
      if (!approvals.isAsking || extra.signal.aborted) throw err
    }
    if (approvals.isAsking) return yield * asked(await approvals.ask(), text, end)
    return end as InterpreterResult
  }
  if (isNeeded) return approving
  // a call that was declined or has begun must not run, also where the list has changed since
  return (...args) => replyOf(args[0], args[2], args[3]) === undefined ? interpreter(...args) : approving(...args)
}

/** The end of an answer that asks for an approval. */
async function * asked ({ id, tool, server, input, text: question, expiresAt }: StoredApproval, before: string, end: unknown): AsyncGenerator<string, InterpreterResult> {
  // readers of text see it, too
  const shown = before.trim() === '' ? question : `\n\n${question}`
  yield shown
  const { source_documents: sources, metadata } = isRecord(end) ? end as Partial<FinalAnswer> : {}
  return {
    answer: before + shown,
    ...sources !== undefined && { source_documents: sources },
    ...metadata !== undefined && { metadata },
    input_required: question,
    input_schema: { type: 'boolean' },
    approval: { id, tool, ...server !== undefined && { server }, input, expires_at: new Date(expiresAt).toISOString() }
  }
}

/** The same with tools that wait for approvals. */
function guarded (extra: InterpreterExtra, approvals: RunApprovals): InterpreterExtra {
  const { callTool, callAgent } = extra
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(extra)) as Record<string | symbol, unknown>
  copy[APPROVALS] = approvals
  if (callTool !== undefined) {
    copy.callTool = async (...[server, tool, input, options]: Parameters<typeof callTool>) =>
      await approvals.call({ server, tool, input }, async approved => await callTool(server, tool, input, approved === undefined ? options : allowCall(options)))
  }
  copy.callAgent = async (...[name, content, options]: Parameters<typeof callAgent>): Promise<Answer> =>
    await approvals.call({ tool: await listName(extra, name), input: { message: content } }, async approved =>
      await callAgent(name, approved?.relay === undefined ? content : [{ text: 'yes' }, { data: { approval: { id: approved.relay, approved: true } } }], options))
  let bound: readonly FunctionTool[] | undefined
  Object.defineProperty(copy, 'tools', { enumerable: true, configurable: true, get: () => (bound ??= extra.tools.map(tool => guardedTool(tool, approvals))) })
  return copy as unknown as InterpreterExtra
}

/** The name of an agent in the lists `tools` and `approve`. */
async function listName ({ listAgents }: InterpreterExtra, name: string): Promise<string> {
  const agent = (await listAgents()).find(listed => listed.name === name)
  return agent?.remote === false ? `vac:${name}` : name
}

function guardedTool (tool: FunctionTool, approvals: RunApprovals): FunctionTool {
  const call = async (...args: Parameters<FunctionTool['call']>): Promise<ToolCallResult<unknown>> =>
    await approvals.call({ tool: tool.name, input: args[0] }, async () => await tool.call(...args))
  return { ...tool, call: call as FunctionTool['call'] }
}
