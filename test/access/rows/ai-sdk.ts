import { VAC } from '../callers.js'
import { rowsOf, type Row, type State } from '../row.js'

const IN_PROGRESS: readonly State[] = ['working', 'input-required']
const parts = [{ type: 'text', text: 'hello' }]
const messages = [{ id: 'm', role: 'user', parts }]
const at = (path: string, more: object = {}) => (id: string) => ({ method: 'GET', path: `/ai/${VAC}/${id}${path}`, ...more })
const card = (id: string, more: object = {}) => ({ id: 'm', role: 'assistant', parts: [{ type: 'dynamic-tool', toolName: 'ask_user', toolCallId: `ask_user-${id}`, state: 'output-available', output: 'this one', ...more }] })
/** An answer that is read may wait for ever. */
const until = 'data:'

/** The AI SDK: a question, and each place that names a run or a chat. A chat of somebody else seems to be over. */
export const aiSdkRows: readonly Row[] = rowsOf({ protocol: 'ai_sdk', thing: 'run' }, [
  { route: 'POST /ai/:vector_name', thing: 'vac', kind: 'stream', make: name => ({ path: `/ai/${name}`, body: { messages } }) },
  { route: 'POST /ai/:vector_name', about: 'in a chat', thing: 'vac', kind: 'stream', make: name => ({ path: `/ai/${name}`, body: { id: 'a chat that all callers have', message: messages[0] } }) },
  { route: 'POST /ai/:vector_name', about: 'as text', thing: 'vac', make: name => ({ path: `/ai/${name}?protocol=text`, body: { prompt: 'hello' } }) },
  { route: 'POST /ai/:vector_name', about: 'with a card', kind: 'continue', states: ['input-required'], changes: ['input-required'], make: id => ({ path: `/ai/${VAC}`, body: { messages: [card(id)] } }) },
  { route: 'POST /ai/:vector_name', about: 'with an approval', kind: 'continue', states: ['input-required'], changes: ['input-required'], make: id => ({ path: `/ai/${VAC}`, body: { messages: [card(id, { state: 'approval-responded', approval: { id, approved: true } })] } }) },
  { route: 'GET /ai/:vector_name/:id/stream', kind: 'resume', states: ['working'], make: at('/stream', { until }) },
  { route: 'GET /ai/:vector_name/:id/stream', about: 'after its end', kind: 'resume', states: ['input-required', 'completed'], isSilent: true, make: at('/stream', { until }) },
  { route: 'GET /ai/:vector_name/:id/stream', about: 'Last-Event-ID', kind: 'resume', waits: ['working'], make: at('/stream', { headers: { 'last-event-id': '0-1-0' }, until }) },
  { route: 'GET /ai/:vector_name/:id/stream', about: 'from a frame', kind: 'resume', make: at('/stream?startIndex=0', { until }) },
  { route: 'GET /ai/:vector_name/:id/stream', about: 'the last frames', kind: 'resume', make: at('/stream?startIndex=-1', { until }) },
  { route: 'GET /ai/:vector_name/:id/stream', about: 'as text', kind: 'resume', waits: ['working'], isSilent: true, make: at('/stream?protocol=text', { until: ' ' }) },
  { route: 'POST /ai/:vector_name/:id/stop', kind: 'cancel', changes: IN_PROGRESS, isSilent: true, make: at('/stop', { method: 'POST' }) },
  { route: 'DELETE /ai/:vector_name/:id/stream', kind: 'cancel', changes: IN_PROGRESS, isSilent: true, make: at('/stream', { method: 'DELETE' }) }
])
