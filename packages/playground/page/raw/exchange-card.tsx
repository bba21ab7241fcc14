import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { parseEvents } from '@polyvac/client/events'
import type { Exchange, Frame } from '../requests/exchange.js'
import { ownUrl } from '../requests/own-url.js'
import type { CopiedRequest } from '../shared/copy-as.js'
import { CopyButtons } from '../shared/copy-buttons.js'
import { bytes, count, duration, Json, VirtualList } from '../shared/ui.js'

/** Height of a row of the lists, in px. */
export const ROW_HEIGHT = 28

/** What was sent and received: headers, body and each frame. */
export function ExchangeCard ({ exchange }: { readonly exchange: Exchange }): JSX.Element {
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
