import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { isObject } from '../shared/fields.js'
import { Notice } from '../shared/ui.js'
import { getPrompt, OWN, readResource, type Prompt, type Resource } from './client.js'
import { Content } from './result.js'

interface Reading { readonly blocks: readonly unknown[], readonly problem: string }

/** Reads something when a person asks, and shows the blocks. */
function useReading (read: () => Promise<readonly unknown[]>): { readonly start: () => void, readonly shown: JSX.Element } {
  const reading = useSignal<Reading | undefined>(undefined)
  const start = (): void => {
    read().then(blocks => { reading.value = { blocks, problem: '' } }, (err: Error) => { reading.value = { blocks: [], problem: err.message } })
  }
  const { blocks = [], problem = '' } = reading.value ?? {}
  const shown = <div aria-live='polite'>{problem !== '' && <Notice kind='error' testId='read-problem'>{problem}</Notice>}{blocks.map((block, i) => <Content key={i} block={block} />)}</div>
  return { start, shown }
}

const at = (server: string): string => server === OWN ? 'this service' : server

export function ResourceCard ({ resource: { uri, uriTemplate, name, description, mimeType, server } }: { readonly resource: Resource }): JSX.Element {
  const written = useSignal(uri ?? uriTemplate ?? '')
  const { start, shown } = useReading(() => readResource(server, written.value))
  return (
    <details class='entry' data-testid='resource' onToggle={event => { if (event.currentTarget.open && uri !== undefined) start() }}>
      <summary>{name} <small class='soft'>{at(server)}{mimeType === undefined || mimeType === '' ? '' : `, ${mimeType}`}</small></summary>
      <p class='soft'>{description}</p>
      <form class='row' onSubmit={event => { event.preventDefault(); start() }}>
        <label class='wide'>{uri === undefined ? 'URI by the template' : 'URI'} <input data-testid='resource-uri' value={written} readOnly={uri !== undefined} onInput={event => { written.value = event.currentTarget.value }} /></label>
        <button data-testid='resource-read'>Read</button>
      </form>
      {shown}
    </details>
  )
}

export function PromptCard ({ prompt: { name, description, arguments: fields = [], server } }: { readonly prompt: Prompt }): JSX.Element {
  const values = useSignal<Record<string, string>>({})
  const { start, shown } = useReading(async () => {
    const messages = await getPrompt(server, name, values.value)
    return (Array.isArray(messages) ? messages : []).map(message => isObject(message) ? message.content : message)
  })
  return (
    <details class='entry' data-testid='prompt'>
      <summary>{name} <small class='soft'>{at(server)}</small></summary>
      <p class='soft'>{description}</p>
      <form class='row' onSubmit={event => { event.preventDefault(); start() }}>
        {fields.map(({ name, required }) => (
          <label key={name}>{name}{required === true ? '' : ' (optional)'} <input
            data-testid={`prompt-${name}`} required={required === true} value={values.value[name] ?? ''}
            onInput={event => { const { [name]: _old, ...rest } = values.value; values.value = event.currentTarget.value === '' ? rest : { ...rest, [name]: event.currentTarget.value } }}
                                                                           />
          </label>
        ))}
        <button data-testid='prompt-get'>Fill in</button>
      </form>
      {shown}
    </details>
  )
}
