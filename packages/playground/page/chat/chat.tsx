import { useSignal } from '@preact/signals'
import type { FunctionComponent, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Attachment } from '../protocols/attachments.js'
import type { ChatProtocol } from '../protocols/chat-protocol.js'
import { PROTOCOLS } from '../protocols/protocols.js'
import { Icon, IconButton } from '../shared/icons.js'
import { addressOf, replaceAddress, route } from '../shared/router.js'
import { isRefused, problem, settings, vacs } from '../shared/settings.js'
import { Notice } from '../shared/ui.js'
import { Composer } from './composer.js'
import { answers, ask, isAsking, resume } from './conversation.js'
import { isListOpen, SideList } from './side-list.js'
import { SignIn } from './sign-in.js'
import { openList } from './stored.js'
import { Thread } from './thread.js'
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
        <Thread protocol={protocol}>
          {problem.value !== '' && <Notice kind='error' testId='problem'>{problem}</Notice>}
          {answers.value.length === 0 && problem.value === '' && hasSettings && <Welcome vac={info} onAsk={send} />}
        </Thread>
        <Composer vac={vac} name={info?.display_name ?? vac} takes={takes} onAsk={send} />
      </main>
      {isInspected.value && <Panel offered={offered} protocol={protocol} onProtocol={id => { choose(vac, id) }} onClose={() => { isInspected.value = false }} />}
    </div>
  )
}
