// The requests of the task scenarios for both servers, and how to read their responses.

const DESCRIPTION = {
  send: (work, question) => description('tasks/send', `vac_query_${work}`, question),
  subscribe: (work, question) => description('tasks/sendSubscribe', `vac_stream_${work}`, question),
  completed: '"state":"completed"',
  answer: ({ result }) => ({ state: result.state, text: result.artifacts[0].content.answer }),
  event ({ type, data }) {
    if (type !== 'task_update') throw new Error(`an event of type ${type}`)
    return { state: data.state, delta: data.delta ?? '' }
  }
}

/** The public versions at one address. The skill is the VAC's query, so that both servers do the same work. */
// the last part of an artifact is the whole answer where that was not streamed
const POLYVAC_V1 = {
  send: (work, question) => rpc('/a2a', 'SendMessage', { message: messageV1(question, { skillId: `vac_query_${work}` }) }, VERSION_1),
  subscribe: (work, question) => rpc('/a2a', 'SendStreamingMessage', { message: messageV1(question, { skillId: `vac_stream_${work}` }) }, VERSION_1),
  completed: '"state":"TASK_STATE_COMPLETED"',
  answer: ({ result: { task } }) => ({ state: stateOf(task), text: textOf(task.artifacts[0]) }),
  event ({ result: { task, statusUpdate, artifactUpdate } }) {
    return { state: stateOf(task ?? statusUpdate), delta: artifactUpdate === undefined || artifactUpdate.lastChunk ? '' : textOf(artifactUpdate.artifact) }
  }
}

const POLYVAC_V03 = {
  send: (work, question) => rpc('/a2a', 'message/send', { message: messageV03(question, { skillId: `vac_query_${work}` }) }),
  subscribe: (work, question) => rpc('/a2a', 'message/stream', { message: messageV03(question, { skillId: `vac_stream_${work}` }) }),
  completed: '"state":"completed"',
  answer: ({ result }) => ({ state: result.status.state, text: textOf(result.artifacts[0]) }),
  event ({ result: { status, artifact, lastChunk } }) {
    return { state: status?.state, delta: artifact === undefined || lastChunk ? '' : textOf(artifact) }
  }
}

const V1 = {
  send: (work, question) => v1('SendMessage', work, question),
  subscribe: (work, question) => v1('SendStreamingMessage', work, question),
  completed: '"state":"TASK_STATE_COMPLETED"',
  answer: ({ result: { task } }) => ({ state: stateOf(task), text: textOf(task.artifacts[0]) }),
  event ({ result: { task, statusUpdate, artifactUpdate } }) {
    return { state: stateOf(task ?? statusUpdate), delta: artifactUpdate === undefined ? '' : textOf(artifactUpdate.artifact) }
  }
}

/** By kind of server. A request is `{ path, headers, body }`; an event of a stream is read as `{ state, delta }`. */
export const WIRES = { 'a2a-js': V1, 'tasks-memory': DESCRIPTION, 'tasks-file': DESCRIPTION, v1: POLYVAC_V1, v0_3: POLYVAC_V03 }

const VERSION_1 = { 'a2a-version': '1.0' }

function description (method, skillName, query) {
  return rpc(`/a2a/${method}`, method, { skillName, input: { query } })
}

function v1 (method, work, question) {
  return rpc('/', method, { message: messageV1(question, { work }) }, VERSION_1)
}

function messageV1 (question, metadata) {
  return { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: question }], metadata }
}

function messageV03 (question, metadata) {
  return { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text: question }], metadata }
}

/** A request with a JSON body. */
export function jsonRequest (path, body, headers = {}) {
  return { path, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** A request of MCP over Streamable HTTP. */
export function mcpRequest (method, params, headers = {}) {
  return rpc('/mcp', method, params, { accept: 'application/json, text/event-stream', ...headers })
}

function rpc (path, method, params, headers = {}) {
  return jsonRequest(path, { jsonrpc: '2.0', id: 1, method, params }, headers)
}

function stateOf (task) {
  return task?.status.state.replace('TASK_STATE_', '').toLowerCase()
}

function textOf ({ parts }) {
  return parts.map(({ text = '' }) => text).join('')
}
