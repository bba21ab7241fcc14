import { Type, type Static } from '@sinclair/typebox'

// Shapes of the OpenAI API reference, Chat and Models, November 2026. Fields that are not used here are left open.

export const ChatCompletionRequest = Type.Object({
  model: Type.Optional(Type.String({ description: 'name of the VAC, where the path does not give it' })),
  messages: Type.Array(Type.Object({
    role: Type.String(),
    content: Type.Optional(Type.Union([
      Type.String(), Type.Null(), Type.Array(Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]))
    ]))
  }, { additionalProperties: true }), {
    minItems: 1, maxItems: 10_000, description: 'the whole conversation: earlier turns become the history'
  }),
  stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  stream_options: Type.Optional(Type.Union([
    Type.Object({ include_usage: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])) }, { additionalProperties: true }), Type.Null()
  ])),
  n: Type.Optional(Type.Union([Type.Literal(1), Type.Null()], { description: 'a VAC gives one answer' })),
  store: Type.Optional(Type.Union([Type.Boolean(), Type.Null()], { description: '`false` leaves the question and its answer out of the conversation' })),
  conversation_id: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()], { description: 'not of OpenAI: the conversation; the service keeps its turns' })),
  steps: Type.Optional(Type.Unknown({ description: 'not of OpenAI: `true` asks for the reasoning, as `reasoning_content`; any other value goes to the interpreter' }))
}, { $id: 'ChatCompletionRequest', title: 'ChatCompletionRequest', additionalProperties: true })
export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>

export const Usage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  cost: Type.Optional(Type.Number({ description: 'not of OpenAI: what the server of the model reports that it cost' })),
  estimated: Type.Optional(Type.Boolean({ description: 'true where the interpreter reports no usage: a quarter of the characters' }))
})
export type Usage = Static<typeof Usage>

export const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON' }) })
})
export type ToolCall = Static<typeof ToolCall>

export const Annotation = Type.Object({
  type: Type.Literal('url_citation'),
  url_citation: Type.Object({
    start_index: Type.Integer({ description: 'of the marker `[n]` in the text, in UTF-16 units; the length of the text for a source without a marker' }),
    end_index: Type.Integer(),
    title: Type.String(),
    url: Type.String({ description: 'of the source, or of the page of this service that shows the passage' })
  })
})
export type Annotation = Static<typeof Annotation>

export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer({ description: 'seconds since 1970' }),
  model: Type.String(),
  choices: Type.Array(Type.Object({
    index: Type.Integer(),
    message: Type.Object({
      role: Type.Literal('assistant'),
      content: Type.Union([Type.String(), Type.Null()]),
      refusal: Type.Null(),
      reasoning_content: Type.Optional(Type.String({ description: 'not of OpenAI: the reasoning, where the request asks for it' })),
      annotations: Type.Optional(Type.Array(Annotation, { description: 'the sources with an address' })),
      tool_calls: Type.Optional(Type.Array(ToolCall))
    }),
    logprobs: Type.Null(),
    finish_reason: Type.Union([Type.Literal('stop'), Type.Literal('tool_calls')])
  })),
  usage: Usage,
  source_documents: Type.Array(Type.Unknown(), { description: 'not of OpenAI: the sources of the answer' }),
  conversation_id: Type.Optional(Type.String({ description: 'not of OpenAI: the conversation, where the request names one' }))
}, { $id: 'ChatCompletion', title: 'ChatCompletion' })
export type ChatCompletion = Static<typeof ChatCompletion>

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  name: Type.String({ description: 'display name of the VAC' }),
  description: Type.String({ description: 'what the VAC is for' })
}, { $id: 'OpenAiModel', title: 'Model' })

export const ModelList = Type.Object({
  object: Type.Literal('list'), data: Type.Array(Type.Object(Model.properties))
}, { $id: 'OpenAiModelList', title: 'ModelList' })

export const OpenAiError = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()])
  })
}, { $id: 'OpenAiError', title: 'OpenAiError' })
export type OpenAiError = Static<typeof OpenAiError>
