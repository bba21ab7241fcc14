import { problemsOf, suggestion, quoteName } from '@polyvac/core/plugin'
import { Type, type Static, type TObject } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { aiSdk } from './protocols/ai-sdk/protocol.js'
import { agUi } from './protocols/ag-ui/protocol.js'
import { direct } from './protocols/direct/protocol.js'
import { openai } from './protocols/openai/protocol.js'
import { responses } from './protocols/responses/protocol.js'
import type { ChatProtocol } from './protocol.js'

/** The protocols over HTTP in which callers ask VACs, by name. */
export const PROTOCOLS = { direct, openai, responses, ai_sdk: aiSdk, ag_ui: agUi } satisfies Protocols
export type ProtocolName = keyof typeof PROTOCOLS
export type Protocols = Readonly<Record<string, ChatProtocol>>

const Common = Type.Object({
  keep_alive: Type.Optional(Type.Number({
    minimum: 0, maximum: 3600, description: 'longest pause of an event stream without a byte, in seconds; then a keep-alive is sent; default 7, 0 for none'
  }))
})

/** Options of a protocol: those of all, and its own. */
export type ProtocolOptions<Protocol extends ChatProtocol = ChatProtocol> = Static<typeof Common> & (
  Protocol extends { readonly options: infer Own extends TObject } ? Static<Own> : unknown)

/** The schema of the options of a protocol. */
export function optionsSchema ({ options }: ChatProtocol): TObject {
  return Type.Object({ ...Common.properties, ...options?.properties }, { additionalProperties: false })
}

/** What is wrong with a name of a protocol, or with its options; undefined if nothing is. */
export function protocolProblem (protocols: Protocols, name: string, options: unknown): string | undefined {
  const names = Object.keys(protocols)
  if (!names.includes(name)) return `there is no protocol ${quoteName(name)}; ${suggestion(name, names, 'there are')}`
  const [problem] = problemsOf(TypeCompiler.Compile(optionsSchema(protocols[name]!)), options, name)
  return problem === undefined ? undefined : `${problem.path}: ${problem.message}`
}
