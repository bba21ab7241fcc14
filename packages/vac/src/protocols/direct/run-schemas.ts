import { Answer } from '@polyvac/core'
import { RUN_STATES } from '@polyvac/core/protocol'
import { Type, type Static } from '@sinclair/typebox'

const RunStateName = Type.Union(RUN_STATES.map(state => Type.Literal(state)))

const RunHead = Type.Object({
  run_id: Type.String(),
  conversation_id: Type.String(),
  state: RunStateName,
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() }))
})

/** Answer of GET /vac/<vector_name>/runs/<run_id>: the run, with the result object once it is complete or asks back. */
export const RunView = Type.Object({ ...RunHead.properties, ...Type.Partial(Answer).properties }, { $id: 'RunView', title: 'RunView', additionalProperties: true })
export type RunView = Static<typeof RunView>

/** Answer of GET /vac/<vector_name>/runs. */
export const RunList = Type.Object({ runs: Type.Array(RunHead), next_cursor: Type.Optional(Type.String()) }, { $id: 'RunList', title: 'RunList' })
export type RunList = Static<typeof RunList>

/** Answer of a question in the background, with status 202. */
export const RunStarted = Type.Object({ run_id: Type.String(), conversation_id: Type.String() }, { $id: 'RunStarted', title: 'RunStarted' })
export type RunStarted = Static<typeof RunStarted>

/** Query of GET /vac/<vector_name>/runs. */
export const RunListQuery = Type.Object({
  state: Type.Optional(RunStateName),
  conversation_id: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'default 50' })),
  cursor: Type.Optional(Type.String({ description: '`next_cursor` of the page before' }))
}, { additionalProperties: false })

export const RunParams = Type.Object({ vector_name: Type.String({ description: 'name of the VAC' }), run_id: Type.String() })

/** Query of GET /vac/<vector_name>/runs/<run_id>/stream. */
export const FollowQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, description: 'the cursor that the reader has: `id` of the last event, `seq` of the last line' }))
}, { additionalProperties: false })
