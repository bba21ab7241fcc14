// For Polyvac's own packages only: these exports change without notice. Applications import @polyvac/core.
export { exposedVacs, type ExposedVacs } from './exposed-vacs.js'
export { askedBack } from './answer.js'
export { MEMORY_DEFAULTS } from './memory.js'
export { vacInfo, sourceLines } from './vac-info.js'
export { contentText, isRole } from './history.js'
export {
  SKILLS, skillsOf, findSkill, nearestSkill, inputProblems, QueryInput, StreamInput, MemorySearchInput, MemorySearchResult
} from './skills.js'
export type { Skill, SkillKind } from './skills.js'
export { questionOf, streamSettings, queryResult, streamResult, searchMemory, skillFailure } from './skill-run.js'
export { toolName, serverToolName, hashedName, MAX_TOOL_NAME } from './tool-name.js'
export { isModulePath } from './vac-config.js'
export { moduleUrl } from './interpreter-module.js'
export { sendEvents, sendText, eventText, ownTime, registerStreams, streamRoute } from './send-stream.js'
export type { Encoding, EventEncoding } from './send-stream.js'
export { LightAbort, type AbortSignalLike } from './light-abort.js'
export { authenticateCallers } from './authentication.js'
export { Disconnects } from './client-disconnect.js'
export { LinkedSet, type LinkedNode } from './linked-set.js'
export { OpenStreams, type OpenStream } from './open-streams.js'
export { schemaValidator, problemsOf, InvalidRequestError, NOT_BLANK, type RequestProblem } from './validation.js'
export { failureOf, retryAfter, type Failure } from './error-body.js'
export { isTooDeep, MAX_BODY_DEPTH, parseJson } from './json-body.js'
export { nearest, quoteName, suggestion } from './names.js'
export { isRecord } from './is-record.js'
export { packageVersion } from './package-version.js'
export { createError, isExposed, type CodedErrorConstructor } from './create-error.js'
export { within, unlessAborted } from './within.js'
export { matchesEtag } from './etag.js'
export { silentLog } from './log.js'
export { OpenCalls } from './open-calls.js'
export { SseBody, MAX_UNREAD_CHARS } from './sse-body.js'
export { innerRequest, isInner, type InnerRequest } from './in-process.js'
export {
  readOptions, integer, milliseconds, number, flag, text, oneOf, texts, callback, withMethod, optional, required
} from './options.js'
export type { OptionRule, OptionRules, ReadOptions } from './options.js'
export { LineReader, idOfEdges, type LineHandlers } from './line-reader.js'
export { SignedStates, type StateFault } from './signed-state.js'
export {
  VacNotFoundError, VacTimeoutError, VacInterpreterFailedError, VacInvalidResultError, CallAbortedError, ShuttingDownError,
  BodyTooDeepError, UnauthenticatedError
} from './errors.js'
