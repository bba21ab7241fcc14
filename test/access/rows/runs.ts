import { OTHER_VAC, VAC } from '../callers.js'
import { rowsOf, STATES, type Row, type State } from '../row.js'

const question = { user_input: 'hello' }
const inBackground = { ...question, background: true }
const async = { prefer: 'respond-async' }
const key = { 'idempotency-key': 'a key that all callers send' }
const messages = [{ role: 'user', content: 'hello' }]
/** A run that is followed may wait for ever. */
const until = 'data:'
const IN_PROGRESS: readonly State[] = ['working', 'input-required']

const runs = `/vac/${VAC}/runs`
const at = (path: string, more: object = {}) => (id: string) => ({ method: 'GET', path: `${runs}/${id}${path}`, ...more })

/** Answers that outlive their connection: of a VAC, of a run, of a conversation, of an idempotency key. */
export const runRows: readonly Row[] = rowsOf({ protocol: 'runs', thing: 'run' }, [
  { route: 'GET /vac/:vector_name/runs', kind: 'list', make: () => ({ method: 'GET', path: `${runs}?limit=100` }) },
  { route: 'GET /vac/:vector_name/runs', about: 'of each state', kind: 'list', make: () => ({ method: 'GET', path: `${runs}?limit=100&state=completed` }), states: ['completed'] },
  { route: 'GET /vac/:vector_name/runs', about: 'of a conversation', kind: 'list', make: (_id, { more }) => ({ method: 'GET', path: `${runs}?conversation_id=${more.conversation!}` }) },
  { route: 'GET /vac/:vector_name/runs/:run_id', toAdmins: true, make: at('') },
  { route: 'GET /vac/:vector_name/runs/:run_id/stream', toAdmins: true, kind: 'resume', make: at('/stream', { until }) },
  { route: 'GET /vac/:vector_name/runs/:run_id/stream', toAdmins: true, about: 'from a cursor', kind: 'resume', waits: ['working'], make: at('/stream?after=1', { until }) },
  { route: 'GET /vac/:vector_name/runs/:run_id/stream', toAdmins: true, about: 'Last-Event-ID', kind: 'resume', waits: ['working'], make: at('/stream', { headers: { 'last-event-id': '1' }, until }) },
  { route: 'GET /vac/:vector_name/runs/:run_id/stream', toAdmins: true, about: 'lines', kind: 'resume', waits: ['working'], make: at('/stream', { headers: { accept: 'application/x-ndjson' } }) },
  { route: 'POST /vac/:vector_name/runs/:run_id/cancel', kind: 'cancel', changes: IN_PROGRESS, make: at('/cancel', { method: 'POST' }) },
  { route: 'DELETE /vac/:vector_name/runs/:run_id', kind: 'cancel', changes: STATES, make: at('', { method: 'DELETE' }) },

  { route: 'GET /vac/:vector_name/runs', about: 'name of the VAC', thing: 'vac', kind: 'read', make: name => ({ method: 'GET', path: `/vac/${name}/runs?conversation_id=none` }) },
  { route: 'POST /vac/:vector_name', about: 'in the background', thing: 'vac', make: name => ({ path: `/vac/${name}`, body: inBackground }) },
  { route: 'POST /vac/:vector_name', about: 'Prefer', thing: 'vac', make: name => ({ path: `/vac/${name}`, headers: async, body: question }) },
  { route: 'POST /vac/streaming/:vector_name', about: 'in the background', thing: 'vac', make: name => ({ path: `/vac/streaming/${name}`, body: inBackground }) },
  { route: 'POST /vac/streaming/:vector_name/sse', about: 'in the background', thing: 'vac', make: name => ({ path: `/vac/streaming/${name}/sse`, body: inBackground }) },

  { route: 'POST /vac/:vector_name', about: 'with a key', thing: 'vac', make: name => ({ path: `/vac/${name}`, headers: key, body: question }) },
  { route: 'POST /vac/:vector_name', about: 'with a key, in the background', thing: 'vac', make: name => ({ path: `/vac/${name}`, headers: { 'idempotency-key': 'another one' }, body: inBackground }) },
  { route: 'POST /vac/streaming/:vector_name', about: 'with a key', thing: 'vac', kind: 'stream', make: name => ({ path: `/vac/streaming/${name}`, headers: { 'idempotency-key': 'of a text' }, body: question }) },
  { route: 'POST /vac/streaming/:vector_name/sse', about: 'with a key', thing: 'vac', kind: 'stream', make: name => ({ path: `/vac/streaming/${name}/sse`, headers: { 'idempotency-key': 'of events' }, body: question }) },
  { route: 'POST /openai/v1/chat/completions', about: 'with a key', thing: 'vac', make: model => ({ path: '/openai/v1/chat/completions', headers: { 'idempotency-key': `of ${model}` }, body: { model, messages } }) },
  { route: 'POST /openai/v1/chat/completions/:vector_name', about: 'with a key', thing: 'vac', make: name => ({ path: `/openai/v1/chat/completions/${name}`, headers: key, body: { messages } }) },

  // its owner sends the key with another question, which others may send as they like
  { route: 'POST /vac/:vector_name', about: 'a key that is used', thing: 'runKey', make: id => ({ path: `/vac/${VAC}`, headers: { 'idempotency-key': id }, body: question }) },
  { route: 'POST /vac/:vector_name', about: 'a conversation with an answer in progress', thing: 'conversation', make: id => ({ path: `/vac/${VAC}`, body: { ...question, conversation_id: id } }) },
  { route: 'POST /vac/:vector_name', about: 'that conversation at another VAC', thing: 'conversation', isSilent: true, make: id => ({ path: `/vac/${OTHER_VAC}`, body: { ...question, conversation_id: id } }) }
])
