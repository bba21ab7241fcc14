import { isRecord, Redactor } from '@polyvac/core/plugin'
import { STATES, type RemoteArtifact, type RemoteEvent, type RemoteMessage, type RemotePart, type RemoteState, type RemoteStatus, type RemoteTask } from './types.js'

/** Parts of a message or artifact, and messages of a history, that are read; further ones are left out. */
export const MAX_PARTS = 10_000

type Json = Readonly<Record<string, unknown>>

const NO_SECRETS = new Redactor([])

/**
 * What an agent sent, in either version: 1.0 wraps it in its kind, 0.3 names the kind in it. It is liberal: missing
 * lists are empty. Undefined for anything else.
 * @param secrets are replaced in what people read: texts, data, names and descriptions
 */
export function readEvent (given: unknown, secrets = NO_SECRETS): RemoteEvent | undefined {
  if (!isRecord(given)) return undefined
  const wrapped = (key: string, kind: string): Json | undefined => isRecord(given[key]) ? given[key] : given.kind === kind ? given : undefined
  const status = wrapped('statusUpdate', 'status-update')
  if (status !== undefined) {
    const { taskId, contextId, metadata } = status
    return { kind: 'status', taskId: String(taskId), contextId: textOf(contextId), status: statusOf(status.status, secrets), metadata: recordOf(metadata) }
  }
  const update = wrapped('artifactUpdate', 'artifact-update')
  if (update !== undefined) {
    const { taskId, contextId, artifact, append } = update
    return { kind: 'artifact', taskId: String(taskId), contextId: textOf(contextId), artifact: artifactOf(artifact, secrets), append: append === true }
  }
  const task = readTask(wrapped('task', 'task') ?? given, secrets)
  if (task !== undefined) return { kind: 'task', task }
  const message = wrapped('message', 'message')
  return message === undefined ? undefined : { kind: 'message', message: messageOf(message, secrets) }
}

/** A task; undefined for anything else. */
export function readTask (given: unknown, secrets = NO_SECRETS): RemoteTask | undefined {
  if (!isRecord(given) || typeof given.id !== 'string' || !isRecord(given.status)) return undefined
  const { id, contextId, status, artifacts, history } = given
  return {
    id,
    contextId: textOf(contextId),
    ...statusOf(status, secrets),
    artifacts: list(artifacts).map(artifact => artifactOf(artifact, secrets)),
    history: list(history).slice(-MAX_PARTS).map(message => messageOf(message, secrets))
  }
}

function statusOf (given: unknown, secrets: Redactor): RemoteStatus {
  const { state, message } = isRecord(given) ? given : {} as Json
  return { state: stateOf(state), message: isRecord(message) ? messageOf(message, secrets) : undefined }
}

function stateOf (given: unknown): RemoteState {
  const name = String(given).replace(/^TASK_STATE_/, '').toLowerCase().replaceAll('_', '-')
  return STATES.find(state => state === name) ?? 'unknown'
}

function messageOf ({ parts, role, contextId, metadata }: Json, secrets: Redactor): RemoteMessage {
  return { parts: partsOf(parts, secrets), isAgent: role !== 'user' && role !== 'ROLE_USER', contextId: textOf(contextId), metadata: recordOf(metadata) }
}

function artifactOf (given: unknown, secrets: Redactor): RemoteArtifact {
  const { artifactId, name, description, parts, metadata } = isRecord(given) ? given : {} as Json
  return { id: textOf(artifactId) ?? '', name: secrets.value(textOf(name)), description: secrets.value(textOf(description)), parts: partsOf(parts, secrets), metadata: recordOf(metadata) }
}

function partsOf (given: unknown, secrets: Redactor): RemotePart[] {
  return list(given).slice(0, MAX_PARTS).flatMap(part => {
    const read = partOf(part, secrets)
    return read === undefined ? [] : [read]
  })
}

function partOf (part: Json, secrets: Redactor): RemotePart | undefined {
  const { text, raw, url, data, file, filename, mediaType, metadata } = part
  const extras = { filename: secrets.value(textOf(filename)), mediaType: textOf(mediaType), metadata: recordOf(metadata) }
  if (typeof text === 'string') return { kind: 'text', text: secrets.text(text), ...extras }
  if (typeof raw === 'string') return { kind: 'file', bytes: raw, ...extras }
  if (typeof url === 'string') return isLink(url) ? { kind: 'file', url, ...extras } : undefined
  if (isRecord(file)) {
    const { bytes, uri, name, mimeType } = file
    const [content, address] = [textOf(bytes), textOf(uri)]
    if (content === undefined && (address === undefined || !isLink(address))) return undefined
    return { kind: 'file', bytes: content, url: content === undefined ? address : undefined, ...extras, filename: secrets.value(textOf(name)), mediaType: textOf(mimeType) }
  }
  return data === undefined ? undefined : { kind: 'data', data: secrets.value(data), ...extras }
}

/** Front ends show the address of a file as a link: a script or a page in the address itself is left out. */
function isLink (url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

function list (value: unknown): Json[] { return Array.isArray(value) ? value.filter(isRecord) : [] }

function recordOf (value: unknown): Json | undefined { return isRecord(value) ? value : undefined }

/** A text that is not empty: an empty one is the default of protobuf, which stands for none. */
function textOf (value: unknown): string | undefined { return typeof value === 'string' && value !== '' ? value : undefined }
