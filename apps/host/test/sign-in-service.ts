import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { InterpreterExtra } from '@polyvac/core'
import { createHost, type HostOptions } from '../src/index.js'

const KEY = 'a key for this test, of 32 bytes or more'

/** Asks the tool of the server who the caller is there. */
async function askTool (_question: string, _vac: string, _history: unknown[], { callTool }: InterpreterExtra): Promise<string> {
  const { content } = await callTool!('mail', 'whoami', {})
  const [block] = content
  return `you are ${block?.type === 'text' ? block.text : 'an account without a name'}`
}

/** A host whose callers name themselves in a header, and sign in to the server `mail`. */
export async function started (t: Test, path: string, url: string, issuer: string, more: HostOptions = {}): Promise<{ app: FastifyInstance, base: string }> {
  const app = await createHost({
    vacs: ['demo'],
    vac_interpreter: askTool,
    stream_interpreter: askTool,
    enable_a2a_agent: true,
    enable_mcp_server: true,
    mcp_servers: { mail: { url, per_owner: true, oauth: { issuer } } },
    tasks: { path },
    state_key: KEY,
    authenticate: ({ headers: { 'x-owner': owner } }: FastifyRequest) => owner === undefined ? undefined : { owner: String(owner) },
    server: { logger: { level: 'fatal' } },
    ...more
  })
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, base: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` }
}

export async function post (base: string, path: string, owner: string, body: object, headers: Record<string, string> = {}): Promise<any> {
  const response = await fetch(`${base}${path}`, {
    method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'x-owner': owner, ...headers }, body: JSON.stringify(body)
  })
  return await response.json()
}
