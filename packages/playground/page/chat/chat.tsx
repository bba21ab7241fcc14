import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Attachment } from '../protocols/attachments.js'
import type { ChatProtocol, InputRequest, Source } from '../protocols/chat-protocol.js'
import { PROTOCOLS } from '../protocols/protocols.js'
import { isWeb } from '../shared/address.js'
import { addressOf, replaceAddress, route } from '../shared/router.js'
import { settings, vacs } from '../shared/settings.js'
import { bytes, count, duration, Link, saveFile } from '../shared/ui.js'
import { answers, ask, isAsking, openConversation, resume, stop, type Answer } from './conversation.js'
import { Markdown } from './markdown.js'
import { StoredList } from './stored-list.js'
import { openList, stored } from './stored.js'

const fieldOf = (form: HTMLFormElement, name: string): HTMLTextAreaElement => form.elements.namedItem(name) as HTMLTextAreaElement

export function Chat (): JSX.Element {
  const offered = PROTOCOLS.filter(protocol => settings.value.routes[protocol.route] !== null)
  const vac = vacs.value.find(({ name }) => name === route.value.path[0])?.name ?? vacs.value[0]?.name ?? ''
  const protocol = offered.find(({ id }) => id === route.value.query.get('protocol'))?.id ?? offered[0]?.id ?? 'direct'
  const choose = (vac: string, protocol: string): void => { replaceAddress(addressOf('chat', [vac], { protocol })) }
  const hasSettings = vacs.value.length > 0
  useEffect(() => { if (hasSettings) resume() }, [hasSettings])
  useEffect(() => { if (vac !== '') openList(vac) }, [vac, vacs.value])
  const submit = (form: HTMLFormElement): void => {
    const question = fieldOf(form, 'question').value.trim()
    if (question === '' || isAsking.value || vac === '') return
    fieldOf(form, 'question').value = ''
    ask(vac, protocol, question)
  }
  const [first] = answers.value
  return (
    <div class={stored.value.heads === undefined ? undefined : 'split'}>
      <StoredList />
      <div>
        {first === undefined && (
          <p class='soft' data-testid='chat-empty'>
            A VAC is an agent of this service. Choose one and a protocol, type a question and press Enter.
          </p>
        )}
        {first?.earlier !== undefined && (
          <button type='button' data-testid='chat-earlier' disabled={isAsking} onClick={() => { openConversation(first.vac, first.conversation!, first.earlier) }}>Earlier turns</button>
        )}
        <ol class='conversation' aria-label='Conversation' aria-live='polite' data-testid='chat-answers'>
          {answers.value.map((answer, index) => <AnswerItem key={index} answer={answer} />)}
        </ol>
        <form class='ask' onSubmit={event => { event.preventDefault(); submit(event.currentTarget) }}>
          <div class='row'>
            <label>VAC
              <select name='vac' data-testid='chat-vac' value={vac} onChange={event => { choose(event.currentTarget.value, protocol) }}>
                {vacs.value.map(({ name, display_name: title }) => <option key={name} value={name}>{title ?? name}</option>)}
              </select>
            </label>
            <label>Protocol
              <select name='protocol' data-testid='chat-protocol' value={protocol} onChange={event => { choose(vac, event.currentTarget.value) }}>
                {offered.map(({ id, title }) => <option key={id} value={id}>{title}</option>)}
              </select>
            </label>
            <button type='button' data-testid='chat-clear' disabled={isAsking} onClick={() => { answers.value = [] }}>New conversation</button>
          </div>
          <label>Question
            <textarea
              name='question' rows={2} dir='auto' required data-testid='chat-question' defaultValue={route.value.query.get('question') ?? ''}
              onKeyDown={event => {
                if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
                event.preventDefault()
                event.currentTarget.form?.requestSubmit()
              }}
            />
          </label>
          <div class='row'>
            <button class='main' data-testid='chat-send' disabled={isAsking.value || vac === ''}>Send</button>
            <button type='button' data-testid='chat-stop' disabled={!isAsking.value} onClick={() => { stop() }}>Stop</button>
          </div>
        </form>
      </div>
    </div>
  )
}

/** An answer that does not change is not rendered again. */
const AnswerItem = ({ answer }: { answer: Answer }): JSX.Element => useMemo(() => answerItem(answer), [answer])

function answerItem (answer: Answer): JSX.Element {
  const { question, vac, protocol, text, state, sources, files = [], progress, problem, unsent = 0, isCut, input, signIn, task, firstByteMs, totalMs, frames, exchange } = answer
  const received = count(frames ?? 0, 'frame')
  return (
    <li>
      <p class='question' dir='auto'>{question}</p>
      <div class='answer' data-testid='chat-answer' data-state={state} aria-busy={state === 'asking'}>
        <Markdown text={text} />
        {isCut === true && <p class='notice warning' data-testid='chat-cut'>Only the beginning was sent.</p>}
        {unsent > 0 && <p class='notice warning' data-testid='chat-unsent'>Earlier answers too long to send: {unsent}.</p>}
        {signIn !== undefined && state === 'asking' && (
          <p class='notice warning' data-testid='chat-sign-in'>
            The agent waits for a sign-in. {!text.includes(signIn.text) && `${signIn.text} `}{signIn.url !== undefined && isWeb(signIn.url) && <><Link url={signIn.url}>{signIn.url}</Link> </>}
            The answer goes on after it.
          </p>
        )}
        {problem !== undefined && <p class='notice error' role='alert' data-testid='chat-problem'>{problem}</p>}
        {input !== undefined && protocol !== undefined && state !== 'asking' && <Reply input={input} vac={vac} protocol={protocol} />}
      </div>
      {sources.length > 0 && <ul class='sources' aria-label='Sources'>{sources.map((source, index) => <SourceCard key={index} number={index + 1} source={source} />)}</ul>}
      {files.length > 0 && <ul class='sources' aria-label='Files and data'>{files.map((file, index) => <FileCard key={index} file={file} />)}</ul>}
      <p class='soft' data-testid='chat-figures'>
        {vac}{protocol !== undefined && ` over ${protocol}`}, {state}{state === 'asking' && progress ? ` ${Math.round(progress * 100)} %` : ''}
        {protocol === undefined ? `; total ${duration(totalMs)}` : `; first byte ${duration(firstByteMs)}, total ${duration(totalMs)}, `}
        {protocol !== undefined && (exchange === undefined ? received : <a href={addressOf('raw', [exchange])} data-testid='chat-raw'>{received}</a>)}
        {task !== undefined && protocol?.startsWith('a2a') && <>, <a href={addressOf('timeline', [task])} data-testid='chat-task'>task</a></>}
      </p>
    </li>
  )
}

/** The field for what the agent asks; the question is the end of the answer. */
function Reply ({ input, vac, protocol }: { input: InputRequest, vac: string, protocol: ChatProtocol['id'] }): JSX.Element {
  return (
    <form
      class='row' data-testid='chat-input-required' onSubmit={event => {
        event.preventDefault()
        ask(vac, protocol, fieldOf(event.currentTarget, 'reply').value, input)
      }}
    >
      <label>Your reply <input name='reply' dir='auto' required data-testid='chat-reply' /></label>
      <button data-testid='chat-reply-send' disabled={isAsking}>Reply</button>
    </form>
  )
}

function SourceCard ({ number, source: { page_content: passage, metadata = {} } }: { number: number, source: Source }): JSX.Element {
  const { source, url, heading, lines, score } = metadata
  const address = [url, source].find(value => typeof value === 'string' && isWeb(value)) as string | undefined
  return (
    <li data-testid='chat-source'>
      <details>
        <summary>
          [{number}] <bdi>{String(source ?? 'source')}</bdi>{lines === undefined ? '' : `:${String(lines)}`} {heading === undefined ? '' : <bdi>{String(heading)}</bdi>}
          {typeof score === 'number' && <span class='soft'> {score.toFixed(2)}</span>}
        </summary>
        <p class='passage' dir='auto'>{passage}</p>
      </details>
      {address !== undefined && <Link url={address}>Open source {number}</Link>}
    </li>
  )
}

function FileCard ({ file: { name, type, text, bytes: encoded, url } }: { file: Attachment }): JSX.Element {
  const size = encoded === undefined ? text?.length : Math.floor(encoded.replace(/=+$/, '').length * 3 / 4)
  const facts = [type, size === undefined ? undefined : bytes(size)].filter(fact => fact !== undefined).join(', ')
  const content = (): BlobPart => encoded === undefined ? text! : Uint8Array.from(atob(encoded), char => char.charCodeAt(0))
  // what is not base64 has no content that could be saved
  const isKnown = encoded === undefined ? text !== undefined : encoded.length % 4 === 0 && /^[\w+/]*={0,2}$/.test(encoded) && !encoded.includes('_')
  return (
    <li data-testid='chat-file'>
      {url !== undefined && isWeb(url) ? <Link url={url}>{name}</Link> : <b>{name}</b>} <span class='soft'>{facts}</span>
      {text !== undefined && <details><summary>Content</summary><p class='passage' dir='auto'>{text}</p></details>}
      {isKnown && <p><button type='button' data-testid='chat-file-save' aria-label={`Save ${name}`} onClick={() => { saveFile(name, content()) }}>Save</button></p>}
    </li>
  )
}
