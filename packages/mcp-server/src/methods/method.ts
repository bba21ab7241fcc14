import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import type { Json } from '../protocol/rpc.js'

/** Answers one request with the JSON of its result. @throws RpcError */
export type Method = (server: McpContext, call: Call) => Promise<Json> | Json
