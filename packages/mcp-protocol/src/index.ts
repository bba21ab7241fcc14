// The public API of @polyvac/mcp-protocol: every export here is public and follows semantic versioning.
export {
  ASSUMED_REVISION, eraOf, isLegacy, isModern, LEGACY_REVISIONS, MODERN_REVISIONS, namesModern, NEWEST_LEGACY
} from './revisions.js'
export type { Era, LegacyRevision, ModernRevision, Revision } from './revisions.js'
export { definitionFields, features } from './features.js'
export type { Features } from './features.js'
export { LIST_KINDS, LISTS } from './lists.js'
export type { ListKind } from './lists.js'
export { CODES } from './codes.js'
export type { CodeName } from './codes.js'
export { forwardedMeta, MODERN_META, RELATED_TASK, STEP, STEPS, USAGE, TASKS_EXTENSION, UI_EXTENSION } from './meta-keys.js'
export { decodeHeader, encodeHeader, HEADERS, NAME_PARAMETERS } from './headers.js'
export { argumentAt, encodeParameters, headerMatches, readHeaderParameters } from './param-headers.js'
export type { HeaderParameter, HeaderParameters } from './param-headers.js'
export {
  declaresTasks, ELICITATION_ACTIONS, isResponseTo, isServerRequestMethod, missingCapabilities, readCapabilities,
  TASKS_CAPABILITY
} from './server-requests.js'
export type {
  ClientCapabilities, InputRequests, InputResponse, InputResponses, ServerRequest
} from './server-requests.js'
export { isLogLevel, LOG_LEVELS } from './call.js'
export type { CallProgress, Completion, CompletionArgument, CompletionRef, LogLevel, LogMessage } from './call.js'
export { definitionFor, fitDefinition } from './fit/definition.js'
export type { FittedDefinition } from './fit/definition.js'
export { modelSchema } from './fit/model-schema.js'
export { fitCompletion, fitPromptResult, fitReadResult, fitToolResult } from './fit/result.js'
