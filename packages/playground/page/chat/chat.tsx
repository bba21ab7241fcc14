import { useSignal } from '@preact/signals'
import type { ComponentChildren, FunctionComponent, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Attachment } from '../protocols/attachments.js'
import type { ChatProtocol } from '../protocols/chat-protocol.js'
import { PROTOCOLS } from '../protocols/protocols.js'
import { Icon, IconButton } from '../shared/icons.js'
import { addressOf, replaceAddress, route } from '../shared/router.js'
import { isRefused, problem, settings, vacs } from '../shared/settings.js'
import { Notice } from '../shared/ui.js'
import { AnswerItem } from './answer-item.js'
import { Composer } from './composer.js'
import { answers, ask, isAsking, openConversation, resume } from './conversation.js'
import { isListOpen, SideList } from './side-list.js'
import { SignIn } from './sign-in.js'
import { openList } from './stored.js'
import { Welcome } from './welcome.js'

/** What the panel of the inspector shows besides the answers. */
export interface PanelProps {
  readonly offered: readonly ChatProtocol[]
  readonly protocol: ChatProtocol['id']
  readonly onProtocol: (id: string) => void
  readonly onClose: () => void
}

export function Chat ({ panel: Panel }: { readonly panel: FunctionComponent<PanelProps> }): JSX.Element {
  const isInspected = useSignal(false)
  const { query, path } = route.value
  const offered = PROTOCOLS.filter(protocol => settings.value.routes[protocol.route] !== null)
  const info = vacs.value.find(({ name }) => name === path[0]) ?? vacs.value[0]
  const vac = info?.name ?? ''
  const protocol = offered.find(({ id }) => id === query.get('protocol'))?.id ?? offered[0]?.id ?? 'direct'
  const choose = (vac: string, protocol: string): void => { replaceAddress(addressOf('chat', [vac], protocol === offered[0]?.id ? {} : { protocol })) }
  const hasSettings = vacs.value.length > 0
  useEffect(() => { if (hasSettings) resume() }, [hasSettings])
  useEffect(() => { if (vac !== '') openList(vac) }, [vac, vacs.value])
  const send = (question: string, attached: readonly Attachment[] = []): void => { if (!isAsking.value) ask(vac, protocol, question, { attached }) }
  if (isRefused.value) return <main class='single' data-testid='view-chat'><SignIn /></main>
  const takes = protocol === 'direct' ? (info?.takes ?? []).filter(kind => kind === 'images' || kind === 'files') : []
  return (
    <div class='frame' data-inspected={isInspected.value}>
      <SideList />
      {isListOpen.value && <button type='button' class='backdrop' aria-label='Close the list' onClick={() => { isListOpen.value = false }} />}
      <main class='talk' data-testid='view-chat'>
        <div class='bar'>
          <span class='only-narrow'><IconButton icon='menu' label='Conversations' testId='menu' onClick={() => { isListOpen.value = true }} /></span>
          <h1 class='hidden'>{settings.value.title}</h1>
          <select class='agent' aria-label='Agent' data-testid='chat-vac' value={vac} disabled={vacs.value.length < 2} onChange={event => { choose(event.currentTarget.value, protocol) }}>
            {vacs.value.map(({ name, display_name: title }) => <option key={name} value={name}>{title ?? name}</option>)}
          </select>
          <span class='grow' />
          <button type='button' class='quiet' aria-pressed={isInspected.value} data-testid='inspect' onClick={() => { isInspected.value = !isInspected.value }}><Icon name='inspect' /> Inspect</button>
        </div>
        <Thread>
          {problem.value !== '' && <Notice kind='error' testId='problem'>{problem}</Notice>}
          {answers.value.length === 0 && problem.value === '' && hasSettings && <Welcome vac={info} onAsk={send} />}
          <Answers protocol={protocol} />
        </Thread>
        <Composer vac={vac} name={info?.display_name ?? vac} takes={takes} onAsk={send} />
      </main>
      {isInspected.value && <Panel offered={offered} protocol={protocol} onProtocol={id => { choose(vac, id) }} onClose={() => { isInspected.value = false }} />}
    </div>
  )
}

function Answers ({ protocol }: { readonly protocol: ChatProtocol['id'] }): JSX.Element {
  const [first] = answers.value
  return (
    <>
      {first?.earlier !== undefined && (
        <button type='button' class='earlier' data-testid='chat-earlier' disabled={isAsking} onClick={() => { openConversation(first.vac, first.conversation!, first.earlier) }}>Earlier turns</button>
      )}
      <ol class='conversation' aria-label='Conversation' aria-live='polite' data-testid='chat-answers'>
        {answers.value.map((answer, index) => <AnswerItem key={index} answer={answer} isLast={index === answers.value.length - 1} protocol={protocol} />)}
      </ol>
    </>
  )
}

/** Pixels from the end within which the reader follows what is added. */
const NEAR_PX = 80

/** The turns. They follow the answer unless the reader has scrolled up. */
function Thread ({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const inner = useRef<HTMLDivElement>(null)
  const isFollowing = useSignal(true)
  const top = useRef(0)
  const toEnd = (): void => { box.current?.scrollTo({ top: box.current.scrollHeight }) }
  // a question of the reader goes to the end, wherever the reader is
  useEffect(() => {
    isFollowing.value = true
    toEnd()
  }, [answers.value.length])
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => { if (isFollowing.peek()) toEnd() })
    observer.observe(inner.current!)
    return () => observer.disconnect()
  }, [])
  return (
    <div class='thread-box'>
      <div
        class='thread' ref={box} tabIndex={0} role='region' aria-label='Turns' data-testid='chat-thread'
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          // the text may have grown since the page went to the end, so only a way up is the reader's
          if (scrollHeight - scrollTop - clientHeight < NEAR_PX) isFollowing.value = true
          else if (scrollTop < top.current) isFollowing.value = false
          top.current = scrollTop
        }}
      >
        <div class='column' ref={inner}>{children}</div>
      </div>
      {!isFollowing.value && <button type='button' class='to-end' aria-label='To the end' title='To the end' data-testid='chat-to-end' onClick={() => { isFollowing.value = true; toEnd() }}><Icon name='down' /></button>}
    </div>
  )
}
