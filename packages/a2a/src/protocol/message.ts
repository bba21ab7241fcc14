import type { TaskPart } from '@polyvac/tasks'
import { nonEmpty, refuseField } from './read-params.js'
import type { IncomingMessage } from './requests.js'

/** A message as the versions spell it, but for its role and the kind of its parts. */
interface ProtocolMessage<Part> extends Omit<IncomingMessage, 'id' | 'parts'> {
  readonly messageId: string
  readonly role: string
  readonly parts: readonly Part[]
}

/** The message of a caller. `role` is the one of callers. @throws A2A_INVALID_PARAMS */
export function readMessage<Part> (
  message: ProtocolMessage<Part>, role: string, toPart: (part: Part, field: string) => TaskPart
): IncomingMessage {
  const { messageId: id, parts, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  if (message.role !== role) refuseField('message.role', `a client speaks as ${role}`)
  return {
    id,
    parts: parts.map((part, index) => toPart(part, `message.parts[${index}]`)),
    contextId: nonEmpty(contextId),
    taskId: nonEmpty(taskId),
    metadata,
    extensions,
    referenceTaskIds
  }
}
