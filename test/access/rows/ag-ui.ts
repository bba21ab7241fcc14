import { randomUUID } from 'node:crypto'
import { VAC } from '../callers.js'
import { rowsOf, STATES, type Row, type State } from '../row.js'

const messages = [{ id: 'm', role: 'user', content: 'hello' }]
const input = (more: object = {}): object => ({ threadId: randomUUID(), runId: randomUUID(), messages, ...more })
const ask = (path: string, more: object = {}) => ({ path: `/ag-ui/${path}`, body: input(more) })
const read = (query: string) => ({ method: 'GET', path: `/ag-ui/${VAC}?${query}` })
const call = (method: string, params: object, body?: object) => ({ path: '/ag-ui', body: { method, params, body } })
const OPEN: readonly State[] = ['working', 'input-required']
const ENDED: readonly State[] = ['completed']
/** A run that is followed may wait for ever. */
const until = 'data:'

/** AG-UI: a question, and each place that names a thread, a run or an interrupt. */
export const agUiRows: readonly Row[] = rowsOf({ protocol: 'AG-UI' }, [
  ...rowsOf({ thing: 'vac' }, [
    { route: 'GET /ag-ui/info', kind: 'list', make: () => ({ method: 'GET', path: '/ag-ui/info' }) },
    { route: 'POST /ag-ui', about: 'info', kind: 'list', make: () => call('info', {}) },
    { route: 'POST /ag-ui/:vector_name', kind: 'stream', make: name => ask(name) },
    { route: 'POST /ag-ui/agent/:vector_name/run', kind: 'stream', make: name => ask(`agent/${name}/run`) },
    { route: 'POST /ag-ui', about: 'agent/run', kind: 'stream', make: name => call('agent/run', { agentId: name }, input()) },
    { route: 'POST /ag-ui/agent/:vector_name/connect', about: 'name of the VAC', make: name => ask(`agent/${name}/connect`) },
    { route: 'GET /ag-ui/:vector_name', about: 'name of the VAC', make: name => ({ method: 'GET', path: `/ag-ui/${name}?threadId=none` }) },
    { route: 'POST /ag-ui/agent/:vector_name/stop/:thread_id', about: 'name of the VAC', make: name => ({ path: `/ag-ui/agent/${name}/stop/none`, body: {} }) }
  ]),

  // the run of the header x-run-id stands for its thread
  ...rowsOf({ thing: 'run', states: STATES }, [
    { route: 'GET /ag-ui/:vector_name', about: 'a run', kind: 'resume', make: id => ({ ...read(`runId=${id}`), until }) },
    { route: 'GET /ag-ui/:vector_name', about: 'after an event', kind: 'resume', waits: ['working'], make: id => ({ ...read(`runId=${id}`), headers: { 'last-event-id': '0-1-0' }, until }) },
    { route: 'POST /ag-ui/agent/:vector_name/connect', kind: 'resume', states: OPEN, make: id => ({ ...ask(`agent/${VAC}/connect`, { threadId: id }), until }) },
    { route: 'POST /ag-ui', about: 'agent/connect', kind: 'resume', states: OPEN, make: id => ({ ...call('agent/connect', { agentId: VAC }, input({ threadId: id })), until }) },
    { route: 'POST /ag-ui/agent/:vector_name/stop/:thread_id', kind: 'cancel', states: OPEN, changes: OPEN, make: id => ({ path: `/ag-ui/agent/${VAC}/stop/${id}`, body: {} }) },
    { route: 'POST /ag-ui', about: 'agent/stop', kind: 'cancel', states: OPEN, changes: OPEN, make: id => call('agent/stop', { agentId: VAC, threadId: id }) }
  ]),

  ...rowsOf({ thing: 'storedConversation' }, [
    { route: 'GET /ag-ui/:vector_name', about: 'a thread', make: id => read(`threadId=${id}`) },
    { route: 'POST /ag-ui/agent/:vector_name/connect', about: 'a thread', make: id => ask(`agent/${VAC}/connect`, { threadId: id }) },
    { route: 'POST /ag-ui/:vector_name', about: 'in a thread', kind: 'stream', changes: ENDED, make: id => ask(VAC, { threadId: id }) }
  ]),

  // ids of clients are those of their credential: another caller with the same id begins another run, and has it then
  { route: 'GET /ag-ui/:vector_name', about: 'a run under the id of its client', thing: 'namedRun', make: id => read(`runId=${id}`) },
  { route: 'POST /ag-ui/:vector_name', about: 'a run that is there', thing: 'namedRun', kind: 'stream', make: runId => ask(VAC, { runId }) },
  { route: 'POST /ag-ui/:vector_name', about: 'resume', thing: 'interrupt', kind: 'continue', changes: ENDED, make: (interruptId, { more }) => ask(VAC, { threadId: more.thread, resume: [{ interruptId, status: 'resolved', payload: 'this one' }] }) },
  { route: 'POST /ag-ui/:vector_name', about: 'resume, cancelled', thing: 'interrupt', kind: 'continue', changes: ENDED, isSilent: true, make: (interruptId, { more }) => ask(VAC, { threadId: more.thread, resume: [{ interruptId, status: 'cancelled' }] }) }
])
