import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { exchanges, type Exchange } from '../requests/exchange.js'
import { token } from '../requests/token.js'
import { addressOf, replaceAddress, route } from '../shared/router.js'
import { count, duration, Notice, saveFile, VirtualList } from '../shared/ui.js'
import { ExchangeCard, ROW_HEIGHT } from './exchange-card.js'
import { MAX_FILE_BYTES, readSession, writeSession } from './session-file.js'

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
