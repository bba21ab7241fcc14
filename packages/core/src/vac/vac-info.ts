import { beginning } from '../basics/well-formed.js'
import { Type, type Static } from '@sinclair/typebox'
import type { Answer, Vac } from './vac.js'

/** The description of a VAC for people and agents, the same in every protocol. */
export const VacInfo = Type.Object({
  name: Type.String(),
  display_name: Type.String(),
  description: Type.String(),
  model: Type.Union([Type.String(), Type.Null()]),
  agent: Type.Union([Type.String(), Type.Null()]),
  memory: Type.Boolean({ description: 'whether it has a searchable knowledge base' }),
  examples: Type.Optional(Type.Array(Type.String(), { description: 'questions that it answers' })),
  takes: Type.Optional(Type.Array(Type.String(), { description: 'what it takes besides text, such as images and files; absent for nothing' })),
  remote: Type.Optional(Type.Object({
    ready: Type.Boolean({ description: 'whether it can be asked' }),
    problem: Type.Optional(Type.String({ description: 'code of what is wrong' })),
    protocol: Type.Optional(Type.String({ description: 'version and binding of A2A, such as 1.0 JSONRPC' }))
  }, { description: 'only of a VAC that an agent of another service answers' }))
})
export type VacInfo = Static<typeof VacInfo>

export function vacInfo ({ name, config, memory, remote, takes = [] }: Vac): VacInfo {
  const { display_name: title = name, description = title, model = null, agent = null, examples } = config
  return { name, display_name: title, description, model, agent, memory: memory !== undefined, ...examples !== undefined && { examples: [...examples] }, ...takes.length > 0 && { takes: [...takes] }, ...remote !== undefined && { remote: remote() } }
}

/** Text of a source without metadata about its place, in characters. */
const MAX_EXCERPT_CHARS = 100

/** The documents that `[n]` in an answer refers to, one line each: number, source with its lines, heading. */
export function sourceLines ({ source_documents: documents }: Pick<Answer, 'source_documents'>): string[] {
  return documents.map(({ page_content: content, metadata: { source, heading, lines } }, i) => {
    const place = [source, lines].filter(part => part !== undefined).join(':')
    const about = heading === undefined ? '' : `  ${String(heading)}`
    return `[${i + 1}] ${place + about === '' ? beginning(content, MAX_EXCERPT_CHARS) : place + about}`
  })
}
