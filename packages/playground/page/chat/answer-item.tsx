import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId, useMemo } from 'preact/hooks'
import { isWeb } from '../shared/address.js'
import { focusOn, sendOnEnter } from '../shared/field.js'
import { IconButton } from '../shared/icons.js'
import { CopyButton, duration, Link } from '../shared/ui.js'
import { askAgain } from './again.js'
import { withoutApproval, type Answer } from './answer.js'
import { isAsking } from './conversation.js'
import { Files } from './files.js'
import { Citing, Markdown } from './markdown.js'
import { Reply } from './reply.js'
import { Sources, useCite } from './sources.js'
import { hasSteps, Steps } from './steps.js'

interface AnswerItemProps {
  readonly answer: Answer
  readonly isLast: boolean
  /** For the answer of a question that is asked again. */
  readonly protocol: NonNullable<Answer['protocol']>
}

/** An answer that does not change is not rendered again. */
export const AnswerItem = ({ answer, isLast, protocol }: AnswerItemProps): JSX.Element =>
  useMemo(() => <Item answer={answer} isLast={isLast} protocol={protocol} />, [answer, isLast, protocol])

function Item ({ answer, isLast, protocol }: AnswerItemProps): JSX.Element {
  const { text, state, steps = [], files = [], signIn, problem, unsent = 0, isCut, approval, message } = answer
  const id = `source${useId()}`
  const cite = useCite(answer, id)
  const shown = approval === undefined ? text : withoutApproval(text)
  return (
    <>
      <QuestionItem answer={answer} isLast={isLast} protocol={protocol} />
      <div class='answer' data-testid='chat-answer' data-state={state} aria-live={isLast ? 'polite' : undefined} aria-busy={state === 'asking'}>
        {steps.length > 0 && <Steps steps={steps} isAsking={state === 'asking'} hasText={text !== ''} message={message} />}
        <Citing.Provider value={cite}><Markdown text={shown} /></Citing.Provider>
        {state === 'asking' && text === '' && !hasSteps(steps) && <Waiting answer={answer} />}
        {isCut === true && <p class='notice warning' data-testid='chat-cut'>Only the beginning was sent.</p>}
        {unsent > 0 && <p class='notice warning' data-testid='chat-unsent'>Earlier answers too long to send: {unsent}.</p>}
        {signIn !== undefined && state === 'asking' && (
          <p class='notice warning' data-testid='chat-sign-in'>
            The agent waits for a sign-in. {!text.includes(signIn.text) && `${signIn.text} `}{signIn.url !== undefined && isWeb(signIn.url) && <><Link url={signIn.url}>{signIn.url}</Link> </>}
            The answer goes on after it.
          </p>
        )}
        {problem !== undefined && <Problem text={problem} />}
        <Reply answer={answer} />
      </div>
      <Sources answer={answer} id={id} />
      <Files files={files} label='Files and data' />
      {state !== 'asking' && (
        <div class='actions'>
          {text !== '' && <CopyButton text={() => shown} label='Copy' testId='chat-copy' icon='copy' />}
          {isLast && <IconButton icon='again' label='Ask again' testId='chat-again' disabled={isAsking.value} onClick={() => askAgain(answer, answer.question, protocol)} />}
          <Figures answer={answer} />
        </div>
      )}
    </>
  )
}

/** Why an answer failed, as a sentence; below it the id under which the log of the service has more. */
function Problem ({ text }: { readonly text: string }): JSX.Element {
  const [, reason = text, kind = 'request', id] = /^([^]*?)(?:; the log has the cause under the (\w+) id| \(request id) ([\w.:-]+)\)?$/.exec(text) ?? []
  return (
    <p class='notice error' role='alert' data-testid='chat-problem'>
      {reason.slice(0, 1).toUpperCase() + reason.slice(1)}{/[.!?]$/.test(reason) ? '' : '.'}
      {id !== undefined && <small>The log has the cause under the {kind} id <code>{id}</code></small>}
    </p>
  )
}

function Waiting ({ answer: { progress, message } }: { readonly answer: Answer }): JSX.Element {
  return (
    <p class='waiting' role='status' data-testid='chat-waiting'>
      <span class='spinner' /> {message ?? 'Thinking'}{progress === undefined || progress === 0 ? '' : ` ${Math.round(progress * 100)} %`}
    </p>
  )
}

/** Time and tokens. */
function Figures ({ answer: { state, totalMs, usage } }: { readonly answer: Answer }): JSX.Element {
  const facts = [
    ...state === 'stopped' || state === 'failed' ? [state] : [],
    ...totalMs === undefined ? [] : [duration(totalMs)],
    ...usage === undefined ? [] : [`${(usage.prompt_tokens + usage.completion_tokens).toLocaleString()} tokens`]
  ]
  const title = usage === undefined ? undefined : `${usage.prompt_tokens} in, ${usage.completion_tokens} out`
  return <span class='soft' dir='ltr' data-testid='chat-figures' title={title}>{facts.join(' · ')}</span>
}

/** The question, and the field in which it is changed. */
function QuestionItem ({ answer, isLast, protocol }: AnswerItemProps): JSX.Element {
  const isEdited = useSignal(false)
  const { question, attached = [] } = answer
  if (isEdited.value) {
    return (
      <form
        class='edit' onSubmit={event => {
          event.preventDefault()
          const text = (event.currentTarget.elements.namedItem('edited') as HTMLTextAreaElement).value.trim()
          if (text === '') return
          isEdited.value = false
          askAgain(answer, text, protocol)
        }}
      >
        <textarea name='edited' rows={2} dir='auto' required aria-label='Edited question' data-testid='chat-edited' defaultValue={question} ref={focusOn} onKeyDown={sendOnEnter} />
        <div class='line'>
          <button class='main' data-testid='chat-edited-send' disabled={isAsking}>Ask</button>
          <button type='button' data-testid='chat-edited-cancel' onClick={() => { isEdited.value = false }}>Cancel</button>
          {!isLast && <span class='soft'>The later turns are dropped.</span>}
        </div>
      </form>
    )
  }
  return (
    <div class='asked'>
      <IconButton icon='edit' label='Edit the question' testId='chat-edit' disabled={isAsking.value} onClick={() => { isEdited.value = true }} />
      <div class='question-box'>
        <Files files={attached} label='Files of the question' />
        <p class='question' dir='auto'>{question}</p>
      </div>
    </div>
  )
}
