import { eventsOf, jsonOf } from './events.mjs'

const form = more => (text, model) => ({ path: '/openai/v1/responses', body: { model, input: text, ...more } })
const dataOf = body => eventsOf(body).map(({ data }) => data)

/** The response, or the last state of it in a stream. */
const responseOf = body => jsonOf(body) ?? dataOf(body).findLast(({ response }) => response !== undefined)?.response
const itemsOf = (body, wanted) => (responseOf(body)?.output ?? []).filter(({ type }) => type === wanted)
const piecesOf = body => dataOf(body).map(({ type, delta }) => type === 'response.output_text.delta' ? delta : '').join('')

/** The step of a part of a summary. */
function stepOf (text) {
  const [, called] = /^Calls (\S+)$/.exec(text) ?? []
  if (called !== undefined) return { tool_call: { id: called, ...nameOf(called) } }
  const [, id, end, ms] = /^(\S+) (is done|failed)(?: after (\d+) ms)?$/.exec(text) ?? []
  if (id === undefined) return { reasoning: text }
  return { tool_result: { id, state: end === 'failed' ? 'failed' : 'completed', ...ms !== undefined && { duration_ms: Number(ms) } } }
}

function nameOf (called) {
  const [name, server] = called.split('/').reverse()
  return { name, server }
}

/** A usage with the names of chat completions. */
function usageOf ({ input_tokens: input, output_tokens: output, total_tokens: total, estimated }) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total, ...estimated === true && { estimated } }
}

export const responses = {
  isKept: true,
  ask: { whole: form() },
  stream: { events: form({ stream: true }) },
  textOf: body => itemsOf(body, 'message').flatMap(({ content }) => content.map(({ text }) => text)).at(-1),
  piecesOf,
  withSteps: request => request,
  stepsOf: body => itemsOf(body, 'reasoning').flatMap(({ summary }) => summary.map(({ text }) => stepOf(text))),
  errorOf: body => responseOf(body)?.error ?? dataOf(body).find(({ type }) => type === 'error')?.error,
  usageOf: body => responseOf(body)?.usage == null ? undefined : usageOf(responseOf(body).usage)
}
