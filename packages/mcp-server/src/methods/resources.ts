import { isRecord, quoteName } from '@polyvac/core/plugin'
import { fitReadResult } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import { isNotFound } from '../calls/failures.js'
import type { McpContext } from '../context.js'
import { invalidParams, RpcError, type Json, type Params } from '../protocol/rpc.js'
import type { ToolSource } from '../tool-source.js'

/** `resources/read`. A URI that no source lists may be of any source's template. */
export async function readResource (server: McpContext, call: Call): Promise<Json> {
  const { uri } = call.params
  if (typeof uri !== 'string') throw invalidParams('`uri` must be a string')
  const listed = (await server.registry.shownTo('resources', call.principal)).get(uri)
  const sources = listed === undefined ? server.registry.sources : [listed.source]
  for (const source of sources) {
    const found = await readFrom(source, uri, call)
    if (found !== undefined) {
      return await server.texts.completeInTurns(call.protocolVersion, fitReadResult(found, uri), call.principal?.owner, server.readHint)
    }
  }
  const code = call.era === 'modern' ? 'invalidParams' : 'legacyResourceNotFound'
  throw new RpcError(code, `unknown resource: ${quoteName(uri)}`, { uri })
}

async function readFrom ({ resources }: ToolSource, uri: string, call: Call): Promise<Params | undefined> {
  try {
    const found: unknown = await resources?.read(uri, call)
    return isRecord(found) ? found : undefined
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}
