// The upstream server `notes` with one tool, and its own authorization server, on loopback. It grants every request.
import { once } from 'node:events'
import { createServer } from 'node:http'

const MAX_RECEIVED = 100

export class NotesServer {
  #server
  #issued = 0
  #revoked = new Set()
  /** The last requests, with their headers. */
  received = []

  async start () {
    this.#server = createServer((request, response) => { this.#answer(request, response) }).listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get base () { return `http://127.0.0.1:${this.#server.address().port}` }

  /** Revokes the token that was issued last; it cannot be refreshed. */
  revokeLast () { this.#revoked.add(`token-${this.#issued}`) }

  close () {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #answer (request, response) {
    const { base } = this
    const json = (status, body, headers = {}) => { response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)) }
    if (request.url.startsWith('/.well-known/oauth-protected-resource')) return json(200, { resource: `${base}/mcp`, authorization_servers: [base] })
    if (request.url.startsWith('/.well-known/')) {
      return json(200, {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true
      })
    }
    let text = ''
    request.on('data', chunk => { text += chunk }).on('end', () => {
      this.received = [...this.received.slice(1 - MAX_RECEIVED), JSON.stringify(request.headers) + text]
      if (request.url === '/register') return json(201, { ...JSON.parse(text), client_id: 'dynamic' })
      if (request.url === '/token') return json(200, { access_token: `token-${++this.#issued}`, token_type: 'bearer' })
      const token = (request.headers.authorization ?? '').replace('Bearer ', '')
      if (!token.startsWith('token-') || this.#revoked.has(token)) return json(401, {}, { 'www-authenticate': 'Bearer' })
      const { id, method, params } = JSON.parse(text)
      // the gateway removes tokens from answers
      const holder = token.slice('token-'.length)
      const result = method === 'tools/call'
        ? { resultType: 'complete', content: [{ type: 'text', text: `${params.name} by holder ${holder}` }] }
        : method === 'tools/list'
          ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [{ name: 'read', inputSchema: { type: 'object' } }] }
          : { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }
      json(200, { jsonrpc: '2.0', id, result })
    })
  }
}
