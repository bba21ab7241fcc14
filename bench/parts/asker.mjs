import { Agent, request } from 'node:http'

/** Sends requests over one connection; resolves to the text of a response. */
export function asker (port) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return (method, path, body) => new Promise((resolve, reject) => {
    const text = body && JSON.stringify(body)
    const asked = request({ agent, host: '127.0.0.1', port, method, path, headers: text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } })
    asked.on('error', reject).end(text)
    asked.on('response', response => {
      let received = ''
      response.setEncoding('utf8').on('data', piece => { received += piece }).on('error', reject).on('end', () => {
        if (response.statusCode >= 300) reject(new Error(`${method} ${path} is answered with ${response.statusCode} ${received.slice(0, 200)}`))
        else resolve(received)
      })
    })
  })
}
