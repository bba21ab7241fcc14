import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Received { readonly headers: IncomingHttpHeaders, readonly body: string, readonly url: string | undefined }

export interface Receiver {
  readonly port: number
  readonly host: string
  readonly url: string
  readonly received: Received[]
  /** Connections made, whether or not a request came over them. */
  connections (): number
  /** Connections that are open. */
  open (): number
}

/** A local server that keeps what it is sent and answers with `answer`; 200 by default. */
export async function receiver (t: Test, answer: RequestListener = (request, response) => { response.end('fine') }): Promise<Receiver> {
  const received: Received[] = []
  let connections = 0
  let open = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    received.push({ headers: request.headers, body, url: request.url })
    answer(request, response)
  })
  server.on('connection', socket => {
    connections++
    open++
    socket.on('error', () => {}).on('close', () => { open-- })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return { port, host, url: `http://${host}/hook`, received, connections: () => connections, open: () => open }
}
