// The public API of @polyvac/vac/ai-sdk.
import { protocolPlugin } from '../plugin.js'
import { aiSdk } from '../protocols/ai-sdk/protocol.js'

/** Serves only the routes of the AI SDK, under /ai. */
export const aiSdkPlugin = protocolPlugin(aiSdk)
export default aiSdkPlugin
export { ChatBody } from '../protocols/ai-sdk/schemas.js'
