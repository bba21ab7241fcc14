import type { Step } from '@polyvac/client'

/** Tokens of a language model. */
interface Tokens { readonly prompt_tokens: number, readonly completion_tokens: number }

/** What a trace is made of: an answer of the page, a turn or a run that the service keeps. */
export interface Traced {
  readonly name: string
  /** Its id as a run or task of the service. */
  readonly run?: string | undefined
  readonly steps: readonly Step[]
  /** As the service names it: `running`, `completed`, `failed` … */
  readonly state: string
  readonly isLive: boolean
  /** How long it took until now, in ms. */
  readonly ms?: number | undefined
  readonly usage?: Tokens | undefined
}

/** One piece of the work of an agent. Times are in ms since its answer began. */
export interface Bar {
  readonly id: string
  /** For people: `Model`, `Tool`, `Search`, `Reasoning`, `Agent`, `Answer`. */
  kind: string
  readonly name: string
  readonly server?: string | undefined
  /** 0 the answer, 1 what it does, 2 what a call of the model leads to. */
  depth: 0 | 1 | 2
  readonly state: string
  /** Undefined where the service does not name it. */
  start?: number | undefined
  ms?: number | undefined
  readonly tokens?: Tokens | undefined
  passages?: number | undefined
  /** What opens: names and values. */
  readonly contents: Array<readonly [string, unknown]>
}

type Span = Extract<Step, { span: unknown }>['span']
type Result = Extract<Step, { tool_result: unknown }>['tool_result']

const KINDS: Readonly<Record<string, string>> = { model: 'Model', search: 'Search', reasoning: 'Reasoning' }
/** The tool of the agent that searches: the search is a span within its call. */
const SEARCH_TOOL = 'search_documents'

/**
 * The bars of an answer, the answer itself first.
 * @param seen when the page saw calls of tools begin, by their ids, for those that still run
 * @param agents names of agents, whose calls are those of tools
 */
export function barsOfAnswer (traced: Traced, seen: ReadonlyMap<string, number>, agents: ReadonlySet<string>): Bar[] {
  const { steps, state, isLive, ms, usage } = traced
  const spans = new Map<string, Span>()
  const results = new Map<string, Result>()
  for (const step of steps) {
    if ('span' in step) spans.set(step.span.id, step.span)
    else if ('tool_result' in step) results.set(step.tool_result.id, step.tool_result)
  }
  const unended = isLive ? 'running' : 'not ended'
  const bars: Bar[] = []
  const shown = new Set<string>()
  /** A bar of reasoning that takes the next text, and a call of the tool that searches. */
  let thought: Bar | undefined
  let searching: Bar | undefined
  for (const [index, step] of steps.entries()) {
    if ('span' in step) {
      const span = spans.get(step.span.id)!
      if (shown.has(span.id)) continue
      shown.add(span.id)
      if (span.kind === 'search' && searching !== undefined) {
        searching.passages = span.passages
        searching.kind = KINDS.search!
        continue
      }
      const bar = barOfSpan(span, unended)
      if (span.kind === 'reasoning') thought = bar
      bars.push(bar)
    } else if ('tool_call' in step) {
      const { id, name, server, input } = step.tool_call
      const result = results.get(id)
      const start = result?.start_ms ?? seen.get(id)
      const isAgent = server === undefined && agents.has(name)
      const bar: Bar = { id, kind: isAgent ? 'Agent' : 'Tool', name, server, depth: 1, state: result?.state ?? unended, start, ms: result?.duration_ms, contents: [] }
      if (input !== undefined) bar.contents.push(['Input', input])
      if (result?.output !== undefined) bar.contents.push(['Output', textOf(result.output)])
      if (result?.error !== undefined) bar.contents.push(['Error', [result.error.code, result.error.message].filter(Boolean).join(': ')])
      if (name === SEARCH_TOOL && server === undefined) searching = bar
      bars.push(bar)
    } else if ('tool_result' in step) {
      if (step.tool_result.id === searching?.id) searching = undefined
    } else if ('reasoning' in step) {
      if (thought === undefined) bars.push(thought = { id: `reasoning ${index}`, kind: 'Reasoning', name: '', depth: 1, state: isLive && index === steps.length - 1 ? 'running' : 'completed', contents: [] })
      thought.contents.push(['Text', step.reasoning])
    }
    if (!('reasoning' in step) && !('span' in step && step.span.kind === 'reasoning' && step.span.state === 'running')) thought = undefined
  }
  const last = Math.max(0, ...bars.map(({ start, ms }) => (start ?? 0) + (ms ?? 0)))
  const whole = Math.max(last, ms ?? 0)
  for (const bar of bars) if (bar.state === 'running') bar.ms ??= whole - (bar.start ??= last)
  return [{ id: '', kind: 'Answer', name: traced.name, depth: 0, state, start: 0, ms: whole > 0 ? whole : undefined, tokens: usage ?? sumOf([...spans.values()]), contents: [] }, ...nested(bars)]
}

/**
 * Bars in the order of their times; what began after a call of the model is one step below it. Calls of tools may
 * arrive before the call of the model that led to them. A bar without a time stays behind the one before it.
 */
function nested (bars: readonly Bar[]): Bar[] {
  let at = 0
  const timed = bars.map(bar => {
    at = bar.start ?? at
    return { bar, at }
  })
  // sorting is stable
  timed.sort((a, b) => a.at - b.at)
  let isBelow = false
  for (const { bar } of timed) {
    if (bar.kind === KINDS.model) isBelow = true
    else if (isBelow) bar.depth = 2
  }
  return timed.map(({ bar }) => bar)
}

function barOfSpan ({ id, kind, name, state, start_ms: start, duration_ms: ms, usage, passages, finish_reason: reason, input }: Span, unended: string): Bar {
  const contents: Bar['contents'] = []
  if (input !== undefined) contents.push(['Input', input])
  if (reason !== undefined) contents.push(['Ended with', reason])
  return { id, kind: KINDS[kind] ?? kind, name, depth: 1, state: state === 'running' ? unended : state, start, ms, tokens: usage, passages, contents }
}

function sumOf (spans: readonly Span[]): Tokens | undefined {
  const all = spans.flatMap(({ usage }) => usage ?? [])
  if (all.length === 0) return undefined
  return { prompt_tokens: all.reduce((sum, usage) => sum + usage.prompt_tokens, 0), completion_tokens: all.reduce((sum, usage) => sum + usage.completion_tokens, 0) }
}

/** The text of a result of MCP that has nothing besides it; any other output unchanged. */
function textOf (output: unknown): unknown {
  const { content, structuredContent } = (output ?? {}) as { content?: unknown, structuredContent?: unknown }
  if (structuredContent != null) return structuredContent
  if (!Array.isArray(content) || content.some(({ type }) => type !== 'text')) return output
  return content.map(({ text }) => String(text)).join('\n')
}
