import { randomUUID } from 'node:crypto'
import { eventsOf } from './events.mjs'

const framesOf = body => eventsOf(body).map(({ data }) => data)
const isFrames = body => /^(?:id|data):|^:/.test(body)
const piecesOf = body => framesOf(body).map(({ type, delta }) => type === 'text-delta' ? delta : '').join('')

function stepOf ({ type, toolCallId: id, toolName, input, output, errorText, delta }) {
  if (type === 'reasoning-delta') return [{ reasoning: delta }]
  if (type === 'tool-input-available') {
    const [name, server] = toolName.split('__').reverse()
    return [{ tool_call: { id, name, ...server !== undefined && { server }, input } }]
  }
  if (type === 'tool-output-available') return [{ tool_result: { id, state: 'completed', output } }]
  return type === 'tool-output-error' ? [{ tool_result: { id, state: 'failed', error: { message: errorText } } }] : []
}

export const aiSdk = {
  isKept: true,
  goesOn: true,
  ask: {},
  stream: { frames: (text, vac) => ({ path: `/ai/${vac}`, body: { messages: [{ id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] }] } }) },
  textOf: piecesOf,
  piecesOf,
  withSteps: request => request,
  stepsOf: body => framesOf(body).flatMap(stepOf),
  errorOf: body => isFrames(body) ? framesOf(body).find(({ type }) => type === 'data-error')?.data : body === '' ? undefined : { message: body },
  usageOf (body) {
    const { usage } = framesOf(body).find(({ type }) => type === 'finish')?.messageMetadata ?? {}
    return usage && { prompt_tokens: usage.inputTokens, completion_tokens: usage.outputTokens, total_tokens: usage.totalTokens }
  }
}
