import { ErrorBody } from '@polyvac/core'
import { InvalidRequestError, type Run } from '@polyvac/core/protocol'
import { Type } from '@sinclair/typebox'
import { acceptedType, EVENT_STREAM, followRoute, readRoute, VectorName, type Background, type ChatRequest } from '../../protocol.js'
import { eventFrames, lineFrames } from './frames.js'
import { FollowQuery, RunList, RunListQuery, RunParams, RunStarted, RunView } from './run-schemas.js'

const tags = ['vac']
const failures = { '4xx': ErrorBody, '5xx': ErrorBody }
const events = eventFrames(undefined)

/** The routes of answers that outlive their connection. */
export const runRoutes = [
  readRoute({
    method: 'GET',
    path: '/:vector_name/runs',
    schema: { operationId: 'listRuns', summary: 'List the runs of a VAC, newest first', tags, params: VectorName, querystring: RunListQuery, response: { 200: RunList, ...failures } },
    async read ({ vac, runs, params, query: { state, conversation_id: conversation, limit, cursor } }) {
      const page = await runs.list({ vac: vac(params.vector_name).name, states: state && [state], conversation, limit, cursor })
      return { runs: page.runs.map(viewHead), next_cursor: page.nextCursor }
    }
  }),

  readRoute({
    method: 'GET',
    path: '/:vector_name/runs/:run_id',
    schema: { operationId: 'getRun', summary: 'Read a run', tags, params: RunParams, response: { 200: RunView, ...failures } },
    read: async ({ vac, runs, params }) => viewRun(await runs.read(vac(params.vector_name).name, params.run_id))
  }),

  followRoute({
    method: 'GET',
    path: '/:vector_name/runs/:run_id/stream',
    streams: 'text',
    schema: {
      operationId: 'followRun',
      summary: 'Read a run as it is answered, from its beginning or from a cursor',
      tags,
      params: RunParams,
      querystring: FollowQuery,
      response: {
        200: { description: 'the answer as it comes', content: { [EVENT_STREAM]: { schema: Type.String() }, [lineFrames.type]: { schema: Type.String() } } },
        ...failures
      }
    },
    follow: ({ vac, params, query, headers }) => ({
      vac: vac(params.vector_name),
      id: params.run_id,
      after: cursorOf(headers) ?? query.after ?? 0,
      readsAll: true,
      format: acceptedType(headers.accept, [EVENT_STREAM, lineFrames.type]) === lineFrames.type ? lineFrames : events
    })
  }),

  readRoute({
    method: 'POST',
    path: '/:vector_name/runs/:run_id/cancel',
    schema: { operationId: 'cancelRun', summary: 'Stop a run', tags, params: RunParams, response: { 200: RunView, ...failures } },
    read: async ({ vac, runs, params }) => viewRun(await runs.cancel(vac(params.vector_name).name, params.run_id))
  }),

  readRoute({
    method: 'DELETE',
    path: '/:vector_name/runs/:run_id',
    schema: { operationId: 'deleteRun', summary: 'Stop a run and delete it', tags, params: RunParams, response: { 204: Type.Null(), ...failures } },
    async read ({ vac, runs, params }) {
      await runs.delete(vac(params.vector_name).name, params.run_id)
      return undefined
    }
  })
]

/** How a question that is answered in the background is answered at once; undefined for any other. */
export function backgroundOf (vac: string, asksFor: boolean | undefined, { prefer }: ChatRequest['headers']): Background | undefined {
  // RFC 7240, section 4.1
  if (asksFor !== true && !/(?:^|,)\s*respond-async\s*(?:[;,]|$)/i.test(String(prefer ?? ''))) return undefined
  return {
    toBody: ({ id, conversation }): RunStarted => ({ run_id: id, conversation_id: conversation }),
    toPath: ({ id }) => `/${encodeURIComponent(vac)}/runs/${id}`
  }
}

function viewHead ({ id, conversation, state, createdAt, updatedAt, error }: Run): RunList['runs'][number] {
  return {
    run_id: id,
    conversation_id: conversation,
    state,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    ...error !== undefined && { error: { code: error.code, message: error.message } }
  }
}

function viewRun (run: Run): RunView {
  return { ...run.answer, ...viewHead(run) }
}

/** The cursor that an EventSource sends when it connects again. @throws INVALID_REQUEST */
function cursorOf ({ 'last-event-id': id }: ChatRequest['headers']): number | undefined {
  if (id === undefined || id === '') return undefined
  if (/^\d{1,15}$/.test(String(id))) return Number(id)
  throw new InvalidRequestError([{ path: 'headers/last-event-id', message: 'must be the id of an event of this stream' }])
}
