import { Type, type Static } from '@sinclair/typebox'

/** A source of an answer. */
export const SourceDocument = Type.Object({
  page_content: Type.String({ description: 'the text used' }),
  metadata: Type.Record(Type.String(), Type.Unknown(), { description: 'where it comes from' })
}, { $id: 'SourceDocument', title: 'SourceDocument' })
export type SourceDocument = Static<typeof SourceDocument>

/** One piece of an artifact: text, a file, or data. Exactly one of `text`, `bytes`, `url` and `data`. */
export const AnswerPart = Type.Object({
  text: Type.Optional(Type.String()),
  bytes: Type.Optional(Type.String({ description: 'content of a file in base64' })),
  url: Type.Optional(Type.String({ description: 'where a file is' })),
  data: Type.Optional(Type.Unknown({ description: 'any JSON value' })),
  filename: Type.Optional(Type.String()),
  media_type: Type.Optional(Type.String())
}, { title: 'AnswerPart' })
export type AnswerPart = Static<typeof AnswerPart>

/** A result of an interpreter besides its text. */
export const AnswerArtifact = Type.Object({
  name: Type.String({ minLength: 1 }),
  description: Type.Optional(Type.String()),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  parts: Type.Array(Type.Object(AnswerPart.properties), { minItems: 1 })
}, { title: 'AnswerArtifact' })
export type AnswerArtifact = Static<typeof AnswerArtifact>

/** The result of a VAC, the same in every protocol (contract section 1). It keeps further keys of the interpreter. */
export const Answer = Type.Object({
  answer: Type.String({ description: 'the complete text' }),
  source_documents: Type.Array(Type.Object(SourceDocument.properties)),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
}, { $id: 'Answer', title: 'Answer', additionalProperties: true })
export type Answer = Static<typeof Answer> & { [key: string]: unknown }

/** Earlier turns in any of the accepted formats; `normaliseHistory` converts them to one. */
export const ChatHistory = Type.Array(Type.Unknown(), {
  description: 'earlier turns, oldest first: {role, content}, {name: Human|AI, content}, {human}/{ai}, or [human, ai] pairs',
  maxItems: 10_000
})

/** The body of every failed request (contract section 2). */
export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'stable, for programs' }),
    message: Type.String({ description: 'names the thing, the reason and the remedy' }),
    requestId: Type.String({ description: 'the id to look for in the log' }),
    details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() })))
  })
}, { $id: 'ErrorBody', title: 'ErrorBody' })
export type ErrorBody = Static<typeof ErrorBody>
