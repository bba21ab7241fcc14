// The public API of @polyvac/vac/openai.
import { protocolPlugin } from '../plugin.js'
import { openai } from '../protocols/openai/protocol.js'

/** Serves only the OpenAI-compatible routes, under /openai/v1. */
export const openaiPlugin = protocolPlugin(openai)
export default openaiPlugin
export { ChatCompletionRequest, ChatCompletion, ModelList, OpenAiError } from '../protocols/openai/schemas.js'
