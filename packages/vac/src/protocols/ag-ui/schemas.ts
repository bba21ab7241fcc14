import { Type, type Static } from '@sinclair/typebox'

// Shapes of AG-UI 1.0 and of the clients before it, November 2026. What is not used here is left open, and what is not
// valid in an optional member is left out.

/** Characters of the id of a thread, and of a run. */
export const MAX_AG_UI_ID = 256

const Id = { minLength: 1, maxLength: MAX_AG_UI_ID, pattern: '^[^\\u0000]*$' } as const

/** `RunAgentInput`: what every client posts. */
export const RunInput = Type.Object({
  threadId: Type.String({ ...Id, description: 'the conversation' }),
  runId: Type.String({ ...Id, description: 'an id that the client makes; a request with the id of an earlier one reads that run' }),
  messages: Type.Optional(Type.Unknown({ description: 'the whole conversation: the last message of the user is the question' })),
  protocolVersion: Type.Optional(Type.Unknown({ description: '`1.0` from the clients of that version on' })),
  resume: Type.Optional(Type.Unknown({ description: 'answers to interrupts: `{ interruptId, status: resolved | cancelled, payload }`' })),
  tools: Type.Optional(Type.Unknown({ description: 'tools of the front end, for interpreters that take tools' })),
  context: Type.Optional(Type.Unknown()),
  state: Type.Optional(Type.Unknown()),
  forwardedProps: Type.Optional(Type.Unknown({ description: 'further fields for the interpreter' }))
}, { $id: 'AgUiRunInput', title: 'RunAgentInput', additionalProperties: true })
export type RunInput = Static<typeof RunInput>

export const StopParams = Type.Object({ vector_name: Type.String({ description: 'name of the VAC' }), thread_id: Type.String({ description: 'the thread, or the run of the header x-run-id' }) })
export const StopBody = Type.Union([Type.Object({ runId: Type.Optional(Type.Union([Type.String(), Type.Null()])) }, { additionalProperties: true }), Type.Null()])
export const Stopped = Type.Object({ stopped: Type.Boolean() })

export const ThreadQuery = Type.Object({
  runId: Type.Optional(Type.String({ description: 'follows this run from its beginning, or after `Last-Event-ID`' })),
  offset: Type.Optional(Type.String({ description: 'the id of an event of this run, after which it goes on; any other text: from its beginning' })),
  threadId: Type.Optional(Type.String({ description: 'reads the messages of this thread' })),
  before: Type.Optional(Type.String({ description: 'the cursor of a page of messages' }))
})

export const Thread = Type.Object({
  messages: Type.Array(Type.Unknown(), { description: 'in the format of TanStack AI' }),
  activeRun: Type.Union([Type.Object({ runId: Type.String() }), Type.Null()]),
  interrupts: Type.Union([Type.Object({ runId: Type.String(), pending: Type.Array(Type.Unknown()) }), Type.Null()]),
  page: Type.Object({ truncated: Type.Boolean(), cursor: Type.Optional(Type.String()) })
})

export const AgentList = Type.Object({
  version: Type.String({ description: 'of the protocol' }),
  mode: Type.Literal('sse'),
  audioFileTranscriptionEnabled: Type.Literal(false),
  agents: Type.Record(Type.String(), Type.Unknown(), { description: 'the VACs by their names, with their capabilities' })
})

/** The one route of CopilotKit that stands for all others. */
export const Envelope = Type.Object({
  method: Type.String({ description: 'info, agent/run, agent/connect or agent/stop' }),
  params: Type.Optional(Type.Unknown()),
  body: Type.Optional(Type.Unknown())
}, { $id: 'AgUiEnvelope', title: 'Envelope', additionalProperties: true })
