import type { Version } from '../card/agent-card.js'
import type { OutgoingMessage, RemotePart } from './types.js'

type Json = Record<string, unknown>

// Members that are undefined are absent from the JSON.

/** The parameters of a message that is sent. `waits`: the answer is the task once it is settled. */
export function sendParams (version: Version, message: OutgoingMessage, tenant: string | undefined, extensions: readonly string[], waits: boolean): Json {
  const { messageId, contextId, taskId, metadata } = message
  const named = extensions.length === 0 ? undefined : extensions
  const shared = { messageId, contextId, taskId, metadata, extensions: named }
  return version === '1.0'
    ? { tenant, message: { ...shared, role: 'ROLE_USER', parts: message.parts.map(part1) }, configuration: { returnImmediately: waits ? undefined : true } }
    : { message: { kind: 'message', ...shared, role: 'user', parts: message.parts.map(part03) }, configuration: { blocking: waits } }
}

/** The parameters of a method about a task. */
export function taskParams (id: string, tenant: string | undefined): Json { return { tenant, id } }

function part1 (part: RemotePart): Json {
  const { filename, mediaType, metadata } = part
  const extras = { filename, mediaType, metadata }
  if (part.kind === 'text') return { text: part.text, ...extras }
  if (part.kind === 'data') return { data: part.data, ...extras }
  return part.bytes === undefined ? { url: part.url, ...extras } : { raw: part.bytes, ...extras }
}

function part03 (part: RemotePart): Json {
  const { kind, metadata, filename: name, mediaType: mimeType } = part
  if (kind === 'text') return { kind, text: part.text, metadata }
  if (kind === 'data') return { kind, data: part.data, metadata }
  return { kind, file: part.bytes === undefined ? { uri: part.url, name, mimeType } : { bytes: part.bytes, name, mimeType }, metadata }
}
