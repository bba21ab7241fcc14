import type { RunState } from '@polyvac/core/protocol'
import { Type } from '@sinclair/typebox'
import { failureText } from '../../chat/failure-text.js'
import { UnreadTimeout } from '../../chat/limits.js'
import { askRoute, EVENT_STREAM, followRoute, readRoute, VectorName, type ChatProtocol, type ChatRequest, type ProtocolRoute } from '../../protocol.js'
import { toAsked, toFollowed, type AiSdkOptions } from './ask.js'
import { ChatBody, ChatQuery, ResumeParams, ResumeQuery, StopBody, Stopped } from './schemas.js'

const tags = ['ai-sdk']
const text = { schema: Type.String() }
const refused = { description: 'why it is refused, in a sentence', content: { 'text/plain': text } }
const failures = { '4xx': refused, '5xx': refused }
const frames = { description: 'the answer as it comes', content: { [EVENT_STREAM]: text, 'text/plain': text } }

const Options = Type.Object({
  version: Type.Optional(Type.Union([Type.Literal(5), Type.Literal(6), Type.Literal(7)], {
    description: 'major version of the clients; default: what versions 5 to 7 have in common; 6: approvals of yes or no; 7: citations in the text, from ai 7.0.138'
  })),
  ...UnreadTimeout
})

function routesWith (options: AiSdkOptions): ProtocolRoute[] {
  return [
    askRoute({
      method: 'POST',
      path: '/:vector_name',
      streams: 'text',
      schema: { operationId: 'askChat', summary: 'Ask a VAC, as useChat does', tags, params: VectorName, querystring: ChatQuery, body: ChatBody, response: { 200: frames, ...failures } },
      ask: async request => await toAsked(request, options)
    }),

    followRoute({
      method: 'GET',
      path: '/:vector_name/:id/stream',
      streams: 'text',
      schema: { operationId: 'resumeChat', summary: 'Read the answer of a chat again', tags, params: ResumeParams, querystring: ResumeQuery, response: { 200: frames, 204: Type.Null({ description: 'nothing to read' }), ...failures } },
      follow: async request => await toFollowed(request, options)
    }),

    readRoute({
      method: 'POST',
      path: '/:vector_name/:id/stop',
      schema: { operationId: 'stopChat', summary: 'Stop the answer of a chat', tags, params: ResumeParams, body: StopBody, response: { 200: Stopped, ...failures } },
      read: async request => await stop(request, request.params, request.body?.activeStreamId ?? undefined)
    }),

    readRoute({
      method: 'DELETE',
      path: '/:vector_name/:id/stream',
      schema: { operationId: 'deleteChatStream', summary: 'Stop the answer of a chat', tags, params: ResumeParams, response: { 200: Stopped, ...failures } },
      read: async request => await stop(request, request.params)
    })
  ]
}

const GOES_ON = new Set<RunState>(['queued', 'running', 'input_required'])

/** Stops what runs in a chat: only the run that is named, where one is. @throws RUNS_NOT_CONFIGURED */
async function stop (request: Pick<ChatRequest, 'vac' | 'runs'>, { vector_name: name, id }: { readonly vector_name: string, readonly id: string }, active?: string): Promise<{ success: true }> {
  request.vac(name)
  const run = (await request.runs.latest(name, id))?.run
  if (run !== undefined && (active === undefined || active === run.id) && GOES_ON.has(run.state)) await request.runs.cancel(name, run.id)
  return { success: true }
}

/** The UI message stream of the AI SDK: useChat, its transports, and useCompletion. */
export const aiSdk = {
  name: 'ai_sdk',
  prefix: '/ai',
  options: Options,
  routes: ({ version = 5, ...options }) => routesWith({ version, ...options }),
  toError: failureText
} satisfies ChatProtocol<typeof Options>
