import { LIST_KINDS, LISTS } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { complete } from './completion.js'
import { getPrompt } from './prompts.js'
import { readResource } from './resources.js'
import { callTool } from './tools.js'

/** Answers one request with the JSON text of its result. @throws RpcError */
export type Method = (server: McpContext, call: Call) => Promise<string>

/** The methods that both eras have. */
export const sharedMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...LIST_KINDS.map((kind): [string, Method] => [
    LISTS[kind].method,
    (server, call) => server.lists.page(kind, call.protocolVersion, call.params.cursor)
  ]),
  ['tools/call', callTool],
  ['resources/read', readResource],
  ['prompts/get', getPrompt],
  ['completion/complete', complete]
])
