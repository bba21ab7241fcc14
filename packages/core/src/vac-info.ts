import { Type, type Static } from '@sinclair/typebox'
import type { Answer, Vac } from './vac.js'

/** What people and agents are told of a VAC, the same on every wire. */
export const VacInfo = Type.Object({
  name: Type.String(),
  display_name: Type.String(),
  description: Type.String(),
  model: Type.Union([Type.String(), Type.Null()]),
  agent: Type.Union([Type.String(), Type.Null()]),
  memory: Type.Boolean({ description: 'whether it has a searchable knowledge base' })
})
export type VacInfo = Static<typeof VacInfo>

export function vacInfo ({ name, config, memory }: Vac): VacInfo {
  const { display_name: shown = name, description = shown, model = null, agent = null } = config
  return { name, display_name: shown, description, model, agent, memory: memory !== undefined }
}

/** Text shown of a source that says nothing of where it is from, in characters. */
const SHOWN_CHARS = 100

/** The documents that `[n]` in an answer refers to, a line each: number, source with its lines, heading. */
export function sourceLines ({ source_documents: documents }: Pick<Answer, 'source_documents'>): string[] {
  return documents.map(({ page_content: content, metadata: { source, heading, lines } }, i) => {
    const place = [source, lines].filter(part => part !== undefined).join(':')
    const about = heading === undefined ? '' : `  ${String(heading)}`
    return `[${i + 1}] ${place + about === '' ? content.slice(0, SHOWN_CHARS) : place + about}`
  })
}
