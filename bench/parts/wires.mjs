// What both servers of the task scenarios are asked, and what their answers mean.

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
export const WIRES = { 'a2a-js': V1, 'tasks-memory': DESCRIPTION, 'tasks-file': DESCRIPTION }

function description (method, skillName, query) {
  return rpc(`/a2a/${method}`, method, { skillName, input: { query } })
}

function v1 (method, work, question) {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: question }], metadata: { work } }
  return rpc('/', method, { message }, { 'a2a-version': '1.0' })
}

function rpc (path, method, params, headers = {}) {
  return {
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  }
}

function stateOf (task) {
  return task?.status.state.replace('TASK_STATE_', '').toLowerCase()
}

function textOf ({ parts }) {
  return parts.map(({ text }) => text).join('')
}
