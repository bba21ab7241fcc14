import { send, type SendRequest } from '../requests/exchange.js'
import { isObject } from '../shared/fields.js'
import { bodyOf, failureText, settings } from '../shared/settings.js'
import type { PageRequest } from './mcp-request.js'

/** The last revision of MCP with sessions. */
export const SESSION_REVISION = '2025-11-25'

/** A request of a session; without a message, the GET that reads its events. */
export function sessionRequest (session: string, message?: object, headers: object = {}): Omit<PageRequest, 'body'> & { readonly body?: object } {
  return {
    path: settings.value.routes.mcp!,
    headers: {
      accept: message === undefined ? 'text/event-stream' : 'application/json, text/event-stream',
      'mcp-protocol-version': SESSION_REVISION,
      ...session !== '' && { 'mcp-session-id': session },
      ...headers
    },
    ...message !== undefined && { body: { jsonrpc: '2.0', ...message } }
  }
}

/** What initialize answers; `session` is empty where the server has no sessions. */
export async function initialize (capabilities: object, signal?: AbortSignal): Promise<{ readonly status: number, readonly value: unknown, readonly session: string }> {
  const params = { protocolVersion: SESSION_REVISION, capabilities, clientInfo: { name: 'polyvac-playground', version: '1' } }
  const { path, headers: { accept }, body } = sessionRequest('', { id: 1, method: 'initialize', params })
  const sent = await send({ protocol: 'mcp', label: 'initialize', path, headers: { accept: accept! }, body, as: 'json', ...signal !== undefined && { signal } })
  return { value: await sent.json(), status: sent.exchange.status ?? 0, session: sent.exchange.headers?.['mcp-session-id'] ?? '' }
}

/** Begins a session in which the server may ask. @throws Error with the server's text where it refuses */
export async function beginSession (signal: AbortSignal): Promise<string> {
  const { status, value, session } = await initialize({ elicitation: { form: {} } }, signal)
  if (status !== 200 || !isObject(value) || value.error !== undefined) throw new Error(failureText(value, status))
  await postMessage({ protocol: 'mcp', label: 'initialized', ...sessionRequest(session, { method: 'notifications/initialized' }), signal, as: 'json' })
  return session
}

/** Sends a message that has no result. @throws Error with the server's text where it refuses */
export async function postMessage (request: SendRequest): Promise<void> {
  await bodyOf(await send(request))
}

/** Ends a session, and first the call in progress. */
export async function endSession (session: string, call?: number): Promise<void> {
  const request = { protocol: 'mcp', as: 'json' } as const
  if (call !== undefined) {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: call } }
    await postMessage({ ...request, label: 'cancel the call', ...sessionRequest(session, cancelled) })
  }
  await postMessage({ ...request, label: 'end the session', method: 'DELETE', ...sessionRequest(session) })
}
