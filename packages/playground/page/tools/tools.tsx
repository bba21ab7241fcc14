import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ownUrl } from '../requests/own-url.js'
import { token } from '../requests/token.js'
import type { CopiedRequest } from '../shared/copy-as.js'
import { CopyButtons } from '../shared/copy-buttons.js'
import { isObject } from '../shared/fields.js'
import { addressOf, replaceAddress, route } from '../shared/router.js'
import { settings } from '../shared/settings.js'
import { count, Notice } from '../shared/ui.js'
import { callRequest, loadLists, loadServers, OWN, restartServer, type Lists, type Outcome, type ServerState, type Tool } from './client.js'
import { hasPassword, initialValue, problemsOf, withoutPasswords } from './json-schema.js'
import { pending, startCall } from './pending-questions.js'
import { Questions } from './questions.js'
import { PromptCard, ResourceCard } from './resources.js'
import { Result } from './result.js'
import { SchemaField } from './schema-form.js'

/** Time in ms between two looks at the servers while the view is visible. */
const POLL_MS = 3_000
/** Entries of a list that are shown; the filter finds the others. */
const MAX_SHOWN = 200

const lists = signal<Lists | undefined>(undefined)
const servers = signal<readonly ServerState[]>([])
const problem = signal('')

async function refresh (): Promise<void> {
  try {
    lists.value = await loadLists()
    problem.value = lists.value.problems.join('; ')
    servers.value = await loadServers() ?? []
  } catch (err) {
    problem.value = (err as Error).message
  }
}

async function poll (): Promise<void> {
  if (document.hidden || servers.value.length === 0) return
  servers.value = await loadServers().catch(() => undefined) ?? servers.value
}

/** Shows a heading, and gives it the focus: what follows it is the next step of a keyboard. */
function moveTo (heading: HTMLElement | null): void {
  heading?.focus({ preventScroll: true })
  heading?.scrollIntoView()
}

const nameOfServer = (server: string): string => server === OWN ? 'this service' : server

export function Tools (): JSX.Element {
  const filter = useSignal('')
  const resourcesAt = useRef<HTMLHeadingElement>(null)
  const promptsAt = useRef<HTMLHeadingElement>(null)
  const { routes } = settings.value
  useEffect(() => {
    if (routes.mcp === null && routes.gateway === null) return
    refresh()
    const timer = setInterval(() => { poll() }, POLL_MS)
    return () => clearInterval(timer)
  }, [routes])
  const [server = '', name = ''] = route.value.path
  const { tools = [], resources = [], prompts = [] } = lists.value ?? {}
  const words = filter.value.toLowerCase()
  const matches = (...texts: Array<string | undefined>): boolean => texts.some(text => text?.toLowerCase().includes(words) === true)
  const found = tools.filter(tool => matches(tool.name, tool.title, tool.description, tool.server))
  const selected = tools.find(tool => tool.server === server && tool.name === name)
  return (
    <div data-testid='tools' data-state={lists.value === undefined ? 'loading' : 'ready'}>
      {problem.value !== '' && <Notice kind='error' testId='tools-problem'>{problem}</Notice>}
      {servers.value.length > 0 && <section aria-label='Upstream servers'><h2>Upstream servers</h2>{servers.value.map(one => <ServerCard key={one.name} server={one} />)}</section>}
      <div class='row'>
        <label>Filter <input type='search' data-testid='tools-filter' value={filter} onInput={event => { filter.value = event.currentTarget.value }} /></label>
        <button type='button' data-testid='tools-refresh' onClick={() => { refresh() }}>Refresh</button>
        {resources.length > 0 && <button type='button' data-testid='to-resources' onClick={() => { moveTo(resourcesAt.current) }}>Resources ({resources.length})</button>}
        {prompts.length > 0 && <button type='button' data-testid='to-prompts' onClick={() => { moveTo(promptsAt.current) }}>Prompts ({prompts.length})</button>}
      </div>
      <div class='split'>
        <section aria-label='Tools' class='list'>
          <h2>Tools</h2>
          {lists.value !== undefined && tools.length === 0 && <p class='soft' data-testid='tools-none'>This service offers no tools over MCP.</p>}
          <ul class='plain'>
            {found.slice(0, MAX_SHOWN).map(tool => (
              <li key={`${tool.server} ${tool.name}`}>
                <a href={addressOf('tools', [tool.server, tool.name])} data-testid='tool' aria-current={tool === selected ? 'true' : undefined}>{tool.title ?? tool.name}</a>
                <small class='soft'> {nameOfServer(tool.server)}</small>
              </li>
            ))}
          </ul>
          {found.length > MAX_SHOWN && <p class='soft'>{found.length - MAX_SHOWN} more; the filter finds them.</p>}
        </section>
        {selected !== undefined
          ? <ToolForm key={`${server} ${name}`} tool={selected} />
          : lists.value !== undefined && (name === ''
            ? tools.length > 0 && <p class='soft'>Choose a tool: its form opens here.</p>
            : <Notice kind='warning' testId='tool-missing'>{nameOfServer(server)} has no tool {name}.</Notice>)}
      </div>
      {resources.length > 0 && (
        <section aria-label='Resources'>
          <h2 ref={resourcesAt} tabIndex={-1}>Resources</h2>
          <div class='entries'>{resources.filter(one => matches(one.uri, one.uriTemplate, one.name, one.server)).slice(0, MAX_SHOWN).map(one => <ResourceCard key={`${one.server} ${one.uri ?? one.uriTemplate}`} resource={one} />)}</div>
        </section>
      )}
      {prompts.length > 0 && (
        <section aria-label='Prompts'>
          <h2 ref={promptsAt} tabIndex={-1}>Prompts</h2>
          <div class='entries'>{prompts.filter(one => matches(one.name, one.description, one.server)).slice(0, MAX_SHOWN).map(one => <PromptCard key={`${one.server} ${one.name}`} prompt={one} />)}</div>
        </section>
      )}
    </div>
  )
}

function ServerCard ({ server }: { readonly server: ServerState }): JSX.Element {
  const { name, state, transport, restarts, callsInFlight, error, nextRetryAt, stderr } = server
  const failure = useSignal('')
  const mayRestart = !settings.value.readOnly && server.mayRestart
  const restart = async (): Promise<void> => {
    failure.value = ''
    await restartServer(name).catch((err: unknown) => { failure.value = (err as Error).message })
    await poll()
  }
  return (
    <div class='card' data-testid={`server-${name}`} data-state={state}>
      <div class='row'>
        <strong>{name}</strong>
        <span class='badge'>{state === 'waiting' && nextRetryAt !== undefined ? `starts again at ${new Date(nextRetryAt).toLocaleTimeString()}` : state}</span>
        <span class='soft'>{transport}, {count(restarts, 'restart')}, {count(callsInFlight, 'open call')}</span>
        {mayRestart && <button type='button' data-testid={`restart-${name}`} onClick={() => { restart() }}>Restart {name}</button>}
      </div>
      {error !== undefined && <p class='soft'>{error}</p>}
      {failure.value !== '' && <Notice kind='error' testId={`restart-problem-${name}`}>{failure}</Notice>}
      {stderr.length > 0 && <details><summary>Last lines of stderr</summary><pre tabIndex={0} role='region' aria-label={`stderr of ${name}`} data-testid={`stderr-${name}`}>{stderr.join('\n')}</pre></details>}
    </div>
  )
}

function argumentsIn (address: string | null, schema: unknown): string {
  return address ?? JSON.stringify(initialValue(schema, schema, true) ?? {}, null, 2)
}

/** Whether a call may change or delete data. MCP assumes it of a tool without annotations. */
export function mayDestroy ({ annotations = {} }: Pick<Tool, 'annotations'>): boolean {
  return annotations.readOnlyHint !== true && annotations.destructiveHint !== false
}

function ToolForm ({ tool }: { readonly tool: Tool }): JSX.Element {
  const { server, name, description, inputSchema = {}, annotations } = tool
  const written = useSignal(argumentsIn(route.value.query.get('args'), inputSchema))
  const state = useSignal<'idle' | 'confirm' | 'running' | 'done' | 'failed'>('idle')
  const problem = useSignal('')
  const choices = useMemo(() => new Map<string, number>(), [])
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => moveTo(heading.current), [])
  const outcome = useSignal<Outcome | undefined>(undefined)
  let args: unknown
  try { args = JSON.parse(written.value) } catch { /* the text area reports it */ }
  const write = (text: string): void => {
    written.value = text
    if (state.value === 'confirm') state.value = 'idle'
    try {
      const shared = hasPassword(inputSchema) ? JSON.stringify(withoutPasswords(inputSchema, inputSchema, JSON.parse(text)), null, 2) : text
      replaceAddress(addressOf('tools', [server, name], { args: shared }))
    } catch { /* the address keeps the last arguments of which the passwords are known */ }
  }
  const run = async (isConfirmed: boolean): Promise<void> => {
    const problems = args === undefined ? ['the arguments are not JSON'] : isObject(args) ? problemsOf(inputSchema, args, choices, 'args') : ['the arguments are not an object']
    problem.value = problems.join('; ')
    if (problems.length > 0) return
    if (!isConfirmed && mayDestroy(tool)) {
      state.value = 'confirm'
      return
    }
    state.value = 'running'
    outcome.value = undefined
    try {
      outcome.value = await startCall({ server, tool: name, args })
      state.value = 'done'
    } catch (err) {
      problem.value = (err as Error).message
      state.value = 'failed'
    }
  }
  const request = (): CopiedRequest => {
    const { path, headers, body } = callRequest({ server, tool: name, args: args ?? {} })
    return { method: 'POST', url: ownUrl(path).href, headers: { 'content-type': 'application/json', ...headers, ...token.value !== '' && { authorization: '' } }, body }
  }
  const waiting = outcome.value !== undefined && 'questions' in outcome.value ? pending.value.find(({ requestState }) => requestState === (outcome.value as { requestState: string }).requestState) : undefined
  const mayRun = !settings.value.readOnly || annotations?.readOnlyHint === true
  return (
    <section aria-label={`Call ${name}`} class='form' data-testid='tool-form' data-state={state}>
      <h2 ref={heading} tabIndex={-1}>{name}</h2>
      {description !== undefined && description !== '' && <p class='soft'>{description}</p>}
      <form noValidate onSubmit={event => { event.preventDefault(); run(false) }}>
        <SchemaField schema={inputSchema} root={inputSchema} value={args} label='Arguments' path='args' isRequired choices={choices} onChange={next => write(JSON.stringify(next ?? {}, null, 2))} />
        <label class='wide'>Arguments as JSON <textarea rows={6} data-testid='tool-args' aria-invalid={args === undefined} value={written} onInput={event => write(event.currentTarget.value)} /></label>
        {problem.value !== '' && <Notice kind='error' testId='tool-problem'>{problem}</Notice>}
        <div class='row'>
          {mayRun ? <button class='main' data-testid='tool-run' disabled={state.value === 'running'}>Call {name}</button> : <p class='soft' data-testid='tool-read-only'>This read-only page does not call this tool.</p>}
          <CopyButtons request={request()} />
        </div>
      </form>
      {state.value === 'confirm' && (
        <Confirmation onAnswer={isConfirmed => { if (isConfirmed) run(true); else state.value = 'idle' }}>
          {annotations?.destructiveHint === true ? `${name} may change or delete data.` : `${name} does not state that it only reads: it may change or delete data.`} Call it?
        </Confirmation>
      )}
      {waiting !== undefined && <Questions key={waiting.requestState} waiting={waiting} onOutcome={next => { outcome.value = next }} />}
      {outcome.value !== undefined && 'result' in outcome.value && <Result result={outcome.value.result} />}
    </section>
  )
}

/** Asks before a call. The safe answer has the focus, and a key that is held down gives no answer. */
function Confirmation ({ onAnswer, children }: { readonly onAnswer: (isConfirmed: boolean) => void, readonly children: ComponentChildren }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  // the browser gives the focus back at closing, before the button of the form is disabled
  const answer = (isConfirmed: boolean): void => { dialog.current?.close(); onAnswer(isConfirmed) }
  return (
    <dialog
      role='alertdialog' aria-label='Confirm the call' class='card' data-testid='tool-confirm' ref={dialog}
      onCancel={event => { event.preventDefault(); answer(false) }}
      onKeyDown={event => { if (event.repeat && event.key !== 'Tab') event.preventDefault() }}
    >
      <p>{children}</p>
      <div class='row'>
        <button type='button' data-testid='tool-confirm-no' onClick={() => answer(false)}>Do not call it</button>
        <button class='main' type='button' data-testid='tool-confirm-yes' onClick={() => answer(true)}>Call it</button>
      </div>
    </dialog>
  )
}
