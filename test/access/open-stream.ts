import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { until } from '../fixtures/until.js'
import type { Sent } from './send.js'

/** An answer that stays open: its text is read as it comes. */
export class OpenStream {
  readonly head: Promise<IncomingMessage>
  readonly ended: Promise<void>
  text = ''
  isOver = false
  readonly #request: ClientRequest

  constructor (url: string, { method = 'POST', path, headers, body }: Sent, authorization: string | undefined) {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const request = this.#request = httpRequest(url + path, {
      agent: false,
      method,
      headers: { ...payload !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }, ...headers, ...authorization !== undefined && { authorization } }
    })
    this.head = new Promise((resolve, reject) => { request.on('response', resolve).on('error', reject) })
    this.ended = this.head.then(response => new Promise<void>(resolve => {
      response.setEncoding('utf8').on('data', (chunk: string) => { this.text += chunk }).on('close', () => { this.isOver = true; resolve() }).on('error', () => {})
    }), () => {})
    request.end(payload)
  }

  async until (words: string): Promise<void> {
    await until(() => this.text.includes(words), `the stream has ${words}`)
  }

  leave (): void {
    this.#request.destroy()
  }
}
