import { createError } from '@polyvac/core/plugin'

// The first argument is the name of the agent. Callers read the texts, so they have no address of a network.
const seen = { expose: true }

export const RemoteAgentOptionsError = createError<[string, string]>('REMOTE_AGENT_OPTIONS',
  'the entry of the remote agent %s: %s', 500)
export const RemoteAgentCardError = createError<[string, string, string]>('REMOTE_AGENT_CARD',
  'the card of the remote agent %s cannot be used: %s; %s', 502, seen)
export const RemoteAgentSignatureError = createError<[string, string, string]>('REMOTE_AGENT_SIGNATURE',
  'the card of the remote agent %s is not verified, so it is not asked: %s; %s', 502, seen)
export const RemoteAgentUnavailableError = createError<[string, string]>('REMOTE_AGENT_UNAVAILABLE',
  'the remote agent %s does not answer: %s; ask again shortly', 503, seen)
export const RemoteAgentUnauthorizedError = createError<[string, string]>('REMOTE_AGENT_UNAUTHORIZED',
  'the remote agent %s refuses the credentials: %s; correct `auth` of its entry', 502, seen)
export const RemoteAgentRefusedError = createError<[string, string]>('REMOTE_AGENT_REFUSED',
  'the remote agent %s refuses the message: %s; ask in another form', 400)
export const RemoteAgentFailedError = createError<[string, string]>('REMOTE_AGENT_FAILED',
  'the remote agent %s failed: %s', 502, seen)
export const RemoteAgentTaskLostError = createError<[string]>('REMOTE_AGENT_TASK_LOST',
  'the remote agent %s lost the task; ask again', 502, seen)
export const RemoteAgentAnswerError = createError<[string, string]>('REMOTE_AGENT_ANSWER',
  'the remote agent %s answered with %s; its operator has to correct it', 502, seen)
export const RemoteAgentTimeoutError = createError<[string, number]>('REMOTE_AGENT_TIMEOUT',
  'the remote agent %s did not finish within %s s and its task was canceled; ask for less or raise `timeout` of its entry', 504, seen)
export const RemoteAgentLoopError = createError<[string, string]>('REMOTE_AGENT_LOOP',
  'the remote agent %s is not asked: %s', 508, seen)
