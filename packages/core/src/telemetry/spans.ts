import type { Attributes, Context, Link, Span } from '@opentelemetry/api'
import { ERROR_TYPE } from './names.js'
import { openTelemetry, openTracer, type OpenTelemetry } from './open-telemetry.js'
import { readTraceParent, writeTraceParent } from './trace-context.js'
import type { TraceParent } from './trace-parent.js'

/** An object whose declaration does not need the types of the optional peer. */
export interface OpenSpan {
  /** False where the sampler has decided against the trace, and nothing waits for the end of the span. */
  readonly needsEnd: boolean
  /** Executes a step with this span as the parent of those that it starts. */
  run<T> (step: () => T): T
  /** Sets an attribute; undefined leaves it out. */
  set (name: string, value: string | number | undefined): void
  /** Ends the span, once: with an error, with the `error.type` that its code names. Its text is content. */
  end (err?: unknown): void
}

export interface SpanOptions {
  readonly kind?: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER'
  readonly attributes?: Readonly<Record<string, string | number | undefined>>
  /** Fields of the caller, which become the parent. A span that is active already is then linked. */
  readonly remote?: unknown
  /** The span starts a trace; `linked` are the fields of what caused it. */
  readonly root?: boolean
  readonly linked?: readonly unknown[]
}

/** Decides which traces begin, and counts the spans that have a context. */
export interface ContextKeeper {
  /** Whether the context manager returns the root context, which has no span, to every caller of `active()`. */
  readonly isIdle: boolean
  /** Whether the sampler keeps a trace that begins with the next span, which must be made at once. */
  readonly keepsNext: () => boolean
  enter (): void
  leave (): void
}

let keeper: ContextKeeper | undefined
/** The spans that it counts. */
// @keyed none: the keys are open spans, and an entry ends with its span
const kept = new WeakMap<Span, TracedStep>()

/**
 * From now on a request or task whose trace begins here and is dropped has no context, and its steps start no spans.
 * Returns the function that ends this.
 */
export function keepSampledContexts (contexts: ContextKeeper): () => void {
  keeper = contexts
  return () => { keeper = undefined }
}

/** Whether an SDK is registered. */
export function isTracing (): boolean {
  return openTracer(openTelemetry()) !== undefined
}

/** Whether a step gets a span here: checked before names and attributes are made. */
export function isTraced (): boolean {
  if (isIdle()) return false
  const api = openTelemetry()
  return openTracer(api) !== undefined && !isDropped(api!.trace.getSpan(api!.context.active()))
}

/** Whether the context manager knows that no span is active. Most requests ask nothing else. */
function isIdle (): boolean { return keeper !== undefined && keeper.isIdle }

function activeSpan (): Span | undefined {
  if (isIdle()) return undefined
  const api = openTelemetry()
  return api?.trace.getSpan(api.context.active())
}

/** Starts a span; undefined where no SDK is registered or its trace is dropped. Callers end it in `finally`. */
export function startSpan (name: string, options: SpanOptions = {}): OpenSpan | undefined {
  const { remote, root = false } = options
  // the sampler has decided against the trace of this process: its steps need no spans
  if (remote === undefined && (root ? keeper?.keepsNext() === false : !isTraced())) return undefined
  return start(name, options)
}

/** Starts the span of a request that has none, with the fields of its caller. It is described where it may be kept. */
export function startRequestSpan (describe: () => readonly [name: string, attributes: NonNullable<SpanOptions['attributes']>],
  remote: unknown): OpenSpan | undefined {
  if (remote === undefined && keeper?.keepsNext() === false) return undefined
  const [name, attributes] = describe()
  return start(name, { kind: 'SERVER', attributes, remote })
}

function start (name: string, options: SpanOptions): TracedStep | undefined {
  const api = openTelemetry()
  const tracer = openTracer(api)
  if (api === undefined || tracer === undefined) return undefined
  const { kind = 'INTERNAL', attributes, remote, root = false, linked } = options
  const active = root ? api.ROOT_CONTEXT : api.context.active()
  const parent = remote === undefined ? undefined : readTraceParent(api, remote)
  const links = linked === undefined && parent === undefined
    ? undefined
    : linksTo(api, [...(linked ?? []).map(fields => readTraceParent(api, fields)), parent === undefined ? undefined : active])
  const context = parent ?? active
  const span = tracer.startSpan(name, { kind: api.SpanKind[kind], attributes: attributes as Attributes, ...links !== undefined && { links }, root }, context)
  if (keeper !== undefined && parent === undefined && !span.isRecording()) return undefined
  return new TracedStep(api, span, api.trace.setSpan(context, span))
}

function linksTo (api: OpenTelemetry, contexts: ReadonlyArray<Context | undefined>): Link[] {
  return contexts.flatMap(context => {
    const spanContext = context === undefined ? undefined : api.trace.getSpanContext(context)
    return spanContext === undefined ? [] : [{ context: spanContext }]
  })
}

/** The request of the active span only waits from here on: it needs no context, and neither do the spans above it. */
export function releaseContext (): void {
  for (let step = activeStep(); step !== undefined; step = step.above) step.release()
}

function activeStep (): TracedStep | undefined {
  const span = activeSpan()
  return span && kept.get(span)
}

/** Executes an asynchronous step in a new span. */
export async function withSpan<T> (name: string, options: () => SpanOptions, step: (span?: OpenSpan) => Promise<T>): Promise<T> {
  if (!isTraced()) return await step()
  const span = start(name, options())
  if (span === undefined) return await step()
  try {
    const value = await span.run(() => step(span))
    span.end()
    return value
  } catch (err) {
    span.end(err ?? new Error('it failed'))
    throw err
  }
}

/** The fields of the active span, to be sent with a request. */
export function traceParent (): TraceParent | undefined {
  if (isIdle()) return undefined
  const api = openTelemetry()
  return openTracer(api) === undefined ? undefined : writeTraceParent(api!, api!.context.active())
}

/** The id of the active trace, for log lines. */
export function activeTraceId (): string | undefined {
  return activeSpan()?.spanContext().traceId
}

/** Whether a span of this process is active. */
export function hasSpan (): boolean {
  const span = activeSpan()
  return span !== undefined && span.spanContext().isRemote !== true
}

/** Whether a span of this process is not recorded; that of a remote caller only carries its ids. */
function isDropped (span: Span | undefined): boolean {
  if (span === undefined) return keeper !== undefined
  return !span.isRecording() && span.spanContext().isRemote !== true
}

class TracedStep implements OpenSpan {
  readonly #api: OpenTelemetry
  readonly #span: Span
  readonly #context: Context
  /** The step that this one belongs to, where contexts are counted. */
  readonly above: TracedStep | undefined
  #keeper = keeper

  constructor (api: OpenTelemetry, span: Span, context: Context) {
    this.#api = api
    this.#span = span
    this.#context = context
    if (this.#keeper === undefined) return
    this.above = activeStep()
    this.#keeper.enter()
    kept.set(span, this)
  }

  get needsEnd (): boolean { return this.#keeper !== undefined || this.#span.isRecording() }

  run<T> (step: () => T): T {
    return this.#api.context.with(this.#context, step)
  }

  set (name: string, value: string | number | undefined): void {
    if (value !== undefined) this.#span.setAttribute(name, value)
  }

  release (): void {
    this.#keeper?.leave()
    this.#keeper = undefined
  }

  end (err?: unknown): void {
    this.release()
    if (!this.#span.isRecording()) return
    if (err !== undefined) {
      this.#span.setAttribute(ERROR_TYPE, errorType(err))
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR })
    }
    this.#span.end()
  }
}

/** The value of `error.type`: a code in the form of constants, otherwise the name of a class. Texts are content. */
function errorType (err: unknown): string {
  try {
    if (typeof err === 'string' || typeof err === 'number') return safeName(String(err))
    const { code, name } = err as { code?: unknown, name?: unknown }
    return safeName(typeof code === 'string' || typeof code === 'number' ? String(code) : String(name))
  } catch {
    // the properties of the thrown value throw
    return '_OTHER'
  }
}

/** A name that a caller or a module may have chosen: anything that is not an identifier could be content. */
function safeName (name: string): string {
  return /^[\w./-]{1,128}$/.test(name) ? name : '_OTHER'
}

/** Most names of tools in spans: callers and MCP servers invent them, and a store of traces keeps each. */
export const MAX_TOOL_NAMES = 1_000
// @keyed name of a tool, which a caller or a server chose | holds: nothing more | whose: all callers and servers |
//   bound: MAX_TOOL_NAMES of at most 128 characters; it never shrinks | share: of no owner: later names are `_OTHER`
//   in spans, and nowhere missing in the log | test: packages/core/test/tool-names.test.ts: spans have as many names
//   of tools as the bound, whatever callers invent
const toolNames = new Set<string>()

/** The name of a tool as spans have it; `_OTHER` where it is not an identifier, and past the bound. */
export function toolLabel (tool: string): string {
  const name = safeName(tool)
  if (toolNames.size < MAX_TOOL_NAMES) toolNames.add(name)
  return toolNames.has(name) ? name : '_OTHER'
}
