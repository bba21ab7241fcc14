// The public API of @polyvac/vac: every export here is public and follows semantic versioning.
export { vacPlugin, vacPlugin as default, protocolPlugin } from './plugin.js'
export type { ProtocolChoice, ProtocolPluginOptions, VacPluginOptions } from './options.js'
export { PROTOCOLS, protocolProblem, type ProtocolName, type ProtocolOptions } from './protocols.js'
export { acceptedType, askRoute, BodyWithHeaders, EVENT_STREAM, readRoute, searchRoute, VectorName } from './protocol.js'
export type { Asked, ChatProtocol, ChatRequest, Citation, Passage, ProtocolRoute, RouteSchema, Searched, StreamFormat, WholeFormat } from './protocol.js'
export { VacQuery, VacStreamQuery, VacList } from './protocols/direct/schemas.js'
export { ChatCompletionRequest, ChatCompletion, ModelList, OpenAiError } from './protocols/openai/schemas.js'
export { UnauthenticatedError } from '@polyvac/core/plugin'
