import { randomUUID } from 'node:crypto'
import { eventsOf, jsonOf } from './events.mjs'

const dataOf = body => eventsOf(body).map(({ data }) => data)
const last = (body, wanted) => dataOf(body).findLast(({ type }) => type === wanted)
const piecesOf = body => dataOf(body).map(({ type, delta }) => type === 'TEXT_MESSAGE_CONTENT' ? delta : '').join('')

/** The step of an event; nothing for any other event. */
function stepsOf ({ type, toolCallId, toolCallName, delta, content, name, value, metadata }) {
  const server = metadata?.server
  const tool = server === undefined ? toolCallName : toolCallName?.slice(server.length + 2)
  const id = toolCallId?.split(':').slice(2).join(':')
  if (type === 'TOOL_CALL_START') return [{ tool_call: { id, name: tool, server } }]
  if (type === 'TOOL_CALL_ARGS') return [{ input: JSON.parse(delta) }]
  if (type === 'TOOL_CALL_RESULT') return [{ tool_result: { id, ...metadata, ...resultOf(content) } }]
  if (type === 'REASONING_MESSAGE_CONTENT') return [{ reasoning: delta }]
  return type === 'CUSTOM' && ['source', 'data', 'file'].includes(name) ? [{ [name]: value }] : []
}

/** Callers who see only names get `{}` as the input and `null` as the output. */
function resultOf (content) {
  const output = jsonOf(content) ?? content
  if (output === null) return {}
  return typeof output === 'object' && 'error' in output ? { ...output.error !== null && { error: output.error } } : { output }
}

export const agUi = {
  isKept: true,
  goesOn: true,
  ask: {},
  stream: {
    events: (text, vac) => ({ path: `/ag-ui/${vac}`, body: { threadId: randomUUID(), runId: randomUUID(), messages: [{ id: randomUUID(), role: 'user', content: text }] } })
  },
  textOf: body => last(body, 'RUN_FINISHED')?.result.answer,
  piecesOf,
  errorOf: body => jsonOf(body)?.error ?? last(body, 'RUN_ERROR'),
  withSteps: request => request,
  stepsOf (body) {
    const steps = []
    for (const { input, ...step } of dataOf(body).flatMap(stepsOf)) {
      if (input === undefined) steps.push(step)
      else if (Object.keys(input).length > 0) steps.at(-1).tool_call.input = input
    }
    return steps
  },
  usageOf (body) {
    const [usage] = last(body, 'RUN_FINISHED')?.usage ?? []
    return usage && { prompt_tokens: usage.inputTokens, completion_tokens: usage.outputTokens, total_tokens: usage.totalTokens }
  }
}
