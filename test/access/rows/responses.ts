import { VAC } from '../callers.js'
import { rowsOf, STATES, type Row, type State } from '../row.js'

const at = (path: string, more: object = {}) => (key: string) => ({ method: 'GET', path: `/openai/v1/responses/resp_${key}${path}`, ...more })
const ask = (body: object) => ({ path: '/openai/v1/responses', body: { model: VAC, input: 'hello', ...body } })
const IN_PROGRESS: readonly State[] = ['working', 'input-required']
const COMPLETED: readonly State[] = ['completed']
/** A response that is followed may wait for ever. */
const until = 'data:'
const refer = (id: string) => [{ type: 'item_reference', id }, { role: 'user', content: 'hello' }]

/** Responses: a question, and each place that names a response or one of its items. */
export const responseRows: readonly Row[] = rowsOf({ protocol: 'responses', thing: 'response' }, [
  { route: 'POST /openai/v1/responses', thing: 'vac', make: model => ask({ model }) },
  { route: 'POST /openai/v1/responses', about: 'in the background', thing: 'vac', make: model => ask({ model, background: true }) },
  { route: 'POST /openai/v1/responses', about: 'not kept', thing: 'vac', make: model => ask({ model, store: false }) },
  { route: 'POST /openai/v1/responses', thing: 'vac', kind: 'stream', make: model => ask({ model, stream: true }) },
  { route: 'POST /openai/v1/responses', about: 'after another one', states: COMPLETED, make: key => ask({ previous_response_id: `resp_${key}` }) },
  { route: 'POST /openai/v1/responses', about: 'after another one, streamed', kind: 'stream', states: COMPLETED, make: key => ask({ previous_response_id: `resp_${key}`, stream: true }) },
  { route: 'POST /openai/v1/responses', about: 'with a reference to an answer', states: COMPLETED, make: key => ask({ input: refer(`msg_${key}00`) }) },
  { route: 'POST /openai/v1/responses', about: 'with a reference to a question', states: COMPLETED, make: key => ask({ input: refer(`msg_${key}i0000`) }) },
  { route: 'GET /openai/v1/responses/:response_id', make: at('') },
  { route: 'GET /openai/v1/responses/:response_id', about: 'its events', kind: 'resume', make: at('?stream=true', { until }) },
  { route: 'GET /openai/v1/responses/:response_id', about: 'after an event', kind: 'resume', waits: ['working'], make: at('?stream=true&starting_after=1', { until }) },
  { route: 'POST /openai/v1/responses/:response_id/cancel', kind: 'cancel', changes: IN_PROGRESS, make: at('/cancel', { method: 'POST' }) },
  { route: 'DELETE /openai/v1/responses/:response_id', kind: 'cancel', changes: STATES, make: at('', { method: 'DELETE' }) },
  { route: 'GET /openai/v1/responses/:response_id/input_items', make: at('/input_items') }
])
