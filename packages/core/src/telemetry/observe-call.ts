import type { Step } from '../vac/step.js'
import type { ToolAccess } from '../vac/tools.js'
import type { Answer, VacCall } from '../vac/vac.js'
import {
  AGENT_NAME, EXECUTE_TOOL, INPUT_MESSAGES, INVOKE_AGENT, OPERATION, OUTPUT_MESSAGES, PROTOCOL, TOOL_ARGUMENTS, TOOL_NAME, TOOL_RESULT
} from './names.js'
import { isTraced, startSpan, toolLabel, withSpan, type OpenSpan, type SpanOptions } from './spans.js'

/** Most characters of a text in an attribute. */
const MAX_CONTENT_CHARS = 8_192

/** One per process, also with two hosts. */
let isCaptured = false

/** Puts questions, answers, arguments and results into attributes of spans, which have none of them without it. */
export function captureContent (on: boolean): void { isCaptured = on }

/** The text of an attribute; undefined unless content is captured. */
function contentOf (value: unknown): string | undefined {
  if (!isCaptured) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
  return text.length <= MAX_CONTENT_CHARS ? text : `${text.slice(0, MAX_CONTENT_CHARS)}…`
}

/** The messages of an attribute, in the JSON form of the semantic conventions. */
function messagesOf (role: 'user' | 'assistant', text: string): string | undefined {
  const content = contentOf(text)
  if (content === undefined) return undefined
  return JSON.stringify([{ role, parts: [{ type: 'text', content }], ...role === 'assistant' && { finish_reason: 'stop' } }])
}

/** Observes one run of an interpreter, for every protocol. */
export class ObservedCall {
  readonly #span: OpenSpan | undefined
  /** Made at the first call. */
  // @keyed id of a call of a tool that the interpreter yielded | holds: its open span | whose: the caller of the
  //   answer | bound: calls without a result, of which RunSteps tracks maxSteps; an entry ends with its result, all
  //   with the answer | share: one answer | test: apps/host/test/traces.test.ts: tools that an interpreter yields
  #tools: Map<string, OpenSpan> | undefined

  constructor (span: OpenSpan | undefined) {
    this.#span = span
  }

  /** Executes a step of the interpreter: what it starts belongs to the call. */
  run<T> (step: () => T): T {
    return this.#span === undefined ? step() : this.#span.run(step)
  }

  /** The tools for the interpreter. A worker thread calls them outside of the steps of its call. */
  toolsOf ({ callTool, listTools, tools }: ToolAccess): ToolAccess {
    return {
      callTool: callTool && ((server, tool, args, options) => this.run(() => traceTool(tool, args, () => callTool(server, tool, args, options)))),
      listTools,
      tools: tools && {
        list: () => tools.list(),
        call: (name, input, context) => this.run(() => traceTool(name, input, () => tools.call(name, input, context)))
      }
    }
  }

  /** A call of a tool that the interpreter executes itself, or its result, as it yielded it. */
  step (step: Step, given: unknown): void {
    if ('tool_call' in step) {
      const { id, name } = step.tool_call
      const span = this.run(() => startSpan(`${EXECUTE_TOOL} ${toolLabel(name)}`, { attributes: toolAttributes(name, yielded(given, 'input')) }))
      this.#endTool(id)
      if (span !== undefined) (this.#tools ??= new Map()).set(id, span)
    } else if ('tool_result' in step) {
      const { id, state } = step.tool_result
      this.#tools?.get(id)?.set(TOOL_RESULT, yielded(given, 'output'))
      this.#endTool(id, state === 'failed' ? 'tool_error' : undefined)
    }
  }

  #endTool (id: string, err?: unknown): void {
    this.#tools?.get(id)?.end(err)
    this.#tools?.delete(id)
  }

  /** The run is over: with its Answer, or with the error that its caller gets. */
  end (answer: Answer | undefined, err?: unknown): void {
    for (const id of this.#tools?.keys() ?? []) this.#endTool(id, 'TOOL_UNFINISHED')
    this.#span?.set(OUTPUT_MESSAGES, answer === undefined ? undefined : messagesOf('assistant', answer.answer))
    this.#span?.end(answer === undefined ? err ?? '_OTHER' : undefined)
  }
}

/** The observation of a run that begins; undefined where nothing observes. */
export function observeCall ({ vac }: { readonly vac: string }, { protocol = 'code', question }: VacCall): ObservedCall | undefined {
  if (!isTraced()) return undefined
  const attributes = { [OPERATION]: INVOKE_AGENT, [AGENT_NAME]: vac, [PROTOCOL]: protocol, [INPUT_MESSAGES]: messagesOf('user', question) }
  const span = startSpan(`${INVOKE_AGENT} ${vac}`, { attributes })
  return span === undefined ? undefined : new ObservedCall(span)
}

/** Executes a call of a tool in the span `execute_tool <tool>`. A result with `isError` ends it with an error. */
export function traceTool<T extends object> (tool: string, args: unknown, call: () => Promise<T>): Promise<T> {
  return isTraced() ? callInSpan(tool, args, call) : call()
}

async function callInSpan<T extends object> (tool: string, args: unknown, call: () => Promise<T>): Promise<T> {
  return await withSpan(`${EXECUTE_TOOL} ${toolLabel(tool)}`, () => ({
    attributes: toolAttributes(tool, contentOf(args))
  }), async span => {
    const result = await call()
    span?.set(TOOL_RESULT, contentOf(result))
    if ((result as { isError?: unknown }).isError === true) span?.end('tool_error')
    return result
  })
}

function toolAttributes (tool: string, args: string | undefined): NonNullable<SpanOptions['attributes']> {
  return { [OPERATION]: EXECUTE_TOOL, [TOOL_NAME]: toolLabel(tool), [TOOL_ARGUMENTS]: args }
}

/** An attribute of what an interpreter yielded, which may not be JSON; undefined unless content is captured. */
function yielded (given: unknown, key: 'input' | 'output'): string | undefined {
  if (!isCaptured) return undefined
  try {
    return contentOf((given as Record<string, unknown>)[key])
  } catch {
    return undefined
  }
}
