// How one agent asks another: with the client of the protocol's SDK, on the stream of a task.
import { ClientFactory } from '@a2a-js/sdk/client'
import { Message } from '@a2a-js/sdk'
import { randomUUID } from 'node:crypto'

const factory = new ClientFactory()
const clients = new Map()

/** Yields the other agent's answer while it is produced. When `signal` aborts, its task is canceled there, too. */
export async function * askAgent (url, text, { contextId, signal }) {
  const client = await clientOf(url)
  // an id of this service is unknown to the other one, which takes an id that its caller has made
  const context = contextId && `for ${contextId}`
  const message = Message.fromJSON({ messageId: randomUUID(), role: 'ROLE_USER', contextId: context, parts: [{ text }] })
  let id
  const cancel = () => { if (id !== undefined) client.cancelTask({ tenant: '', id, metadata: undefined }).catch(() => {}) }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for await (const { payload } of client.sendMessageStream({ tenant: '', message, configuration: undefined, metadata: undefined })) {
      if (payload?.$case === 'task') id = payload.value.id
      if (payload?.$case !== 'artifactUpdate') continue
      for (const { content } of payload.value.artifact?.parts ?? []) if (content?.$case === 'text') yield content.value
    }
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** One client for each agent; the card of an agent that did not answer is fetched again. */
function clientOf (url) {
  if (!clients.has(url)) {
    const made = factory.createFromUrl(url)
    made.catch(() => clients.delete(url))
    clients.set(url, made)
  }
  return clients.get(url)
}
