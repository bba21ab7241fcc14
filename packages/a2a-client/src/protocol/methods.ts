import type { Version } from '../card/agent-card.js'

/** What a client does. */
export type Method = 'send' | 'stream' | 'get' | 'cancel' | 'subscribe'

/** The methods of JSON-RPC by version. */
export const METHODS: Readonly<Record<Version, Readonly<Record<Method, string>>>> = {
  '1.0': { send: 'SendMessage', stream: 'SendStreamingMessage', get: 'GetTask', cancel: 'CancelTask', subscribe: 'SubscribeToTask' },
  0.3: { send: 'message/send', stream: 'message/stream', get: 'tasks/get', cancel: 'tasks/cancel', subscribe: 'tasks/resubscribe' }
}

/** The paths of HTTP+JSON 1.0 below the URL of the interface; those with a task take its id. */
export const PATHS: Readonly<Record<Method, { readonly method: 'GET' | 'POST', readonly path: (id: string) => string }>> = {
  send: { method: 'POST', path: () => 'message:send' },
  stream: { method: 'POST', path: () => 'message:stream' },
  get: { method: 'GET', path: id => `tasks/${id}` },
  cancel: { method: 'POST', path: id => `tasks/${id}:cancel` },
  subscribe: { method: 'POST', path: id => `tasks/${id}:subscribe` }
}
