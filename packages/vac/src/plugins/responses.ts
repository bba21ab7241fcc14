// The public API of @polyvac/vac/responses.
import { protocolPlugin } from '../plugin.js'
import { responses } from '../protocols/responses/protocol.js'

/** Serves only the routes of the Responses API of OpenAI, under /openai/v1/responses. */
export const responsesPlugin = protocolPlugin(responses)
export default responsesPlugin
export { Response, ResponseError, ResponseRequest } from '../protocols/responses/schemas.js'
