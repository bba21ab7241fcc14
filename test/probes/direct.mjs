import { eventsOf, jsonOf } from './events.mjs'

const question = text => ({ user_input: text })
const streamed = accept => (text, vac) => ({ path: `/vac/streaming/${vac}`, body: question(text), headers: { accept } })
const isEvents = body => /^(?:data|event|id):|^:/.test(body)
const linesOf = body => body.trimEnd().split('\n')

/** The objects of a response of any form; of the text, the one in its last line. */
function objectsOf (body) {
  if (jsonOf(body) !== undefined) return [jsonOf(body)]
  if (isEvents(body)) return eventsOf(body).flatMap(({ data }) => data === '[DONE]' ? [] : [data])
  return linesOf(body).flatMap(line => jsonOf(line) ?? [])
}
const last = body => objectsOf(body).at(-1)

export const direct = {
  ask: {
    whole: (text, vac) => ({ path: `/vac/${vac}`, body: question(text) })
  },
  stream: {
    text: streamed('text/plain'),
    lines: streamed('application/x-ndjson'),
    events: (text, vac) => ({ path: `/vac/streaming/${vac}/sse`, body: question(text) })
  },
  textOf: body => last(body)?.answer,
  piecesOf (body) {
    const objects = objectsOf(body)
    // what comes before the object is the text itself
    return objects.length === 1 ? linesOf(body).slice(0, -1).join('\n') : objects.map(({ chunk = '' }) => chunk).join('')
  },
  errorOf: body => last(body)?.error,
  withSteps: ({ body, ...request }) => ({ ...request, body: { ...body, steps: true } }),
  stepsOf (body) {
    if (jsonOf(body) !== undefined) return jsonOf(body).metadata?.steps ?? []
    const events = isEvents(body) ? eventsOf(body).flatMap(({ event, data }) => event === 'step' ? [data] : []) : []
    return [...events, ...objectsOf(body).flatMap(({ step }) => step ?? [])]
  },
  usageOf: body => last(body)?.metadata?.usage
}
