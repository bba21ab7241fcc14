import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { parseEvents } from '@polyvac/client/events'
import { exchanges, type Exchange, type Frame } from '../requests/exchange.js'
import { ownUrl } from '../requests/own-url.js'
import { token } from '../requests/token.js'
import type { CopiedRequest } from '../shared/copy-as.js'
import { CopyButtons } from '../shared/copy-buttons.js'
import { addressOf, replaceAddress, route } from '../shared/router.js'
import { bytes, count, duration, Json, Notice, saveFile, VirtualList } from '../shared/ui.js'
import { MAX_FILE_BYTES, readSession, writeSession } from './session-file.js'

const ROW_HEIGHT = 28

/** A session of a file; undefined while the page shows its own. */
const opened = signal<{ readonly name: string, readonly exchanges: readonly Exchange[] } | undefined>(undefined)
const problem = signal('')

async function open (file: File): Promise<void> {
  try {
    if (file.size > MAX_FILE_BYTES) throw new Error(`the file has more than ${MAX_FILE_BYTES} bytes`)
    opened.value = { name: file.name, exchanges: readSession(await file.text()) }
    problem.value = ''
    replaceAddress(addressOf('raw'))
  } catch (err) {
    problem.value = `${file.name} is not opened: ${(err as Error).message}`
  }
}

function download (session: readonly Exchange[]): void {
  saveFile(`polyvac-session-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.jsonl`, writeSession(session, [token.value]))
}

export function Raw (): JSX.Element {
  const session = opened.value?.exchanges ?? exchanges.value
  const selected = session.find(({ id }) => id === route.value.path[0])
  const newestFirst = [...session].reverse()
  return (
    <div data-testid='raw' data-state={opened.value === undefined ? 'live' : 'file'}>
      <div class='row'>
        <button type='button' data-testid='raw-export' disabled={session.length === 0} onClick={() => download(session)}>Export as .jsonl</button>
        <label>Open a session
          <input
            type='file' accept='.jsonl' data-testid='raw-file' onChange={event => {
              const [file] = event.currentTarget.files ?? []
              event.currentTarget.value = ''
              if (file !== undefined) open(file)
            }}
          />
        </label>
        {opened.value !== undefined && <button type='button' data-testid='raw-close' onClick={() => { opened.value = undefined }}>Close {opened.value.name}</button>}
      </div>
      {problem.value !== '' && <Notice kind='error' testId='raw-problem'>{problem}</Notice>}
      <p data-testid='raw-count'>{count(session.length, 'exchange')}{opened.value === undefined ? '' : ` of ${opened.value.name}`}</p>
      <VirtualList
        items={newestFirst} rowHeight={ROW_HEIGHT} height={ROW_HEIGHT * 8} label='Exchanges' testId='raw-exchanges'
        row={({ id, label, protocol, status, error, startedAt, endedAt }) => (
          <a class='event' key={id} href={addressOf('raw', [id])} data-testid='raw-exchange' aria-current={id === selected?.id ? 'true' : undefined}>
            <span>{new Date(startedAt).toLocaleTimeString()}</span>
            <span class='text'>{label}</span>
            <span>{error === undefined ? status : 'ended early'}</span>
            <span>{protocol}, {duration(endedAt)}</span>
          </a>
        )}
      />
      {selected !== undefined && <ExchangeCard key={selected.id} exchange={selected} />}
      <p class='soft'>Headers with secrets are masked, in exports also fields named like secrets.</p>
    </div>
  )
}

function ExchangeCard ({ exchange }: { readonly exchange: Exchange }): JSX.Element {
  const { request: { method, path, headers: sent, body }, label, status, headers, frames, received, firstByteAt, endedAt, error } = exchange
  const chosen = useSignal<Frame | undefined>(undefined)
  const request: CopiedRequest = { method, url: ownUrl(path).href, headers: sent, ...body !== undefined && { body } }
  const lines = (fields: Record<string, string> = {}): string => Object.entries(fields).map(([name, value]) => `${name}: ${value}`).join('\n')
  return (
    <section class='card' aria-label={label} data-testid='exchange' data-state={error !== undefined ? 'failed' : endedAt === undefined ? 'open' : 'ended'}>
      <h2>{label}</h2>
      <p data-testid='exchange-figures'>
        {status ?? 'no answer'}{error === undefined ? '' : `, ${error}`}; first byte {duration(firstByteAt)}, total {duration(endedAt)}, {count(received?.frames ?? frames.length, 'frame')}, {bytes(received?.bytes ?? frames.reduce((sum, frame) => sum + frame.bytes, 0))}
      </p>
      <div class='row'>
        <CopyButtons request={request} />
      </div>
      <h3>Request</h3>
      <Json testId='exchange-request' label='Request' value={`${method} ${path}\n${lines(sent)}${body === undefined ? '' : `\n\n${JSON.stringify(body, null, 2)}`}`} />
      <h3>Response</h3>
      <Json testId='exchange-response' label='Response headers' value={`${status ?? ''}\n${lines(headers)}`} />
      <VirtualList
        items={frames} rowHeight={ROW_HEIGHT} height={ROW_HEIGHT * 10} label='Frames' testId='raw-frames'
        row={(frame, index) => (
          <button type='button' class='event' key={index} data-testid='raw-frame' aria-pressed={frame === chosen.value} onClick={() => { chosen.value = frame }}>
            <span>+{frame.at} ms</span>
            <span class='text'>{frame.text.slice(0, 200)}</span>
            <span>{bytes(frame.bytes)}</span>
          </button>
        )}
      />
      {received !== undefined && received.frames > frames.length && <p class='soft' data-testid='raw-dropped'>The page does not keep {count(received.frames - frames.length, 'later frame')}: its session is bounded.</p>}
      {chosen.value !== undefined && <Json testId='raw-frame-text' label='Frame' value={pretty(chosen.value.text)} />}
    </section>
  )
}

/** A frame with its JSON indented. */
function pretty (text: string): string {
  const { data = '' } = parseEvents(text)[0] ?? {}
  try {
    const json = JSON.stringify(JSON.parse(data === '' ? text : data), null, 2)
    return data === '' ? json : `${text.split(/\r?\n/).filter(line => !line.startsWith('data:')).map(line => `${line}\n`).join('')}data: ${json}`
  } catch {
    return text
  }
}
