import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { answers } from '../chat/conversation.js'
import type { Answer } from '../chat/answer.js'
import { exchanges } from '../requests/exchange.js'
import { addressOf } from '../shared/router.js'
import { vacs } from '../shared/settings.js'
import { CopyButton, count, duration, Json, Notice } from '../shared/ui.js'
import { readRun } from './stored-run.js'
import { barsOfAnswer, type Bar, type Traced } from './trace.js'

/** How often the bars of an answer in progress grow, in ms. */
const TICK_MS = 250
/** Parts of the width of a bar. */
const WIDTH = 1_000

/** What the agent did for an answer of the open conversation: its latest one, or the one that a person chooses. */
export function AnswerTrace (): JSX.Element {
  const chosen = useSignal<number | undefined>(undefined)
  const now = useSignal(Date.now())
  const all = answers.value
  const answer = all[chosen.value ?? all.length - 1]
  const isLive = answer?.state === 'asking'
  useEffect(() => {
    if (!isLive) return
    const timer = setInterval(() => { now.value = Date.now() }, TICK_MS)
    return () => { clearInterval(timer) }
  }, [isLive])
  if (answer === undefined) return <p class='soft' data-testid='trace' data-state='empty'>There is no answer yet. <a href={addressOf('chat')}>Ask in the chat</a>, or open a run by its id.</p>
  return (
    <>
      {all.length > 1 && (
        <label>Answer
          <select data-testid='trace-answer' value={chosen.value ?? ''} onChange={({ currentTarget: { value } }) => { chosen.value = value === '' ? undefined : Number(value) }}>
            <option value=''>the latest</option>
            {all.map(({ question }, index) => <option key={index} value={index}>{index + 1}. {question.slice(0, 80)}</option>)}
          </select>
        </label>
      )}
      <Trace traced={tracedOf(answer, now.value)} />
    </>
  )
}

const STATES: Readonly<Record<Answer['state'], string>> = { asking: 'running', done: 'completed', 'input-required': 'asks back', stopped: 'stopped', failed: 'failed' }

function tracedOf ({ question, state, steps = [], totalMs, usage, exchange, task, protocol }: Answer, now: number): Traced {
  const startedAt = exchanges.value.find(({ id }) => id === exchange)?.startedAt
  const isLive = state === 'asking'
  // over MCP it is a place in a session
  const run = protocol === 'mcp-session' ? undefined : task
  return { name: question, run, steps, state: STATES[state], isLive, ms: isLive && startedAt !== undefined ? now - startedAt : totalMs, usage }
}

/** The trace of a run that the service keeps; `onUnknown` where the caller may read none with the id. */
export function RunTrace ({ id, onUnknown }: { readonly id: string, readonly onUnknown: () => void }): JSX.Element {
  const traced = useSignal<Traced | undefined>(undefined)
  const problem = useSignal('')
  const names = useMemo(() => [...new Set([...answers.value.map(({ vac }) => vac).slice(-1), ...vacs.value.map(({ name }) => name)])], [vacs.value])
  useEffect(() => {
    const stop = new AbortController()
    readRun(id, names, stop.signal, next => { traced.value = next })
      .then(isThere => { if (!isThere && !stop.signal.aborted) onUnknown() }, err => { if (!stop.signal.aborted) problem.value = (err as Error).message })
    return () => { stop.abort() }
  }, [id, names])
  return (
    <>
      {problem.value !== '' && <Notice kind='error' testId='trace-problem'>{problem}</Notice>}
      {traced.value === undefined ? problem.value === '' && <p class='soft' data-testid='trace' data-state='loading'>Reading the run…</p> : <Trace traced={traced.value} />}
    </>
  )
}

function Trace ({ traced }: { readonly traced: Traced }): JSX.Element {
  const seen = useRef(new Map<string, number>())
  if (traced.isLive) {
    for (const step of traced.steps) if ('tool_call' in step && !seen.current.has(step.tool_call.id)) seen.current.set(step.tool_call.id, traced.ms ?? 0)
  }
  const agents = useMemo(() => new Set(vacs.value.map(({ name }) => name)), [vacs.value])
  const bars = barsOfAnswer(traced, seen.current, agents)
  const whole = bars[0]!.ms ?? 0
  return (
    <section aria-label='What the agent did' data-testid='trace' data-state={traced.state}>
      {traced.run !== undefined && <p class='line run-id'><span class='soft'>Run</span> <code data-testid='trace-run'>{traced.run}</code> <CopyButton text={() => traced.run!} label='Copy the id' testId='trace-run-copy' icon='copy' /></p>}
      <div class='trace-axis soft' aria-hidden='true'>{[0, whole / 2, whole].map((ms, index) => <span key={index}>{duration(ms)}</span>)}</div>
      <ol class='trace'>{bars.map((bar, index) => <li key={bar.id === '' ? 'answer' : `${bar.id} ${index}`}><BarRow bar={bar} whole={whole} /></li>)}</ol>
      {bars.length === 1 && !traced.isLive && <p class='soft' data-testid='trace-steps-none'>The service keeps no steps of this answer, or shows none to this caller.</p>}
    </section>
  )
}

function BarRow ({ bar, whole }: { readonly bar: Bar, readonly whole: number }): JSX.Element {
  const { kind, name, server, depth, state, start, ms, tokens, passages, contents } = bar
  const x = whole === 0 || start === undefined ? 0 : Math.min(WIDTH - 4, start / whole * WIDTH)
  const width = whole === 0 ? WIDTH : Math.max(4, Math.min(WIDTH - x, (ms ?? 0) / whole * WIDTH))
  return (
    <details class='bar-row' data-testid='trace-bar' data-kind={kind.toLowerCase()} data-state={state} data-depth={depth}>
      <summary>
        <span class='bar-name'><b>{kind}</b> <bdi>{name}</bdi>{server !== undefined && <span class='soft'> {server}</span>}</span>
        <span class='bar-facts'>
          {tokens !== undefined && <span data-testid='trace-tokens'>{tokens.prompt_tokens.toLocaleString('en')} tokens in, {tokens.completion_tokens.toLocaleString('en')} out</span>}
          {passages !== undefined && <span data-testid='trace-passages'>{count(passages, 'passage')}</span>}
        </span>
        <span class='bar-state'>{state}</span>
        <span class='bar-ms'>{duration(ms)}</span>
        <svg viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio='none' aria-hidden='true'>{start !== undefined && <rect x={x} y='0' width={width} height='10' rx='2' />}</svg>
      </summary>
      <dl class='bar-contents'>
        <Field name='Begins' value={start === undefined ? 'at an unknown time' : `after ${duration(start)}`} />
        {contents.map(([label, value], index) => <Field key={index} name={label} value={value} />)}
      </dl>
    </details>
  )
}

/** A value by its name: a text, the members of a flat object, or JSON. */
function Field ({ name, value }: { readonly name: string, readonly value: unknown }): JSX.Element {
  return <div data-testid={`trace-${name.toLowerCase().replace(' ', '-')}`}><dt>{name}</dt><dd><Value name={name} value={value} /></dd></div>
}

const isPlain = (value: unknown): boolean => value === null || typeof value !== 'object'

function Value ({ name, value }: { readonly name: string, readonly value: unknown }): JSX.Element {
  if (typeof value === 'string') return value.length > 200 || value.includes('\n') ? <Json testId='trace-text' label={name} value={value} /> : <span dir='auto'>{value}</span>
  if (isPlain(value)) return <>{String(value)}</>
  const members = Object.entries(value as object)
  if (Array.isArray(value) || members.length === 0 || !members.every(([, member]) => isPlain(member))) return <Json testId='trace-json' label={name} value={value} />
  return <dl class='members'>{members.map(([key, member]) => <div key={key}><dt>{key}</dt><dd><Value name={key} value={member} /></dd></div>)}</dl>
}
