import { isRecord, quoteName } from '@polyvac/core/plugin'
import { fitCompletion, type CompletionRef } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { invalidParams } from '../protocol/rpc.js'
import type { ToolSource } from '../tool-source.js'
import { areStrings, withoutNulls } from './prompts.js'

/** `completion/complete`. */
export async function complete (server: McpContext, call: Call): Promise<string> {
  const { ref, argument, context } = call.params
  if (!isRecord(argument) || typeof argument.name !== 'string' || typeof argument.value !== 'string') {
    throw invalidParams('`argument` must have `name` and `value`, both strings')
  }
  const given = withoutNulls(isRecord(context) ? context.arguments ?? {} : {})
  if (!areStrings(given)) throw invalidParams('`context.arguments` must be an object of strings')
  const { name, value } = argument
  const { source, sourceRef } = await resolve(server, ref, call)
  const completion = fitCompletion(await source.complete?.(sourceRef, { name, value, given }, call))
  return server.texts.complete(call.protocolVersion, { completion })
}

/** The source of a reference, and the reference with the source's name. @throws RpcError -32602 */
async function resolve (
  { registry }: McpContext, ref: unknown, { principal }: Call
): Promise<{ readonly source: ToolSource, readonly sourceRef: CompletionRef }> {
  if (isRecord(ref) && ref.type === 'ref/prompt' && typeof ref.name === 'string') {
    const entry = (await registry.shownTo('prompts', principal)).get(ref.name)
    if (entry === undefined) throw invalidParams(`unknown prompt: ${quoteName(ref.name)}`)
    return { source: entry.source, sourceRef: { type: ref.type, name: entry.nameAtSource } }
  }
  if (isRecord(ref) && ref.type === 'ref/resource' && typeof ref.uri === 'string') {
    const template = (await registry.shownTo('templates', principal)).get(ref.uri)
    const entry = template ?? (await registry.shownTo('resources', principal)).get(ref.uri)
    if (entry === undefined) throw invalidParams(`unknown resource template: ${quoteName(ref.uri)}`)
    return { source: entry.source, sourceRef: { type: ref.type, uri: ref.uri } }
  }
  throw invalidParams('`ref` must be { type: "ref/prompt", name } or { type: "ref/resource", uri }')
}
