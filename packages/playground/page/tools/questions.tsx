import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { isObject } from '../shared/fields.js'
import { Notice } from '../shared/ui.js'
import type { Outcome } from './client.js'
import { initialValue, problemsOf } from './json-schema.js'
import { answerCall, type PendingCall } from './pending-questions.js'
import { SchemaField } from './schema-form.js'

/** The questions of one call, with a form for each and two buttons. */
export function Questions ({ waiting, onOutcome }: { readonly waiting: PendingCall, readonly onOutcome: (outcome: Outcome) => void }): JSX.Element {
  const { call, questions } = waiting
  const values = useSignal<Record<string, unknown>>(Object.fromEntries(Object.entries(questions).map(([key, { params }]) => [key, initialValue(params.requestedSchema, params.requestedSchema, true)])))
  const choices = useMemo(() => new Map<string, number>(), [])
  const problem = useSignal('')
  const state = useSignal<'waiting' | 'sending' | 'failed'>('waiting')
  const answer = async (action: 'accept' | 'decline'): Promise<void> => {
    const problems = action === 'decline' ? [] : Object.entries(questions).flatMap(([key, { params }]) => problemsOf(params.requestedSchema, values.value[key], choices, key))
    problem.value = problems.join('; ')
    if (problems.length > 0) return
    state.value = 'sending'
    try {
      onOutcome(await answerCall(waiting, action, values.value))
    } catch (err) {
      problem.value = (err as Error).message
      state.value = 'failed'
    }
  }
  return (
    <form class='card' data-testid='question' data-state={state} onSubmit={event => { event.preventDefault(); answer('accept') }}>
      <h2>{call.tool} of {call.server} asks</h2>
      {Object.entries(questions).map(([key, { method, params }]) => (
        <div key={key}>
          <p>{typeof params.message === 'string' ? params.message : method}</p>
          {typeof params.url === 'string' && <p class='soft'>It wants you to open <code>{params.url}</code></p>}
          {isObject(params.requestedSchema) && (
            <SchemaField
              schema={params.requestedSchema} root={params.requestedSchema} label='Answer' path={key} isRequired choices={choices} value={values.value[key]}
              onChange={next => { values.value = { ...values.value, [key]: next ?? {} } }}
            />
          )}
        </div>
      ))}
      {problem.value !== '' && <Notice kind='error' testId='question-problem'>{problem}</Notice>}
      <div class='row'>
        <button class='main' data-testid='approve' disabled={state.value === 'sending'}>Approve</button>
        <button type='button' data-testid='decline' disabled={state.value === 'sending'} onClick={() => { answer('decline') }}>Decline</button>
      </div>
    </form>
  )
}
