import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'

/** Answers one request with the JSON text of its result. @throws RpcError */
export type Method = (server: McpContext, call: Call) => Promise<string>
