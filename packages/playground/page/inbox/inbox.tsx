import { signInOf } from '@polyvac/client/a2a'
import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { withoutApproval, type Approval } from '../chat/answer.js'
import { ToolCall } from '../chat/reply.js'
import { answerTask, cancelTask, listWaiting, shortState, textOf, type Task } from '../protocols/a2a-tasks.js'
import { ADDRESS } from '../shared/address.js'
import { addressOf } from '../shared/router.js'
import { isLoaded, settings, vacs } from '../shared/settings.js'
import { Notice } from '../shared/ui.js'
import { pending } from '../tools/pending-questions.js'
import { Questions } from '../tools/questions.js'
import { answerRun, listWaitingRuns, type WaitingRun } from './waiting-runs.js'

/** Pauses in ms between two looks at the tasks; they double while nothing changes. */
const MIN_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 30_000

/** Characters that a card shows of the first question. */
const MAX_ASKED = 300

interface Waiting { readonly tasks: readonly Task[], readonly runs: readonly WaitingRun[] }
const waiting = signal<Waiting>({ tasks: [], runs: [] })
const problem = signal('')
const outcome = signal('')

const identityOf = ({ tasks, runs }: Waiting): string => [...tasks.map(({ id, status }) => `${id} ${status.timestamp ?? ''}`), ...runs.map(({ id }) => id)].join()

async function read (signal: AbortSignal): Promise<Waiting> {
  const { a2a, vac } = settings.value.routes
  const [tasks, runs] = await Promise.all([
    a2a == null ? [] : listWaiting(signal),
    vac == null ? [] : listWaitingRuns(vacs.value.map(({ name }) => name), waiting.value.runs, signal)
  ])
  return { tasks, runs }
}

/** Reads what waits until `signal` aborts; a page in the background waits. */
async function watch (signal: AbortSignal): Promise<void> {
  let pauseMs = MIN_PAUSE_MS
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        const next = await read(signal)
        const isSame = identityOf(next) === identityOf(waiting.value)
        pauseMs = isSame ? Math.min(MAX_PAUSE_MS, pauseMs * 2) : MIN_PAUSE_MS
        if (!isSame) waiting.value = next
        problem.value = ''
      } catch (err) {
        if (signal.aborted) return
        problem.value = (err as Error).message
        pauseMs = MAX_PAUSE_MS
      }
    }
    await new Promise<void>(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        document.removeEventListener('visibilitychange', done)
        resolve()
      }
      const timer = setTimeout(done, pauseMs)
      document.addEventListener('visibilitychange', done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}

export function Inbox (): JSX.Element {
  const { routes, readOnly } = settings.value
  const looks = useSignal(0)
  useEffect(() => {
    if (!isLoaded.value) return
    const stop = new AbortController()
    watch(stop.signal)
    return () => stop.abort()
  }, [routes, isLoaded.value, looks.value])
  const { tasks, runs } = waiting.value
  const count = tasks.length + runs.length + pending.value.length
  return (
    <div data-testid='inbox' data-state={count === 0 ? 'empty' : 'waiting'}>
      <p class='soft'>Agents and tools that wait for you: answer them here, and they go on. A2A tasks that you may read, calls of tools that your questions wait for, and MCP tools that this tab called.</p>
      <div class='row'>
        <p data-testid='inbox-count' aria-live='polite'>{count === 0 ? 'Nothing waits for a person.' : `${count} waiting for a person.`}</p>
        <button type='button' data-testid='inbox-refresh' onClick={() => { looks.value++ }}>Look again</button>
      </div>
      {problem.value !== '' && <Notice kind='error' testId='inbox-problem'>{problem}</Notice>}
      {outcome.value !== '' && <Notice kind='ok' testId='inbox-outcome'>{outcome}</Notice>}
      {runs.map(run => <WaitingCall key={run.id} run={run} readOnly={readOnly} onAnswered={() => { looks.value++ }} />)}
      {tasks.map(task => <WaitingTask key={`${task.id} ${task.status.timestamp}`} task={task} readOnly={readOnly} onAnswered={() => { looks.value++ }} />)}
      {pending.value.map(one => readOnly
        ? <p class='card' key={one.requestState}>{one.call.tool} of {one.call.server} asks; this page is read only.</p>
        : <Questions key={one.requestState} waiting={one} onOutcome={next => { outcome.value = 'result' in next ? `${one.call.tool} has ended.` : `${one.call.tool} asks again.` }} />)}
    </div>
  )
}

/** A text with its http and https addresses as links. */
function withLinks (text: string): Array<string | JSX.Element> {
  return text.split(ADDRESS).map((part, i) => i % 2 === 0 ? part : <a key={i} href={part} target='_blank' rel='noreferrer' data-testid='task-sign-in'>{part}</a>)
}

interface Sending {
  readonly isSending: boolean
  readonly failure: string
  /** Sends an answer; the inbox then has it no more. */
  readonly send: (work: () => Promise<void>, done: string) => void
  readonly fail: (reason: string) => void
}

/** The state of the answer to what waits under an id. */
function useSending (id: string, onAnswered: () => void): Sending {
  const failure = useSignal('')
  const isSending = useSignal(false)
  const send = async (work: () => Promise<void>, done: string): Promise<void> => {
    isSending.value = true
    failure.value = ''
    try {
      await work()
      const isOther = (one: { readonly id: string }): boolean => one.id !== id
      waiting.value = { tasks: waiting.value.tasks.filter(isOther), runs: waiting.value.runs.filter(isOther) }
      outcome.value = `${done} ${id}.`
      onAnswered()
    } catch (err) {
      failure.value = (err as Error).message
    } finally {
      isSending.value = false
    }
  }
  return { isSending: isSending.value, failure: failure.value, send: (...args) => { send(...args) }, fail: reason => { failure.value = reason } }
}

const namesOf = (approved: boolean): string => approved ? 'Approved' : 'Declined'

interface WaitingCallProps { readonly run: WaitingRun, readonly readOnly: boolean, readonly onAnswered: () => void }

/** A run that waits for the approval of a call. */
function WaitingCall ({ run, readOnly, onAnswered }: WaitingCallProps): JSX.Element {
  const { id, vac, text, approval } = run
  const { isSending, failure, send } = useSending(id, onAnswered)
  const before = withoutApproval(text).trim()
  return (
    <section class='card' aria-label={`Run ${id}`} data-testid='waiting-run'>
      <h2><a href={addressOf('timeline', [id])}>Run {id}</a> <span class='badge'>{vac}</span></h2>
      {before !== '' && <p class='soft' dir='auto'>{before.slice(0, MAX_ASKED)}</p>}
      <ToolCall approval={approval} isWaiting isOff={isSending} onAnswer={readOnly ? undefined : approved => { send(() => answerRun(run, approved), `${namesOf(approved)} run`) }} />
      {failure !== '' && <Notice kind='error' testId='task-problem'>{failure}</Notice>}
    </section>
  )
}

function WaitingTask ({ task, readOnly, onAnswered }: { readonly task: Task, readonly readOnly: boolean, readonly onAnswered: () => void }): JSX.Element {
  const { id, status: { state, message }, history = [], metadata: { skillName } = {} } = task
  const isSignIn = state === 'TASK_STATE_AUTH_REQUIRED'
  const text = textOf(message?.parts)
  const { url = '' } = isSignIn ? signInOf(text, message?.parts) : {}
  const request = text.includes(url) ? text : `${text} ${url}`.trim()
  const { parts: first = [] } = history.find(({ role }) => role === 'ROLE_USER') ?? {}
  // the question of a skill is a field of its input
  const asked = textOf(first) || first.map(({ data }) => data?.input?.query ?? data?.input?.question).find(one => typeof one === 'string') || ''
  const approval = message?.parts?.map(({ data }) => data?.approval as Approval | undefined).find(one => typeof one?.id === 'string')
  const isForm = !isSignIn && approval === undefined
  const said = approval === undefined ? request : withoutApproval(request).trim()
  const written = useSignal('')
  const { isSending, failure, send, fail } = useSending(id, onAnswered)
  const answer = (text: string, done: string, data?: object): void => { send(() => answerTask(task, text, data), `${done} task`) }
  return (
    <form
      class='card' data-testid='waiting-task' data-state={shortState(state)}
      onSubmit={event => {
        event.preventDefault()
        if (written.value.trim() === '') fail('Write an answer first.')
        else answer(written.value, 'Answered')
      }}
    >
      <h2><a href={addressOf('timeline', [id])}>Task {id}</a> <span class='badge'>{shortState(state)}</span></h2>
      {(asked !== '' || skillName !== undefined) && <p class='soft' data-testid='task-asked'>{skillName?.replace(/^vac_(query|stream|memory_search)_/, '')}{asked === '' ? '' : ` was asked: ${asked.slice(0, MAX_ASKED)}`}</p>}
      {(approval === undefined || said !== '') && <p data-testid='task-question'>{isSignIn && 'It waits until you have signed in. '}{isSignIn ? withLinks(said) : said || 'It waits for input.'}</p>}
      {approval !== undefined && (
        <ToolCall approval={approval} isWaiting isOff={isSending} onAnswer={readOnly ? undefined : approved => { answer(approved ? 'yes' : 'no', namesOf(approved), { approval: { id: approval.id, approved } }) }} />
      )}
      {!readOnly && (
        <>
          {isForm && <label class='wide'>Answer <textarea data-testid='task-answer' value={written} onInput={event => { written.value = event.currentTarget.value }} /></label>}
          <div class='row'>
            {isForm && <button class='main' data-testid='task-send' disabled={isSending}>Send the answer</button>}
            {isForm && <button type='button' data-testid='task-approve' disabled={isSending} onClick={() => answer('yes', 'Approved')}>Approve</button>}
            {isForm && <button type='button' data-testid='task-decline' disabled={isSending} onClick={() => answer('no', 'Declined')}>Decline</button>}
            <button type='button' data-testid='task-cancel' disabled={isSending} onClick={() => { send(() => cancelTask(id), 'Cancelled task') }}>Cancel the task</button>
          </div>
        </>
      )}
      {failure !== '' && <Notice kind='error' testId='task-problem'>{failure}</Notice>}
    </form>
  )
}
