// The public API of @polyvac/vac: every export here is public and follows semantic versioning.
export { vacPlugin, vacPlugin as default } from './plugin.js'
export type { VacPluginOptions } from './options.js'
export { VacQuery, VacStreamQuery, VacList } from './schemas.js'
export { ChatCompletionRequest, ChatCompletion, ModelList, OpenAiError } from './openai-schemas.js'
export { UnauthenticatedError } from '@polyvac/core/plugin'
