import { isRecord } from '@polyvac/core/plugin'
import { fitPromptResult } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { invalidParams, type Json } from '../protocol/rpc.js'

/** `prompts/get`. */
export async function getPrompt (server: McpContext, call: Call): Promise<Json> {
  const { name } = call.params
  const args = withoutNulls(call.params.arguments ?? {})
  if (typeof name !== 'string') throw invalidParams('`name` must be a string')
  if (!areStrings(args)) throw invalidParams('`arguments` must be an object of strings')
  const entry = await server.registry.find('prompts', name, call.principal)
  const required = (entry.definition.arguments ?? []).filter(argument => argument.required === true)
  const missing = required.map(argument => argument.name).filter(argument => args[argument] === undefined)
  if (missing.length > 0) throw invalidParams(`the prompt ${name} needs ${missing.join(', ')}`)
  const result = await entry.source.prompts!.get(entry.nameAtSource, args, call)
  return await server.texts.completeInTurns(call.protocolVersion, fitPromptResult({ ...result }, call.protocolVersion), call.principal?.owner)
}

/** Clients send null for an argument that was left out. */
export function withoutNulls (args: unknown): unknown {
  return isRecord(args) ? Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null)) : args
}

export function areStrings (value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every(text => typeof text === 'string')
}
