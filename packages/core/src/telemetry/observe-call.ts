import type { ToolAccess } from '../tools.js'
import type { Answer, VacCall } from '../vac.js'
import { contentOf } from './capture-content.js'
import { AGENT_NAME, INPUT_MESSAGES, INVOKE_AGENT, OPERATION, OUTPUT_MESSAGES, PROTOCOL } from './names.js'
import { isTraced, startSpan, type OpenSpan } from './spans.js'
import { traceTool } from './trace-tool.js'

/** Observes one run of an interpreter, for every protocol. */
export class ObservedCall {
  readonly #span: OpenSpan | undefined

  constructor (span: OpenSpan | undefined) {
    this.#span = span
  }

  /** Executes a step of the interpreter: what it starts belongs to the call. */
  run<T> (step: () => T): T {
    return this.#span === undefined ? step() : this.#span.run(step)
  }

  /** The tools for the interpreter. A worker thread calls them outside of the steps of its call. */
  toolsOf ({ callTool, listTools }: ToolAccess): ToolAccess {
    if (callTool === undefined) return { callTool, listTools }
    return {
      callTool: (server, tool, args, options) => this.run(() => traceTool(tool, args, () => callTool(server, tool, args, options))),
      listTools
    }
  }

  /** The run is over: with its Answer, or with the error that its caller gets. */
  end (answer: Answer | undefined, err?: unknown): void {
    this.#span?.set(OUTPUT_MESSAGES, answer === undefined ? undefined : contentOf(answer.answer))
    this.#span?.end(answer === undefined ? err ?? '_OTHER' : undefined)
  }
}

/** The observation of a run that begins; undefined where nothing observes. */
export function observeCall ({ vac }: { readonly vac: string }, { protocol = 'code', question }: VacCall): ObservedCall | undefined {
  if (!isTraced()) return undefined
  const attributes = { [OPERATION]: INVOKE_AGENT, [AGENT_NAME]: vac, [PROTOCOL]: protocol, [INPUT_MESSAGES]: contentOf(question) }
  const span = startSpan(`${INVOKE_AGENT} ${vac}`, { attributes })
  return span === undefined ? undefined : new ObservedCall(span)
}
