import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Attachment } from '../protocols/attachments.js'
import { Icon, IconButton } from '../shared/icons.js'
import { sendOnEnter } from '../shared/field.js'
import { route } from '../shared/router.js'
import { readFile } from './attach.js'
import { isAsking, stop } from './conversation.js'
import { isListOpen } from './side-list.js'

const attached = signal<readonly Attachment[]>([])
const problem = signal('')

async function attach (files: readonly File[], takes: readonly string[]): Promise<void> {
  problem.value = ''
  for (const file of files) {
    try {
      attached.value = [...attached.value, await readFile(file, takes, attached.value)]
    } catch (err) {
      problem.value = (err as Error).message
    }
  }
}

/** Makes the field as high as its text, where the browser does not do so by `field-sizing`. */
function grow (field: HTMLTextAreaElement): void {
  if (CSS.supports('field-sizing', 'content')) return
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight}px`
}

interface ComposerProps {
  readonly vac: string
  readonly name: string
  /** Kinds of files that go with a question; none where the protocol or the agent takes none. */
  readonly takes: readonly string[]
  readonly onAsk: (question: string, attached: readonly Attachment[]) => void
}

/** The field for a question. Enter sends, Shift and Enter begin a line, Escape stops the answer. */
export function Composer ({ vac, name, takes, onAsk }: ComposerProps): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // a keyboard on a screen would cover the page
    if (vac !== '' && matchMedia('(hover: hover)').matches) field.current?.focus({ preventScroll: true })
  }, [vac])
  // a question that was sent before the page knew the agents
  const isEarly = useRef(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // on a narrow screen the list covers the chat
      if (event.key === 'Escape' && isListOpen.value) isListOpen.value = false
      else if (event.key === 'Escape' && isAsking.value) stop()
      const { tagName = '' } = document.activeElement ?? {}
      if (event.key !== '/' || ['INPUT', 'TEXTAREA', 'SELECT'].includes(tagName)) return
      event.preventDefault()
      field.current?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const submit = (): void => {
    const question = field.current!.value.trim()
    isEarly.current = vac === ''
    if (question === '' || isAsking.value || isEarly.current) return
    field.current!.value = ''
    grow(field.current!)
    const files = takes.length > 0 ? attached.value : []
    attached.value = []
    onAsk(question, files)
  }
  useEffect(() => { if (isEarly.current) submit() }, [vac])
  const onFiles = ({ files = null }: { readonly files?: FileList | null } = {}): boolean => {
    if (takes.length === 0 || files === null || files.length === 0) return false
    attach([...files], takes)
    return true
  }
  return (
    <form class='composer' onSubmit={event => { event.preventDefault(); submit() }} onDragOver={event => { if (takes.length > 0) event.preventDefault() }} onDrop={event => { if (onFiles(event.dataTransfer ?? {})) event.preventDefault() }}>
      {problem.value !== '' && <p class='notice error' role='alert' data-testid='chat-attach-problem'>{problem}</p>}
      {attached.value.length > 0 && takes.length > 0 && (
        <ul class='attached' aria-label='Files of the question'>
          {attached.value.map(file => (
            <li key={file} data-testid='chat-attached'>
              {file.type?.startsWith('image/') && <img src={`data:${file.type};base64,${file.bytes}`} alt='' />}
              <span>{file.name}</span>
              <IconButton icon='close' label={`Leave out ${file.name}`} testId='chat-attached-remove' onClick={() => { attached.value = attached.value.filter(other => other !== file) }} />
            </li>
          ))}
        </ul>
      )}
      <div class='field-box'>
        {takes.length > 0 && (
          <>
            <IconButton icon='attach' label='Attach a file' testId='chat-attach' onClick={() => { input.current?.click() }} />
            <input
              ref={input} type='file' multiple hidden aria-hidden='true' accept={takes.includes('files') ? undefined : 'image/*'} data-testid='chat-attach-file'
              onChange={event => { onFiles(event.currentTarget); event.currentTarget.value = '' }}
            />
          </>
        )}
        <textarea
          ref={field} name='question' rows={1} dir='auto' aria-label='Question' placeholder={`Ask ${name}`} data-testid='chat-question'
          defaultValue={route.value.query.get('question') ?? ''}
          onInput={event => {
            isEarly.current = false
            grow(event.currentTarget)
          }}
          onPaste={event => { if (onFiles(event.clipboardData ?? {})) event.preventDefault() }}
          onKeyDown={sendOnEnter}
        />
        {isAsking.value
          ? <button type='button' class='main round' aria-label='Stop' title='Stop (Esc)' data-testid='chat-stop' onClick={() => { stop() }}><Icon name='stop' /></button>
          : <button class='main round' aria-label='Send' title='Send (Enter)' data-testid='chat-send' disabled={vac === ''}><Icon name='send' /></button>}
      </div>
    </form>
  )
}
