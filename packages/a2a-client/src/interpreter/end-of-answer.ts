import { isRecord } from '@polyvac/core/plugin'
import type { AnswerArtifact, FinalAnswer, InterpreterChunk, InterpreterResult } from '@polyvac/core'
import type { RemoteAnswer } from '../client/remote-answer.js'
import { RemoteAgentFailedError } from '../errors.js'
import { isInterrupted, type RemotePart } from '../protocol/types.js'

export type Answering = AsyncGenerator<InterpreterChunk, InterpreterResult>

/**
 * The end of the answer, by the state in which the task is.
 * @throws REMOTE_AGENT_FAILED
 */
export async function * endOf (name: string, answer: RemoteAnswer): Answering {
  const { state, statusText, reply, taskId, contextId } = answer
  const text = statusText?.trim()
  if (reply === undefined) {
    if (state === 'failed') throw new RemoteAgentFailedError(name, text || 'it gives no reason')
    if (state === 'canceled') throw new RemoteAgentFailedError(name, 'its task was canceled there')
  }
  const metadata = { remote: { agent: name, ...taskId !== undefined && { task_id: taskId }, ...contextId !== undefined && { context_id: contextId } } }
  if (reply === undefined && state === 'rejected') return { answer: text || 'the agent refuses the request', rejected: true, metadata }
  if (reply === undefined && isInterrupted(state)) {
    const parts = answer.said?.parts.flatMap(part => part.kind === 'data' ? [part.data] : []) ?? []
    const more = { metadata, ...parts.length > 0 && { data: parts } }
    return state === 'input-required'
      ? { input_required: text || answer.text || 'The agent asks for more input.', ...formOf(parts), ...more }
      : { auth_required: text || 'The agent asks for an authorization.', ...more }
  }
  const rest = answer.remainder()
  if (rest !== '') yield rest
  const { documents, artifacts } = extrasOf(answer)
  for (const { artifact: { name: type }, part } of artifacts) {
    if (part.kind === 'data') yield { data: { type, value: part.data } }
    else if (part.kind === 'file') yield { file: { name: part.filename ?? type, media_type: part.mediaType, ...fileContent(part) } }
  }
  return {
    answer: answer.answer,
    source_documents: documents,
    metadata,
    ...artifacts.length > 0 && { artifacts: groupsOf(artifacts) }
  } satisfies FinalAnswer
}

/** The form of a question, and what an approval is asked for, as an agent of this kind sends them. */
function formOf (parts: readonly unknown[]): Readonly<Record<string, unknown>> {
  const form = parts.filter(isRecord).find(part => 'approval' in part || 'input_schema' in part || 'choices' in part)
  const { input_schema: schema, choices, approval } = form ?? {}
  return { ...isRecord(schema) && { input_schema: schema }, ...Array.isArray(choices) && { choices }, ...isRecord(approval) && { approval } }
}

interface Extra { readonly artifact: { readonly id: string, readonly name: string, readonly description: string | undefined }, readonly part: RemotePart }

/** Sources of the answer, and what else came with it. */
function extrasOf ({ extras }: RemoteAnswer): { readonly documents: unknown[], readonly artifacts: Extra[] } {
  const documents: unknown[] = []
  const artifacts: Extra[] = []
  for (const { artifact, part } of extras) {
    if (part.kind === 'data' && isRecord(part.data) && Array.isArray(part.data.source_documents)) {
      documents.push(...part.data.source_documents as unknown[])
      continue
    }
    const id = artifact?.id ?? ''
    artifacts.push({ artifact: { id, name: artifact?.name ?? (id || 'message'), description: artifact?.description }, part })
  }
  return { documents, artifacts }
}

function groupsOf (extras: readonly Extra[]): AnswerArtifact[] {
  const groups = new Map<string, AnswerArtifact>()
  for (const { artifact: { id, name, description }, part } of extras) {
    const group = groups.get(id) ?? { name, ...description !== undefined && { description }, parts: [] }
    groups.set(id, group)
    const { filename, mediaType } = part
    const about = { ...filename !== undefined && { filename }, ...mediaType !== undefined && { media_type: mediaType } }
    group.parts.push(part.kind === 'data' ? { data: part.data, ...about } : part.kind === 'file' ? { ...fileContent(part), ...about } : { text: part.text })
  }
  return [...groups.values()]
}

function fileContent ({ bytes, url = '' }: Extract<RemotePart, { kind: 'file' }>): { bytes: string } | { url: string } {
  return bytes === undefined ? { url } : { bytes }
}
