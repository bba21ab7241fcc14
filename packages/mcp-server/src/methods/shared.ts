import { LIST_KINDS, LISTS } from '@polyvac/mcp-protocol'
import { complete } from './completion.js'
import type { Method } from './method.js'
import { getPrompt } from './prompts.js'
import { readResource } from './resources.js'
import { callTool } from './tools.js'

/** The methods that both eras have. */
export const sharedMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...LIST_KINDS.map((kind): [string, Method] => [
    LISTS[kind].method,
    (server, call) => server.lists.page(kind, call.protocolVersion, call.params.cursor, call.principal)
  ]),
  ['tools/call', callTool],
  ['resources/read', readResource],
  ['prompts/get', getPrompt],
  ['completion/complete', complete]
])
