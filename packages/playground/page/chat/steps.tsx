import type { Step } from '@polyvac/client'
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Icon } from '../shared/icons.js'
import { count, duration, Json } from '../shared/ui.js'

type Call = Extract<Step, { tool_call: unknown }>['tool_call']
type Result = Extract<Step, { tool_result: unknown }>['tool_result']

/** What is shown of the steps: a result belongs to its call. Sources and files are shown elsewhere. */
type Shown = { readonly call: Call, readonly result?: Result | undefined } | { readonly reasoning: string } | { readonly data: { readonly type: string, readonly value: unknown } }

function shownOf (steps: readonly Step[]): Shown[] {
  // @keyed none: it lives for one picture, with the calls of one answer
  const results = new Map(steps.flatMap(step => 'tool_result' in step ? [[step.tool_result.id, step.tool_result]] : []))
  return steps.flatMap((step): Shown[] => {
    if ('tool_call' in step) return [{ call: step.tool_call, result: results.get(step.tool_call.id) }]
    return 'reasoning' in step || 'data' in step ? [step] : []
  })
}

/** Whether there are steps that are shown as such. */
export const hasSteps = (steps: readonly Step[]): boolean => shownOf(steps).length > 0

interface StepsProps {
  readonly steps: readonly Step[]
  readonly isAsking: boolean
  readonly hasText: boolean
  /** What the agent reports that it does. */
  readonly message: string | undefined
}

/** What the agent does, as one line that opens: the step at present, afterwards how many there were. */
export function Steps ({ steps, isAsking, hasText, message }: StepsProps): JSX.Element | null {
  const isOpen = useSignal(false)
  const shown = shownOf(steps)
  if (shown.length === 0) return null
  const last = shown.at(-1)!
  const running = shown.findLast(step => 'call' in step && step.result === undefined) as { readonly call: Call } | undefined
  const isRunning = isAsking && (running !== undefined || !hasText)
  const tools = shown.filter(step => 'call' in step).length
  const failed = shown.filter(step => 'result' in step && step.result?.state === 'failed').length
  const summary = [tools > 0 ? count(tools, 'tool call') : 'Reasoning', ...failed > 0 ? [`${failed} failed`] : []].join(', ')
  return (
    <details class='steps' data-testid='chat-steps' data-state={isRunning ? 'running' : 'done'} open={isOpen} onToggle={event => { isOpen.value = event.currentTarget.open }}>
      <summary>
        {isRunning ? <><span class='spinner' /> <bdi>{running?.call.name ?? message ?? ('reasoning' in last ? 'Reasoning' : 'Thinking')}</bdi></> : <><Icon name='tool' /> {summary}</>}
      </summary>
      <ol>{shown.map((step, index) => <li key={index}><StepCard step={step} isAsking={isAsking} /></li>)}</ol>
    </details>
  )
}

function StepCard ({ step, isAsking }: { readonly step: Shown, readonly isAsking: boolean }): JSX.Element {
  if ('reasoning' in step) {
    return (
      <details class='step' data-testid='chat-reasoning'>
        <summary><Icon name='more' /> <b>Reasoning</b></summary>
        <p class='passage' dir='auto'>{step.reasoning}</p>
      </details>
    )
  }
  if ('data' in step) {
    return <details class='step' data-testid='chat-data'><summary><Icon name='more' /> <b>{step.data.type}</b></summary><Json testId='chat-data-value' label={step.data.type} value={step.data.value} /></details>
  }
  const { call: { name, server, input }, result } = step
  const state = result?.state ?? (isAsking ? 'running' : 'unknown')
  const line = (
    <>
      {state === 'running' ? <span class='spinner' /> : <Icon name={state === 'failed' ? 'failed' : state === 'completed' ? 'done' : 'more'} />}
      <b>{name}</b>{server !== undefined && <span class='soft'>{server}</span>}
      <span class='grow' /><span class='soft'>{state === 'completed' ? '' : state}{result?.duration_ms === undefined ? '' : ` ${duration(result.duration_ms)}`}</span>
    </>
  )
  // a caller without the right to see them gets neither
  if (input === undefined && result?.output === undefined && result?.error === undefined) return <div class='step' data-testid='chat-step' data-state={state}><p class='line'>{line}</p></div>
  return (
    <details class='step' data-testid='chat-step' data-state={state}>
      <summary>{line}</summary>
      {input !== undefined && <><h3>Input</h3><Json testId='chat-step-input' label={`Input of ${name}`} value={input} /></>}
      {result?.output !== undefined && <><h3>Output</h3><Json testId='chat-step-output' label={`Output of ${name}`} value={textOf(result.output) ?? result.output} /></>}
      {result?.error !== undefined && <><h3>Error</h3><Json testId='chat-step-error' label={`Error of ${name}`} value={[result.error.code, result.error.message].filter(Boolean).join(': ')} /></>}
    </details>
  )
}

/** The text of a result of MCP that has nothing else. */
function textOf (output: unknown): string | undefined {
  const { content, structuredContent } = (output ?? {}) as { content?: unknown, structuredContent?: unknown }
  if (structuredContent !== undefined || !Array.isArray(content) || content.some(({ type }) => type !== 'text')) return undefined
  return content.map(({ text }) => String(text)).join('\n')
}
