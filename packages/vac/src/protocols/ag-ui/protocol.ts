import { ErrorBody } from '@polyvac/core'
import { InvalidRequestError, isRecord, vacInfo } from '@polyvac/core/protocol'
import { Type, type Static } from '@sinclair/typebox'
import { UnreadTimeout } from '../../chat/limits.js'
import { askRoute, BodyWithHeaders, EVENT_STREAM, followRoute, readRoute, VectorName, type ChatProtocol, type ChatRequest } from '../../protocol.js'
import { runAgent, wantedOf, type AgUiOptions } from './ask.js'
import { AgentList, Envelope, MAX_AG_UI_ID, RunInput, StopBody, Stopped, StopParams, Thread, ThreadQuery } from './schemas.js'
import { connectThread, followTurn, hydrateThread, stopThread, turnOfRequest } from './threads.js'

const tags = ['ag-ui']
const failures = { '4xx': ErrorBody, '5xx': ErrorBody }
const events = { 200: { description: 'the events of a run', content: { [EVENT_STREAM]: { schema: Type.String() } } }, ...failures }

const Options = Type.Object({
  questions: Type.Optional(Type.Union([Type.Literal('interrupt'), Type.Literal('text')], {
    description: 'how a question of the interpreter ends the run: as an interrupt, which a front end answers with a card, or as a text; default interrupt'
  })),
  ...UnreadTimeout
})

function routesOf (options: AgUiOptions) {
  const run = { ask: async (request: ChatRequest & { readonly body: RunInput, readonly params: Static<typeof VectorName> }) => await runAgent(request, request.vac(request.params.vector_name), request.body, options) }
  return [
    readRoute({
      method: 'GET',
      path: '/info',
      schema: { operationId: 'listAgUiAgents', summary: 'List the VACs with their capabilities, as CopilotKit asks for them', tags, response: { 200: AgentList, ...failures } },
      read: request => agentList(request, options)
    }),

    askRoute({
      method: 'POST',
      path: '/:vector_name',
      streams: 'events',
      schema: { operationId: 'runAgUiAgent', summary: 'Ask a VAC, as AG-UI does', tags, params: VectorName, body: RunInput, response: events },
      ...run
    }),

    followRoute({
      method: 'GET',
      path: '/:vector_name',
      streams: 'events',
      schema: {
        operationId: 'readAgUiThread',
        summary: 'Read the messages of a thread, or follow a run, as TanStack AI does',
        tags,
        params: VectorName,
        querystring: ThreadQuery,
        response: { 200: Thread, ...failures }
      },
      async follow (request) {
        const { query: { runId, offset, threadId, before }, params } = request
        const vac = request.vac(params.vector_name)
        const wanted = wantedOf(vac, { runId: runId ?? '', threadId: threadId ?? '' }, options)
        if (runId === undefined) {
          if (threadId === undefined) throw new InvalidRequestError([{ path: 'querystring', message: 'needs a threadId or a runId' }])
          return { body: await hydrateThread(request, wanted, before) }
        }
        // fails with the code of runs where there is none
        const turn = await turnOfRequest(request, vac, runId, undefined) ?? await named(request, vac.name, runId)
        return await followTurn(request, wanted, turn, offset ?? '')
      }
    }),

    askRoute({
      method: 'POST',
      path: '/agent/:vector_name/run',
      streams: 'events',
      schema: { operationId: 'runCopilotAgent', summary: 'Ask a VAC, at the path of CopilotKit', tags, params: VectorName, body: RunInput, response: events },
      ...run
    }),

    askRoute({
      method: 'POST',
      path: '/agent/:vector_name/connect',
      streams: 'events',
      schema: { operationId: 'connectCopilotAgent', summary: 'Read the messages of a thread, then the run that has not ended', tags, params: VectorName, body: RunInput, response: events },
      ask: async request => await connectThread(request, wantedOf(request.vac(request.params.vector_name), request.body, options))
    }),

    readRoute({
      method: 'POST',
      path: '/agent/:vector_name/stop/:thread_id',
      schema: { operationId: 'stopAgUiThread', summary: 'Stop the run of a thread', tags, params: StopParams, body: StopBody, response: { 200: Stopped, ...failures } },
      async read (request) {
        const { params: { vector_name: name, thread_id: thread }, body } = request
        return { stopped: await stopThread(request, request.vac(name), thread, body?.runId ?? undefined) }
      }
    }),

    askRoute({
      method: 'POST',
      path: '',
      streams: 'events',
      schema: { operationId: 'callCopilotRuntime', summary: 'The one route of CopilotKit, which does what its body names', tags, body: Envelope, response: events },
      async ask (request) {
        const { method, params, body } = request.body
        const { agentId, threadId } = isRecord(params) ? params : {}
        if (method === 'info') return json(agentList(request, options))
        if (!['agent/run', 'agent/connect', 'agent/stop'].includes(method)) throw new InvalidRequestError([{ path: 'body/method', message: 'must be one of info, agent/run, agent/connect, agent/stop' }])
        if (!isId(agentId)) throw new InvalidRequestError([{ path: 'body/params/agentId', message: 'must be the name of a VAC' }])
        const vac = request.vac(agentId)
        if (method === 'agent/run') return await runAgent(request, vac, runInput(body), options)
        if (method === 'agent/connect') return await connectThread(request, wantedOf(vac, runInput(body), options))
        if (!isId(threadId)) throw new InvalidRequestError([{ path: 'body/params/threadId', message: ID_RULE }])
        return json({ stopped: await stopThread(request, vac, threadId, isRecord(body) && typeof body.runId === 'string' ? body.runId : undefined) })
      }
    })
  ]
}

/** The run with the id that the service has given it. @throws RUN_NOT_FOUND */
async function named ({ runs }: ChatRequest, vac: string, id: string) {
  const run = await runs.get(vac, id)
  return { run, turn: run.turn }
}

function json (body: object): BodyWithHeaders {
  return new BodyWithHeaders(JSON.stringify(body), { 'content-type': 'application/json; charset=utf-8' })
}

const ID_RULE = `must be a text of 1 to ${MAX_AG_UI_ID} characters`

/** The body within an envelope. @throws BAD_REQUEST */
function runInput (body: unknown): RunInput {
  const given = isRecord(body) ? body : {}
  const problems = ['threadId', 'runId'].filter(name => !isId(given[name])).map(name => ({ path: `body/body/${name}`, message: ID_RULE }))
  if (problems.length > 0) throw new InvalidRequestError(problems)
  return given as RunInput
}

function isId (id: unknown): id is string { return typeof id === 'string' && id !== '' && id.length <= MAX_AG_UI_ID && !id.includes('\0') }

function agentList ({ vacs, keepsRuns }: ChatRequest, { questions = 'interrupt' }: AgUiOptions): Static<typeof AgentList> {
  return {
    version: '1.0',
    mode: 'sse',
    audioFileTranscriptionEnabled: false,
    agents: Object.fromEntries(vacs.list().map(vac => {
      const { name, display_name: title, description } = vacInfo(vac)
      const takes = (kind: string): boolean => vac.takes?.includes(kind) === true
      return [name, {
        name,
        description,
        className: 'HttpAgent',
        capabilities: {
          identity: { name: title, type: 'polyvac', description },
          transport: { streaming: true, resumable: keepsRuns },
          tools: { supported: true, clientProvided: takes('tools') },
          reasoning: { supported: true, streaming: true },
          multimodal: { input: { image: takes('images'), audio: takes('audio'), video: takes('files'), pdf: takes('files'), file: takes('files') } },
          humanInTheLoop: { supported: questions === 'interrupt', interrupts: questions === 'interrupt' }
        }
      }]
    }))
  }
}

/** AG-UI, with the routes of CopilotKit and of TanStack AI. */
export const agUi = {
  name: 'ag_ui',
  prefix: '/ag-ui',
  options: Options,
  routes: routesOf,
  toError: ({ body }) => body,
  list: '/ag-ui/info'
} satisfies ChatProtocol<typeof Options>
