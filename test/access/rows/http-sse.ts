import { until } from '../../fixtures/until.js'
import type { Sender } from '../row.js'
import type { Seen } from '../send.js'
import { OpenStream } from '../open-stream.js'

const BOTH = 'application/json, text/event-stream'

/** Opens a stream of HTTP+SSE, posts a request to its address and reads its response. @param opener whose stream */
export async function askOverSse ({ url, postUrl, authorization }: Sender, message: object, opener = authorization): Promise<Seen> {
  const stream = new OpenStream(url, { method: 'GET', path: '/mcp', headers: { accept: 'text/event-stream' } }, opener)
  try {
    const { statusCode: status = 0, headers } = await stream.head
    if (status !== 200) {
      await stream.ended
      return { status, headers, text: stream.text }
    }
    const endpoint = await until(() => /data: (\S+sse_session=\S+)/.exec(stream.text)?.[1], 'the stream names its address')
    const response = await fetch(postUrl + endpoint, {
      method: 'POST', headers: { 'content-type': 'application/json', accept: BOTH, ...authorization !== undefined && { authorization } }, body: JSON.stringify(message)
    })
    const text = await response.text()
    if (response.status !== 202) return { status: response.status, headers: Object.fromEntries(response.headers), text }
    const answer = await until(() => /^data: (.*"id":1\b.*)$/m.exec(stream.text)?.[1], 'the stream has the response')
    return { status: 200, headers: {}, text: answer }
  } finally {
    stream.leave()
  }
}
