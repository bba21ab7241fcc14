import { parseEvents } from '@polyvac/client/events'
import { isRecord } from '@polyvac/core/plugin'
import { checkChallenge } from './authentication.js'
import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { statusOf } from './runs.js'
import { describeFailure, MAX_REPLY_BYTES, parseJson, type HttpClient } from '../client/http-client.js'

/** A question whose answer is a stream of events. */
interface Asking {
  readonly check: string
  readonly path: string
  readonly body: object
  /** The type of the first event. */
  readonly begins: string
  /** The text of the finding where the answer begins so. */
  readonly text: string
  /** A header that clients of the protocol expect, with its value. */
  readonly header?: readonly [name: string, value: string]
  /** Called with the headers of an answer, after its first event. */
  readonly leave?: (headers: Headers) => Promise<void>
}

/** Whether an answer begins. The service stops it when the connection is closed after the first event. */
export async function checkBeginning (client: HttpClient, { check, path, body, begins, text, header, leave }: Asking): Promise<Finding> {
  const remedy = `let the proxy pass POST and event streams below /${path.slice(0, path.lastIndexOf('/'))}/, and read the log of the service`
  const { status, headers, pieces } = await client.open(path, { headers: { accept: 'text/event-stream' }, body })
  let read = ''
  let failure = 'the stream ended'
  let first: string | undefined
  try {
    for await (const piece of pieces) {
      read += piece.text
      // what follows the last empty line may be cut
      first = parseEvents(/^[^]*(?:\n\r?\n|\r\r)/.exec(read)?.[0] ?? '')[0]?.data
      if (first !== undefined || read.length > MAX_REPLY_BYTES) break
    }
  } catch (err) {
    failure = describeFailure(err)
  }
  const reply = { status, headers, text: read, json: parseJson(read), isCut: false }
  if (status === 401 || status === 403) return checkChallenge(check, reply)
  if ([404, 405, 501].includes(status)) return unchecked(check, `POST /${path} answers ${status}: the service does not serve it`)
  if (status !== 200 || headers.get('content-type')?.startsWith('text/event-stream') !== true) return problem(check, `POST /${path} answers ${statusOf(reply)} without events`, remedy)
  await leave?.(headers)
  const event = first === undefined ? undefined : parseJson(first)
  if (!isRecord(event) || event.type !== begins) {
    return problem(check, `POST /${path} does not begin with ${begins} (${first === undefined ? failure : `its first event is ${first.slice(0, 100)}`})`, remedy)
  }
  if (header !== undefined && headers.get(header[0]) !== header[1]) return warning(check, `${text}, without the header ${header.join(': ')}`, 'let the proxy pass the header')
  return ok(check, text)
}
