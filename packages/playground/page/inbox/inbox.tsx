import { signInOf } from '@polyvac/client/a2a'
import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { answerTask, cancelTask, listWaiting, shortState, textOf, type Task } from '../protocols/a2a-tasks.js'
import { ADDRESS } from '../shared/address.js'
import { addressOf } from '../shared/router.js'
import { settings } from '../shared/settings.js'
import { Notice } from '../shared/ui.js'
import { pending } from '../tools/pending-questions.js'
import { Questions } from '../tools/questions.js'

/** Pauses in ms between two looks at the tasks; they double while nothing changes. */
const MIN_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 30_000

/** Characters that a card shows of the first question. */
const MAX_ASKED = 300

const tasks = signal<readonly Task[]>([])
const problem = signal('')
const outcome = signal('')

const identityOf = (list: readonly Task[]): string => list.map(({ id, status }) => `${id} ${status.timestamp ?? ''}`).join()

/** Reads the waiting tasks until `signal` aborts; a page in the background waits. */
async function watchTasks (signal: AbortSignal): Promise<void> {
  let pauseMs = MIN_PAUSE_MS
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        const next = await listWaiting(signal)
        pauseMs = identityOf(next) === identityOf(tasks.value) ? Math.min(MAX_PAUSE_MS, pauseMs * 2) : MIN_PAUSE_MS
        if (identityOf(next) !== identityOf(tasks.value)) tasks.value = next
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
    if (routes.a2a === null || routes.a2a === undefined) return
    const stop = new AbortController()
    watchTasks(stop.signal)
    return () => stop.abort()
  }, [routes, looks.value])
  const count = tasks.value.length + pending.value.length
  return (
    <div data-testid='inbox' data-state={count === 0 ? 'empty' : 'waiting'}>
      <p class='soft'>Agents and tools that wait for you: answer them here, and they go on. A2A tasks that you may read, and MCP tools that this tab called.</p>
      <div class='row'>
        <p data-testid='inbox-count' aria-live='polite'>{count === 0 ? 'Nothing waits for a person.' : `${count} waiting for a person.`}</p>
        <button type='button' data-testid='inbox-refresh' onClick={() => { looks.value++ }}>Look again</button>
      </div>
      {problem.value !== '' && <Notice kind='error' testId='inbox-problem'>{problem}</Notice>}
      {outcome.value !== '' && <Notice kind='ok' testId='inbox-outcome'>{outcome}</Notice>}
      {tasks.value.map(task => <WaitingTask key={`${task.id} ${task.status.timestamp}`} task={task} readOnly={readOnly} onAnswered={() => { looks.value++ }} />)}
      {pending.value.map(waiting => readOnly
        ? <p class='card' key={waiting.requestState}>{waiting.call.tool} of {waiting.call.server} asks; this page is read only.</p>
        : <Questions key={waiting.requestState} waiting={waiting} onOutcome={next => { outcome.value = 'result' in next ? `${waiting.call.tool} has ended.` : `${waiting.call.tool} asks again.` }} />)}
    </div>
  )
}

/** A text with its http and https addresses as links. */
function withLinks (text: string): Array<string | JSX.Element> {
  return text.split(ADDRESS).map((part, i) => i % 2 === 0 ? part : <a key={i} href={part} target='_blank' rel='noreferrer' data-testid='task-sign-in'>{part}</a>)
}

function WaitingTask ({ task, readOnly, onAnswered }: { readonly task: Task, readonly readOnly: boolean, readonly onAnswered: () => void }): JSX.Element {
  const { id, status: { state, message }, history = [], metadata: { skillName } = {} } = task
  const isSignIn = state === 'TASK_STATE_AUTH_REQUIRED'
  const said = textOf(message?.parts)
  const { url = '' } = isSignIn ? signInOf(said, message?.parts) : {}
  const request = said.includes(url) ? said : `${said} ${url}`.trim()
  const { parts: first = [] } = history.find(({ role }) => role === 'ROLE_USER') ?? {}
  // the question of a skill is a field of its input
  const asked = textOf(first) || first.map(({ data }) => data?.input?.query ?? data?.input?.question).find(one => typeof one === 'string') || ''
  const written = useSignal('')
  const failure = useSignal('')
  const sending = useSignal(false)
  const run = async (work: () => Promise<void>, done: string): Promise<void> => {
    sending.value = true
    failure.value = ''
    try {
      await work()
      tasks.value = tasks.value.filter(other => other.id !== id)
      outcome.value = `${done} task ${id}.`
      onAnswered()
    } catch (err) {
      failure.value = (err as Error).message
    } finally {
      sending.value = false
    }
  }
  const answer = (text: string, done: string): void => { run(() => answerTask(task, text), done) }
  return (
    <form
      class='card' data-testid='waiting-task' data-state={shortState(state)}
      onSubmit={event => {
        event.preventDefault()
        if (written.value.trim() === '') failure.value = 'Write an answer first.'
        else answer(written.value, 'Answered')
      }}
    >
      <h2><a href={addressOf('timeline', [id])}>Task {id}</a> <span class='badge'>{shortState(state)}</span></h2>
      {(asked !== '' || skillName !== undefined) && <p class='soft' data-testid='task-asked'>{skillName?.replace(/^vac_(query|stream|memory_search)_/, '')}{asked === '' ? '' : ` was asked: ${asked.slice(0, MAX_ASKED)}`}</p>}
      <p data-testid='task-question'>{isSignIn && 'It waits until you have signed in. '}{isSignIn ? withLinks(request) : request || 'It waits for input.'}</p>
      {!readOnly && (
        <>
          {!isSignIn && <label class='wide'>Answer <textarea data-testid='task-answer' value={written} onInput={event => { written.value = event.currentTarget.value }} /></label>}
          <div class='row'>
            {!isSignIn && <button class='main' data-testid='task-send' disabled={sending.value}>Send the answer</button>}
            {!isSignIn && <button type='button' data-testid='task-approve' disabled={sending.value} onClick={() => answer('yes', 'Approved')}>Approve</button>}
            {!isSignIn && <button type='button' data-testid='task-decline' disabled={sending.value} onClick={() => answer('no', 'Declined')}>Decline</button>}
            <button type='button' data-testid='task-cancel' disabled={sending.value} onClick={() => { run(() => cancelTask(id), 'Cancelled') }}>Cancel the task</button>
          </div>
        </>
      )}
      {failure.value !== '' && <Notice kind='error' testId='task-problem'>{failure}</Notice>}
    </form>
  )
}
