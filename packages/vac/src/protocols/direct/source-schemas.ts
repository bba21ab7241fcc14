import { VectorName } from '../../protocol.js'
import { Type, type Static } from '@sinclair/typebox'

// a wildcard: ids are longer than the parameters that Fastify takes by default
export const SourceParams = Type.Object({ ...VectorName.properties, '*': Type.String({ description: 'the id, of the address of a citation' }) })

/** A passage that an answer cites. */
export const PassageView = Type.Object({
  source: Type.String({ description: 'the document' }),
  title: Type.String(),
  heading: Type.Optional(Type.String({ description: 'the headings above it' })),
  place: Type.Optional(Type.String({ description: 'what was cited: `lines 3-5`, `page 2`' })),
  lines: Type.Optional(Type.String({ description: 'where it is in the text of the document now' })),
  text: Type.String({ description: 'its lines; empty where they are not in the document' }),
  media_type: Type.String({ description: 'of the document' }),
  changed: Type.Optional(Type.Boolean({ description: 'true: the document no longer contains the text of the passage; absent where the memory converts the document before it splits it' }))
}, { $id: 'Passage', title: 'Passage' })
export type PassageView = Static<typeof PassageView>
